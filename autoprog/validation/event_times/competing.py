"""Risks of the causes that compete with the event of interest: recalibrated with it, and assessed as it is.

=======  ==================================================================================  ==================
symbol   meaning                                                                             shape
=======  ==================================================================================  ==================
F_k      risk of cause k until the horizons; cause 1 is the event of interest                (n, H) each
s_k      share of cause k among those whom no earlier cause takes: F_k / (1 - sum_{j<k} F_j)  (n, H)
a_k,     recalibration of the share: logit(s'_k) = a_k + b_k logit(s_k)                      scalar
b_k
=======  ==================================================================================  ==================

    F'_k = s'_k (1 - sum_{j<k} F'_j)

The likelihood of which cause came first, if any, is the product of those of the shares, so that the maps of all causes
are fitted together though each is fitted alone, and their risks sum to at most 1 whatever the maps are. The map of the
event of interest is that of the model; the others are fitted to the same patients at the horizons, those of whom a
cause is not known until then weighed out.

References
----------
Tutz 1991, Computational Statistics & Data Analysis 11:275 (sequential models of categories); Van Hoorde et al. 2014,
Statistics in Medicine 33:2585 (recalibration of risks of several categories).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import ScoringContext
from autoprog.space import event_strata
from autoprog.survival import HorizonError, NoEventError, NoPairError, ipcw_weights
from autoprog.validation.event_times.performance import performance_at
from autoprog.validation.recalibration import (
    IDENTITY,
    PRIOR_PRECISION,
    Recalibration,
    fit_intercept,
    fit_recalibration,
    recalibration_splits,
    shrunk_recalibration,
)

_Floats = NDArray[np.float64]

_FOLDS = 10
_MIN_EVENTS = 2


class CausesOfPatients(NamedTuple):
    """Risks of every cause.

    Attributes
    ----------
    names : tuple of str, length n_causes
        The event of interest first.
    F : ndarray, shape = (n, n_causes, n_horizons)
        Out of fold, before any recalibration.
    """

    names: tuple[str, ...]
    F: _Floats


def fit_competing(
    y: NDArray[np.void], F: _Floats, follow_up: ScoringContext, *, slope: bool = True, shrunk: bool = True
) -> tuple[Recalibration, ...]:
    """Estimate the maps of the causes that compete with the event of interest.

    Parameters
    ----------
    y : structured ndarray, shape = (n,)
        Of dtype `EVENT_TIMES`.
    F : ndarray, shape = (n, n_causes, n_horizons)
        Risks of all causes, of patients whom the model was not fitted on, before any recalibration.
    follow_up : ScoringContext
        Of the search's cohort.
    slope : bool
        Whether b is estimated, or 1; of no consequence where `shrunk`.
    shrunk : bool
        Whether a and b are drawn to no change, as those of a delivered model are.

    Returns
    -------
    tuple of Recalibration, length n_causes - 1
        One that changes nothing for a cause that was seen in fewer than two patients.
    """
    h = np.array(follow_up.horizons)
    w = ipcw_weights(y["time"], y["event"], h, follow_up.censoring)
    by_now = y["time"][:, None] <= h
    maps = []
    for k, share in enumerate(np.moveaxis(_shares(F), 1, 0), start=2):
        earlier = by_now & ((y["event"] > 0) & (y["event"] < k))[:, None]
        asked = (w > 0) & ~earlier
        seen = (by_now & (y["event"] == k)[:, None])[asked].astype(np.int8)
        if min(seen.sum(), (1 - seen).sum()) < _MIN_EVENTS:
            maps.append(IDENTITY)
        elif shrunk:
            maps.append(shrunk_recalibration(seen, share[asked], weights=w[asked], precision=PRIOR_PRECISION * len(h)))
        else:
            fit = fit_recalibration if slope else fit_intercept
            maps.append(fit(seen, share[asked], weights=w[asked]))
    return tuple(maps)


def with_competing(F: _Floats, of_interest: _Floats, maps: Sequence[Recalibration]) -> _Floats:
    """Risks of all causes, recalibrated.

    Parameters
    ----------
    F : ndarray, shape = (n, n_causes, n_times)
        Before any recalibration; their sum over causes is at most 1.
    of_interest : ndarray, shape = (n, n_times)
        Recalibrated risks of the event of interest, in [0, 1], not decreasing.
    maps : sequence of Recalibration, length n_causes - 1, or empty
        See `fit_competing`; without them every cause keeps its share of the patients whom the earlier ones leave.

    Returns
    -------
    ndarray, shape = (n, n_causes, n_times)
        `of_interest` and F'_k, not decreasing with time; their sum is at most 1.
    """
    shares = _shares(F)
    told, left = [of_interest], 1.0 - of_interest
    for k in range(shares.shape[1]):
        share = shares[:, k]
        told.append(left * (np.where(share > 0, maps[k].apply(share), 0.0) if maps else share))
        left = left - told[-1]
    others = np.stack(told[1:], axis=1) if len(told) > 1 else np.empty((len(F), 0, F.shape[2]))
    # Where a cause takes the room of later ones at a later time, these have been less frequent before.
    others = np.minimum.accumulate(others[:, :, ::-1], axis=2)[:, :, ::-1]
    return np.concatenate([of_interest[:, None], others], axis=1)


def cross_fitted_competing(
    y: NDArray[np.void],
    F: _Floats,
    of_interest: _Floats,
    follow_up: ScoringContext,
    rng: np.random.Generator,
    groups: NDArray[np.integer] | None = None,
) -> _Floats:
    """Recalibrate each tenth of the patients by the others; see `cross_fitted_events`.

    Parameters
    ----------
    y : structured ndarray, shape = (n,)
        Of dtype `EVENT_TIMES`.
    F : ndarray, shape = (n, n_causes, n_horizons)
        Out-of-fold risks of all causes before any recalibration.
    of_interest : ndarray, shape = (n, n_horizons)
        Those of the event of interest, recalibrated by other patients.
    follow_up : ScoringContext
        Of the search's cohort.
    rng : numpy.random.Generator
        Shuffles the patients.
    groups : ndarray of int, shape = (n,), or None
        Rows that stay together.

    Returns
    -------
    ndarray, shape = (n, n_causes, n_horizons)
        As of `with_competing`.
    """
    seen = (y["event"] > 0).astype(np.int8)
    holders = int(seen.sum()) if groups is None else len(np.unique(groups[seen == 1]))
    folds = max(2, min(_FOLDS, holders))
    told = np.empty(F.shape)
    for train, test in recalibration_splits(event_strata(seen, folds), folds, groups, rng):
        told[test] = with_competing(F[test], of_interest[test], fit_competing(y[train], F[train], follow_up))
    return told


def cause_documents(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    causes: Sequence[str],
    horizon: float,
    groups: NDArray[np.integer] | None = None,
) -> list[dict[str, Any]]:
    """How good the risks of the competing causes are until a horizon.

    Parameters
    ----------
    y : structured ndarray, shape = (n,)
        Of dtype `EVENT_TIMES`.
    F : ndarray, shape = (n, n_causes)
        Risks of all causes until the horizon, of patients whom they were not fitted on.
    causes : sequence of str, length n_causes
        Their names; the event of interest first.
    horizon : float
        Within the follow-up.
    groups : ndarray of int, shape = (n,), or None
        Codes, from 0, of patients who are alike.

    Returns
    -------
    list of dict, length n_causes - 1
        Ready for JSON: `cause`, `n_events`, `performance` as of the event of interest, where a patient whom another
        cause has taken is without, or None with a `reason`.
    """
    return [
        {"cause": name, **_measured(as_event_of_interest(y, code), F[:, code - 1], horizon, groups)}
        for code, name in enumerate(causes[1:], start=2)
    ]


def as_event_of_interest(y: NDArray[np.void], code: int) -> NDArray[np.void]:
    """The same outcomes with a cause in the place of the event of interest, and that in its place."""
    told = y.copy()
    told["event"] = np.select([y["event"] == code, y["event"] == 1], [1, code], y["event"])
    return told


def _measured(
    y: NDArray[np.void], p: NDArray[np.floating], horizon: float, groups: NDArray[np.integer] | None
) -> dict[str, Any]:
    events = int(((y["event"] == 1) & (y["time"] <= horizon)).sum())
    if events < _MIN_EVENTS:
        return {"n_events": events, "performance": None, "reason": f"{events} patients had it until then"}
    try:
        told = performance_at(y, p, horizon, groups).to_json()
    except (HorizonError, NoEventError, NoPairError) as error:
        return {"n_events": events, "performance": None, "reason": str(error)}
    return {"n_events": events, "performance": told, "reason": None}


def _shares(F: _Floats) -> _Floats:
    """s_k of all causes but the first, shape = (n, n_causes - 1, H)."""
    others = F[:, 1:]
    left = 1.0 - np.cumsum(F, axis=1)[:, :-1]
    # What rounding takes from the room is no less than what it holds.
    room = np.maximum(left, others)
    return np.divide(others, room, out=np.zeros_like(others), where=room > 0)
