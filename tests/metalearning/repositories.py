"""Statistics of simulated cohorts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.metalearning import META_FEATURES, AlgorithmGain, CohortStatistics, MetaFeatures
from autoprog.metalearning.similarity import TYPICAL_SPREAD


@pytest.fixture
def copies_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cohorts with the same meta-features count as different ones, so that weights are known."""
    monkeypatch.setattr(MetaFeatures, "of_patients", property(lambda _: object()))


COUNTS = np.array([m.scale == "count" for m in META_FEATURES])
SPREAD = np.array([TYPICAL_SPREAD[m.scale] for m in META_FEATURES])
SIMPLE = "logistic_regression"


def meta_features_at(u: NDArray[np.float64]) -> MetaFeatures:
    """Meta-features from where they lie on the scale of comparison, brought into their ranges."""
    return MetaFeatures(tuple(np.where(COUNTS, np.expm1(np.maximum(u, 0.0)), np.clip(u, 0.0, 1.0)).tolist()))


def centre(rng: np.random.Generator) -> NDArray[np.float64]:
    return np.where(COUNTS, rng.uniform(2.0, 6.0, len(COUNTS)), rng.uniform(0.2, 0.8, len(COUNTS)))


def collect_statistics(
    name: str,
    m: MetaFeatures,
    gains: Sequence[float] = (),
    *,
    subspaces: float = 8.0,
    log_concentration: float = 0.0,
    log_length: float = float(np.log(0.5)),
    log_variance: float = 0.0,
    offsets: Sequence[float] = (),
    scale: float = 0.01,
    metric: str = "auc_roc",
) -> CohortStatistics:
    """Of a cohort whose algorithms a00, a01, ... gained so much."""
    algorithms = [AlgorithmGain(f"a{a:02d}", g, 0.0, 3) for a, g in enumerate(gains)]
    return CohortStatistics(
        cohort_id=name, meta_features=m, mode="classification", metric=metric, simple_algorithm=SIMPLE,
        simple_score=0.8, scale=scale, subspaces=subspaces, log_concentration=log_concentration,
        log_length=log_length, log_variance=log_variance, log_noise=-2.0,
        offsets={f"prediction/a{a:02d}": mu for a, mu in enumerate(offsets)},
        algorithms=(*algorithms, AlgorithmGain(SIMPLE, 0.0, 0.0, 1)), best=(), n_evaluations=50,
    )  # fmt: skip
