"""What risks of event times are worth among patients that the peer has not seen: this version's arithmetic for all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from autoprog import Survival
from autoprog.estimator.tables import survival_cohort
from autoprog.performance import ScoringContext, make_event_metric
from benchmarks.minute.event_peer import load, split

MEASURES = {"uno_c": "uno_c", "brier": "integrated_brier"}


def scores(name: str, seed: int, data: Path, risks: NDArray[np.float64]) -> dict[str, float]:
    """Uno's concordance until the last horizon (with competing causes Wolbers's), and the integrated Brier score.

    Censoring is that of the whole cohort.
    """
    X, t, e, h = load(name, data)
    cohort = survival_cohort(X, Survival(t, e), h.tolist(), all_numeric=False)
    follow_up, (_, new) = ScoringContext.of(cohort, cohort.horizons), split(e, seed)
    y = cohort.outcomes[new]
    return {
        measure: round(float(make_event_metric(metric, follow_up).score(y, risks)), 5)
        for measure, metric in MEASURES.items()
    }
