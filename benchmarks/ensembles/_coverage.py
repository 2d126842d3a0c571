"""Whether what a search says of its model is true, on simulated cohorts, where the truth is known.

A line of the shards' file is one cohort: the score with its interval, the AUC that the delivered model truly has among
100,000 patients, the naive score (the best cross-validated one), and how many of 2,000 patients have an interval that
covers their true risk.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from _laboratory import Laboratory, Search, laboratory
from _lines import read
from _simulated import SIZES, TRUTHS, Nature
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from autoprog.model import PrognosticModel

COHORTS, TIME_S = 200, 10.0
TRUTH_PATIENTS, INTERVAL_PATIENTS = 100_000, 2_000

# Apart from the seeds that intervals were chosen by: of patients those of `_equivalence`, of the score 10,000 to
# 10,135, on which percentiles were too narrow.
_FIRST_SEED = 20_000


def design(number: int) -> tuple[str, int]:
    """Truth and size of a cohort: any twenty in a row have all of them."""
    return TRUTHS[number % len(TRUTHS)], SIZES[number // len(TRUTHS) % len(SIZES)]


def run(path: Path, numbers: range, time_s: float, slots: int) -> None:
    """Search the cohorts that the file does not hold yet; each is written when it is done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {row["number"] for row in read(path) if row["time_s"] == time_s}
    missing = [number for number in numbers if number not in done]
    if not missing:
        return
    with laboratory(slots) as lab, path.open("a", encoding="utf-8") as file:
        for number in missing:
            file.write("\n" + json.dumps(measure(lab, number, time_s)))
            file.flush()
            os.fsync(file.fileno())


def measure(lab: Laboratory, number: int, time_s: float) -> dict[str, Any]:
    """One search, and what is true of it."""
    truth, size = design(number)
    nature = Nature(truth, _FIRST_SEED + number)
    cohort, _ = nature.cohort(size, np.random.default_rng([_FIRST_SEED, number]))
    search = lab.search(cohort, {"budget": {"time_s": time_s, "evaluations": 10_000}, "seed": number})
    score = search.result.ensemble["score"]
    others = nature.patients(TRUTH_PATIENTS, np.random.default_rng([_FIRST_SEED, number, 1]))
    p = nature.risks(others)
    q = _predicted(search.result.model, others)
    return {
        "number": number,
        "truth": truth,
        "n_patients": size,
        "time_s": time_s,
        "evaluations": len(search.history.succeeded),
        "members": len(search.result.ensemble["members"]),
        "total_s": round(search.total_s, 2),
        "validation_s": round(search.validation_s, 2),
        **{name: round(score[name], 5) for name in ("estimate", "lower", "upper")},
        "true_auc": round(true_auc(p, q), 5),
        **_naive(search),
        **_of_patients(search.result.model, others[:INTERVAL_PATIENTS], p[:INTERVAL_PATIENTS]),
        "squared_error": round(float(np.mean((q - p) ** 2)), 6),
    }


def true_auc(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """AUC of the risks q among patients whose outcomes have the probabilities p: every patient counts as both."""
    y = np.repeat([1, 0], len(p))
    return float(roc_auc_score(y, np.tile(q, 2), sample_weight=np.concatenate([p, 1 - p])))


def _naive(search: Search) -> dict[str, float]:
    """The best configuration's score, which a search without a correction would tell, and the ensemble's own."""
    best = search.history.best()
    assert best is not None
    assert best.score is not None
    return {
        "naive": round(float(best.score), 5),
        "uncorrected": round(float(search.result.ensemble["performance"]["auc_roc"]), 5),
    }


def _predicted(model: PrognosticModel, X: NDArray[np.float64]) -> NDArray[np.float64]:
    with ThreadPoolExecutor(2) as pool:
        return np.concatenate(list(pool.map(model.risks, np.array_split(X, 20))))


def _of_patients(model: PrognosticModel, X: NDArray[np.float64], p: NDArray[np.float64]) -> dict[str, Any]:
    q, intervals = model.risks_with_intervals(X)
    if intervals is None:
        return {"covered": None, "interval_method": model.interval_method}
    inside = (intervals[:, 0] <= p) & (p <= intervals[:, 1])
    width = intervals[:, 1] - intervals[:, 0]
    thirds = np.digitize(q, np.quantile(q, [1 / 3, 2 / 3]))
    return {
        "covered": round(float(inside.mean()), 4),
        "covered_by_risk": [round(float(inside[thirds == third].mean()), 4) for third in range(3)],
        "width": round(float(np.median(width)), 4),
        "interval_method": model.interval_method,
    }
