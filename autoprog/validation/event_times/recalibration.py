"""Recalibrating curves of risk: the binary map, fitted to all times at once with censored patients weighed out.

=======  =========================================================================  ==================
symbol   meaning                                                                    shape
=======  =========================================================================  ==================
t        times of the search                                                        (T,)
F        out-of-fold risks until t                                                  (n, T)
e        whether the event of interest was seen until t                             (n, T)
w        weights of inverse probability of censoring                                (n, T)
a, b     logit(risk) = a + b logit(F)
=======  =========================================================================  ==================

a and b are those of the weighted logistic likelihood of all patients and times. One map for all times keeps the order
of times as it keeps that of patients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import ScoringContext
from autoprog.space import event_strata
from autoprog.survival import ipcw_weights
from autoprog.validation.recalibration import (
    IDENTITY,
    PRIOR_PRECISION,
    Recalibration,
    fit_intercept,
    fit_recalibration,
    recalibration_splits,
    shrunk_recalibration,
)

_FOLDS = 10


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
    y : structured ndarray, shape = (n,)
        Of dtype `EVENT_TIMES`.
    F : ndarray, shape = (n, T)
        Risks of patients whom the model was not fitted on, until the times of the search.
    follow_up : ScoringContext
        Of the search's cohort.
    start : Recalibration, optional
        Where to start; the nearer, the sooner it ends.
    slope : bool
        Whether it is estimated, or 1.
    shrunk : bool
        Whether both are drawn to no change, as those of a delivered model are; a patient counts once in this, at
        however many times he is looked at.

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
        return shrunk_recalibration(e, F, start, w, PRIOR_PRECISION * w.sum() / len(y))
    return fit_recalibration(e, F, start, weights=w) if slope else fit_intercept(e, F, weights=w)


def cross_fitted_events(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    follow_up: ScoringContext,
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Recalibrate each tenth of the patients by the others: what a score of recalibrated risks must be made of.

    Parameters
    ----------
    y : structured ndarray, shape = (n,)
        Of dtype `EVENT_TIMES`.
    F : ndarray, shape = (n, T)
        Out-of-fold risks until the times of the search.
    follow_up : ScoringContext
        Of the search's cohort.
    rng : numpy.random.Generator
        Shuffles the patients.
    groups : ndarray of int, shape = (n,), or None
        Rows that stay together; at least 2 groups with the event.

    Returns
    -------
    ndarray, shape = (n, T)
        Risks in (0, 1).
    """
    seen = (y["event"] == 1).astype(np.int8)
    holders = int(seen.sum()) if groups is None else len(np.unique(groups[seen == 1]))
    folds = max(2, min(_FOLDS, holders))
    risks = np.empty(F.shape)
    start = fit_event_recalibration(y, F, follow_up, shrunk=True)
    for train, test in recalibration_splits(event_strata(seen, folds), folds, groups, rng):
        risks[test] = fit_event_recalibration(y[train], F[train], follow_up, start, shrunk=True).apply(F[test])
    return risks
