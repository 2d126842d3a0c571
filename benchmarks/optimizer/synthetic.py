"""Pools whose scores are a known function of the configuration: for trying the benchmark, never for its figures."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from autoprog.metalearning import META_FEATURES
from autoprog.space import STAGES, Configuration, Space, TableShape
from benchmarks.optimizer.problem import units_of
from training.prior.pools import LIMIT_S, draw, write
from training.prior.space import pooled_space

_FOLDS = 5


def make(name: str, folder: Path, each: int, *, has_missing: bool) -> None:
    """Write a pool of `each` configurations for every prediction algorithm."""
    shape = TableShape(n_patients=240, n_columns=20, n_minority=80, has_missing=has_missing)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    space = pooled_space()
    effect = {a.key: rng.normal(0.0, 0.35, 1 + len(a.hyperparameters)) for a in space.algorithms}
    effect = {key: values * (1.0 if key.startswith("prediction/") else 0.4) for key, values in effect.items()}
    slow = set(rng.choice([a.key for a in space.stages[2]], 1).tolist())
    records = [
        _record(number, configuration, space, effect, slow, rng)
        for number, configuration in enumerate(draw(space, shape, each, seed=0))
    ]
    document = {field: getattr(shape, field) for field in shape.__dataclass_fields__}
    header = {
        "cohort": name,
        "patients": 300,
        "events": 100,
        "metric": "auc_roc",
        "features": ["age"],
        "limit_s": LIMIT_S,
        "shape": document,
        "meta_features": {m.name: float(rng.random()) for m in META_FEATURES},
    }
    write(folder, header, records)


def _record(
    number: int,
    configuration: Configuration,
    space: Space,
    effect: dict[str, np.ndarray],
    slow: set[str],
    rng: np.random.Generator,
) -> dict[str, Any]:
    total, seconds = 0.5, 0.2
    failed = False
    for algorithm, stage in zip(space.find_kind(configuration), STAGES, strict=True):
        units = np.array(units_of(algorithm, configuration.step(stage)))
        total += float(effect[algorithm.key] @ np.array([1.0, *(1.0 - 4.0 * (units - 0.6) ** 2)]))
        seconds *= 1.5 ** units.sum()
        failed |= algorithm.key in slow and len(units) > 0 and bool(units[0] > 0.5)
    folds = 1.0 / (1.0 + np.exp(-total)) + rng.normal(0.0, 0.02, _FOLDS)
    return {
        "number": number,
        "configuration": configuration.to_json(),
        "status": "timeout" if failed else "succeeded",
        "fold_scores": [] if failed else np.clip(folds, 0.0, 1.0).round(6).tolist(),
        "seconds": LIMIT_S if failed else round(float(min(seconds, LIMIT_S)), 3),
    }
