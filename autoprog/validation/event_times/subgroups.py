"""Performance of risk curves by subgroup, at the last horizon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.evaluation import ScoringContext, get_outcomes
from autoprog.survival import HorizonError, NoEventError, NoPairError
from autoprog.validation.event_times.performance import n_rarer_at, performance_at
from autoprog.validation.score import Estimate
from autoprog.validation.subgroups import MIN_COUNTED, MIN_GROUPS, MIN_OF_EACH, Subgroup, split_by_feature


def measure_event_subgroups(
    cohort: Cohort, F: NDArray[np.floating], follow_up: ScoringContext, names: Sequence[str]
) -> tuple[Subgroup, ...]:
    """Measure risks until the last horizon in every subgroup of some features.

    Parameters
    ----------
    cohort, F, follow_up
        The patients, out-of-sample risks until the times of the search, shape = (n, T), and the search's context.
    names : sequence of str
        Features; see `measure_subgroups`.

    Returns
    -------
    tuple of Subgroup
        Feature by feature, with events until the horizon; measured if at least `MIN_OF_EACH` patients had one, and as
        many were followed beyond it or had a competing event.
    """
    columns = {feature.name: j for j, feature in enumerate(cohort.features)}
    y, p, horizon = get_outcomes(cohort), np.asarray(F, dtype=np.float64)[:, -1], follow_up.horizons[-1]
    return tuple(
        _measured(name, label, y[rows], p[rows], horizon, None if cohort.groups is None else cohort.groups[rows])
        for name in names
        for label, rows in split_by_feature(cohort.features[columns[name]], cohort.X[:, columns[name]])
    )


def _measured(
    feature: str,
    label: str,
    y: NDArray[np.void],
    p: NDArray[np.float64],
    horizon: float,
    groups: NDArray[np.integer] | None,
) -> Subgroup:
    n, events = len(y), int(((y["event"] == 1) & (y["time"] <= horizon)).sum())
    if n < MIN_COUNTED:
        return Subgroup(feature, label, None, None)
    if n_rarer_at(y, horizon) < MIN_OF_EACH or n_rarer_at(y, horizon, groups) < MIN_GROUPS:
        return Subgroup(feature, label, n, events)
    try:
        found = performance_at(y, p, horizon, groups)
    except (HorizonError, NoEventError, NoPairError):  # nobody in the subgroup is followed to the horizon
        return Subgroup(feature, label, n, events)
    ratio, intervals = found.expected_observed, found.intervals
    expected_observed = Estimate(ratio.estimate, ratio.lower, ratio.upper)
    return Subgroup(
        feature, label, n, events, auc=intervals["auc"], brier=intervals["brier"], expected_observed=expected_observed
    )
