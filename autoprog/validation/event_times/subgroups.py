"""How good curves of risk are for women and for men, for the old and for the young: at the last horizon.

Areas and Brier scores are those of `pairs`, with the censoring of all patients; their intervals are percentiles over
resamples of the subgroup. Expected over observed compares the mean risk with the Aalen-Johansen estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.evaluation import FollowUp, event_metric_of, outcomes_of
from autoprog.survival import HorizonError, NoEventError, calibration_at
from autoprog.validation.event_times.pairs import resampled_event_scores
from autoprog.validation.subgroups import (
    LEAST_COUNTED,
    LEAST_OF_EACH,
    LEVEL,
    Estimate,
    Subgroup,
    interval_of,
    parts_of,
)

_RESAMPLES = 500


def measure_event_subgroups(
    cohort: Cohort, F: NDArray[np.floating], follow_up: FollowUp, names: Sequence[str], rng: np.random.Generator
) -> tuple[Subgroup, ...]:
    """Measure risks until the last horizon in every subgroup of some features.

    Parameters
    ----------
    cohort : Cohort
        The patients.
    F : ndarray, shape = (n, T)
        Their risks until the times of the search, of models that were not fitted on them.
    follow_up : FollowUp
        Of the search's cohort.
    names : sequence of str
        Features of the cohort; see `measure_subgroups`.
    rng : numpy.random.Generator
        Draws the resamples.

    Returns
    -------
    tuple of Subgroup
        Feature by feature. `events` are those of interest until the horizon; measured is where at least
        `LEAST_OF_EACH` patients had one, and as many were followed beyond it or had a competing event.
    """
    last = replace(follow_up, times=follow_up.horizons[-1:], horizons=follow_up.horizons[-1:])
    columns = {feature.name: j for j, feature in enumerate(cohort.features)}
    y, p = outcomes_of(cohort), np.asarray(F, dtype=np.float64)[:, -1:]
    return tuple(
        _measured(name, label, y[rows], p[rows], last, rng)
        for name in names
        for label, rows in parts_of(cohort.features[columns[name]], cohort.X[:, columns[name]])
    )


def _measured(
    feature: str, label: str, y: NDArray[np.void], p: NDArray[np.float64], last: FollowUp, rng: np.random.Generator
) -> Subgroup:
    (horizon,) = last.horizons
    n, by_then = len(y), y["time"] <= horizon
    events, others = int(((y["event"] == 1) & by_then).sum()), int((~by_then | (y["event"] > 1)).sum())
    if n < LEAST_COUNTED:
        return Subgroup(feature, label, None, None)
    if min(events, others) < LEAST_OF_EACH:
        return Subgroup(feature, label, n, events)
    c = rng.multinomial(n, np.full(n, 1 / n), size=_RESAMPLES).T.astype(np.float32)
    found = {}
    for name in ("time_dependent_auc", "integrated_brier"):
        scores = resampled_event_scores(name, y, p[None], last, rng)(c)[:, 0]
        found[name] = interval_of(event_metric_of(name, last).score(y, p), scores[np.isfinite(scores)])
    return Subgroup(
        feature,
        label,
        n,
        events,
        auc_roc=found["time_dependent_auc"],
        brier=found["integrated_brier"],
        expected_observed=_expected_observed(y, p[:, 0], horizon),
    )


def _expected_observed(y: NDArray[np.void], p: NDArray[np.float64], horizon: float) -> Estimate | None:
    try:
        ratio = calibration_at(y["time"], y["event"], p, horizon, level=LEVEL).expected_observed
    except (HorizonError, NoEventError):  # nobody of the subgroup is followed so far
        return None
    return Estimate(ratio.estimate, ratio.lower, ratio.upper)
