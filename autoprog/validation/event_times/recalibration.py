"""Recalibration of risk curves: the logistic map, fitted to all times at once with censoring weights.

    t        times of the search                                                        (T,)
    F        out-of-fold risks until t                                                  (n, T)
    e        whether the event of interest was seen until t                             (n, T)
    w        weights of inverse probability of censoring                                (n, T)
    a, b     logit(risk) = a + b logit(F)

a and b maximise the weighted likelihood over patients and times. One map for all times keeps curves monotone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import event_strata
from autoprog.performance import ScoringContext
from autoprog.survival import ipcw_weights
from autoprog.validation.recalibration import (
    IDENTITY,
    MAX_FOLDS,
    PRIOR_PRECISION,
    Recalibration,
    fit_intercept,
    fit_recalibration,
    recalibration_splits,
    shrunk_recalibration,
)


def fit_event_recalibration(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    follow_up: ScoringContext,
    start: Recalibration = IDENTITY,
    *,
    slope: bool = True,
    shrunk: bool = False,
) -> Recalibration:
    """Estimate intercept and slope.

    Parameters
    ----------
    y, F
        Outcomes, dtype `EVENT_TIMES`, shape = (n,); out-of-sample risks until the times of the search, shape = (n, T).
    follow_up : ScoringContext
        Context of the search's cohort.
    start : Recalibration, optional
        Start of the optimisation.
    slope : bool
        Whether the slope is estimated rather than 1; ignored if `shrunk`.
    shrunk : bool
        Whether both are shrunk towards no change, as in a delivered model.

    Returns
    -------
    Recalibration
        See `fit_recalibration`.
    """
    t = np.array(follow_up.times)
    w = ipcw_weights(y["time"], y["event"], t, follow_up.censoring)
    e = (y["event"] == 1)[:, None] & (y["time"][:, None] <= t)
    known = w > 0
    e, F, w = e[known].astype(np.int8), np.asarray(F)[known], w[known]
    if shrunk:
        # The prior is set against patients, each of whom counts once, however many times he is looked at.
        return shrunk_recalibration(e, F, start, w, PRIOR_PRECISION * w.sum() / len(y))
    return fit_recalibration(e, F, start, weights=w) if slope else fit_intercept(e, F, weights=w)


def event_splits(
    seen: NDArray[np.bool_], groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Split the rows as `recalibration_splits` does: into two parts or more, with those who have an event in each."""
    holders = int(seen.sum()) if groups is None else len(np.unique(groups[seen]))
    folds = max(2, min(MAX_FOLDS, holders))
    return recalibration_splits(event_strata(seen.astype(np.int8), folds), folds, groups, rng)


def cross_fitted_events(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    follow_up: ScoringContext,
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Recalibrate each tenth of the patients or groups, at least 2 with the event, by the others, for scoring."""
    risks = np.empty(F.shape)
    start = fit_event_recalibration(y, F, follow_up, shrunk=True)
    for train, test in event_splits(y["event"] == 1, groups, rng):
        risks[test] = fit_event_recalibration(y[train], F[train], follow_up, start, shrunk=True).apply(F[test])
    return risks
