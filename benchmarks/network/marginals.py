"""What synthetic tables have in common with open cohorts, column by column: quantiles over tables, ready for JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import skew
from sklearn.metrics import roc_auc_score

from benchmarks.network.tasks import BINARY, Task, load
from training.network.batches import draw_extent, draw_patients
from training.network.encoding import Regressions, binary_scores, encode_cells

_QUANTILES = (0.1, 0.5, 0.9)
_MANY_VALUES = 20

_Floats = NDArray[np.float64]


def marginals(data: Path, drawn: int = 400, seed: int = 7) -> dict[str, Any]:
    """Of the open cohorts with a binary outcome, and of so many synthetic ones."""
    rng = np.random.default_rng(seed)
    open_ones = [_told(*_matrix(load(name, data))) for name in BINARY]
    synthetic = [_told(*draw_patients(rng, draw_extent(rng))) for _ in range(drawn)]
    return {
        name: {"open": _quantiles(open_ones, name), "synthetic": _quantiles(synthetic, name)} for name in open_ones[0]
    }


def _matrix(task: Task) -> tuple[_Floats, NDArray[np.int64]]:
    arrays = task.arrays()
    return arrays["X"], arrays["y"].astype(np.int64)


def _told(X: _Floats, y: NDArray[np.int64]) -> dict[str, float]:
    known = [column[~np.isnan(column)] for column in X.T]
    levels = np.array([len(np.unique(v)) for v in known])
    cells, missing = encode_cells(X, len(X))
    z = cells[:, :, 0]
    correlation = np.abs(z.T @ z / len(z))[np.triu_indices(X.shape[1], 1)]
    many = [abs(skew(v)) for v, k in zip(known, levels, strict=True) if k > _MANY_VALUES]
    scores, _ = binary_scores(Regressions.of(cells, missing, len(X)), y)
    return {
        "patients": len(X),
        "columns": X.shape[1],
        "share of columns with two values": float((levels == 2).mean()),
        "share of columns with more than 20": float((levels > _MANY_VALUES).mean()),
        "size of their skewness, median": float(np.median(many)) if many else np.nan,
        "size of a correlation, mean": float(correlation.mean()) if len(correlation) else np.nan,
        "share of cells missing": float(missing.mean()),
        "share of events": float(y.mean()),
        "AUC of ridge regression, left out": float(roc_auc_score(y, scores[:, 0])),
    }


def _quantiles(tables: list[dict[str, float]], name: str) -> list[float]:
    return [round(float(q), 3) for q in np.nanquantile([each[name] for each in tables], _QUANTILES)]
