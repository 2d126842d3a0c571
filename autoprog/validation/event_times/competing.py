"""Recalibration and assessment of the risks of competing causes.

    F_k      risk of cause k until the horizons; cause 1 is the event of interest                (n, H) each
    s_k      share of cause k among those whom no earlier cause takes: F_k / (1 - sum_{j<k} F_j)  (n, H)
    a_k,     recalibration of the share: logit(s'_k) = a_k + b_k logit(s_k)                      scalar
    b_k

    F'_k = s'_k (1 - sum_{j<k} F'_j)

The likelihood of the first cause is the product of the shares' likelihoods, so fitting each map alone fits all jointly,
and the risks always sum to at most 1. The event of interest has the model's map; the others are fitted to the same
patients at the horizons, with weights for those whose cause is unknown by then.

References
----------
Tutz 1991, Computational Statistics & Data Analysis 11:275 (sequential models of categories); Van Hoorde et al. 2014,
Statistics in Medicine 33:2585 (recalibration of risks of several categories).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.performance import ScoringContext
from autoprog.performance.event_times.measures import performance_and_curve
from autoprog.survival import HorizonError, NoEventError, NoPairError, ipcw_weights
from autoprog.validation.event_times.recalibration import event_splits
from autoprog.validation.recalibration import (
    IDENTITY,
    PRIOR_PRECISION,
    Recalibration,
    fit_intercept,
    fit_recalibration,
    shrunk_recalibration,
)

_Floats = NDArray[np.float64]

_MIN_EVENTS = 2


def fit_competing(
    y: NDArray[np.void], F: _Floats, follow_up: ScoringContext, *, slope: bool = True, shrunk: bool = True
) -> tuple[Recalibration, ...]:
    """Estimate the maps of the competing causes.

    Parameters
    ----------
    y, F
        Outcomes, dtype `EVENT_TIMES`, (n,); out-of-sample risks before recalibration, (n, n_causes, n_horizons).
    follow_up : ScoringContext
        Context of the search's cohort.
    slope : bool
        Whether b is estimated rather than 1; ignored if `shrunk`.
    shrunk : bool
        Whether a and b are shrunk towards no change, as in a delivered model.

    Returns
    -------
    tuple of Recalibration, length n_causes - 1
        The identity for a cause that fewer than two patients had by the last horizon, or are known not to have had.
    """
    h = np.array(follow_up.horizons)
    w = ipcw_weights(y["time"], y["event"], h, follow_up.censoring)
    by_now = y["time"][:, None] <= h
    maps = []
    for k, share in enumerate(np.moveaxis(_shares(F), 1, 0), start=2):
        earlier = by_now & ((y["event"] > 0) & (y["event"] < k))[:, None]
        asked = (w > 0) & ~earlier
        had = by_now & (y["event"] == k)[:, None]
        seen = had[asked].astype(np.int8)
        # A patient counts once, however many horizons there are.
        if min((asked & part).any(axis=1).sum() for part in (had, ~had)) < _MIN_EVENTS:
            maps.append(IDENTITY)
        elif shrunk:
            maps.append(shrunk_recalibration(seen, share[asked], weights=w[asked], precision=PRIOR_PRECISION * len(h)))
        else:
            fit = fit_recalibration if slope else fit_intercept
            maps.append(fit(seen, share[asked], weights=w[asked]))
    return tuple(maps)


def with_competing(F: _Floats, of_interest: _Floats, maps: Sequence[Recalibration]) -> _Floats:
    """Recalibrate the risks of all causes.

    Parameters
    ----------
    F : ndarray, shape = (n, n_causes, n_times)
        Risks before recalibration; their sum over causes is at most 1.
    of_interest : ndarray, shape = (n, n_times)
        Recalibrated risks of the event of interest, in [0, 1], not decreasing.
    maps : sequence of Recalibration, length n_causes - 1, or empty
        From `fit_competing`; if empty, every cause keeps its share.

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
    # A cause may take the room of later causes at a later time: their earlier risks are then lowered to stay monotone.
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
    """Recalibrate each tenth of the patients by the others, from out-of-fold F and recalibrated `of_interest`."""
    told = np.empty(F.shape)
    for train, test in event_splits(y["event"] > 0, groups, rng):
        told[test] = with_competing(F[test], of_interest[test], fit_competing(y[train], F[train], follow_up))
    return told


def cause_documents(
    y: NDArray[np.void],
    F: NDArray[np.floating],
    causes: Sequence[str],
    horizon: float,
    groups: NDArray[np.integer] | None = None,
) -> list[dict[str, Any]]:
    """Assess the risks of the competing causes until a horizon.

    Parameters
    ----------
    y, F
        Outcomes, dtype `EVENT_TIMES`, shape = (n,); out-of-sample risks until the horizon, shape = (n, n_causes).
    causes : sequence of str, length n_causes
        Names of the causes; the event of interest first.
    horizon, groups
        As `performance_at` takes them.

    Returns
    -------
    list of dict, length n_causes - 1
        JSON documents with `cause`, `n_events`, and `performance` and `calibration_curve` or, if they are None, a
        `reason`.
    """
    return [
        {"cause": name, **_measured(as_event_of_interest(y, code), F[:, code - 1], horizon, groups)}
        for code, name in enumerate(causes[1:], start=2)
    ]


def as_event_of_interest(y: NDArray[np.void], code: int) -> NDArray[np.void]:
    """Swap the codes of a cause and the event of interest."""
    told = y.copy()
    told["event"] = np.select([y["event"] == code, y["event"] == 1], [1, code], y["event"])
    return told


def _measured(
    y: NDArray[np.void], p: NDArray[np.floating], horizon: float, groups: NDArray[np.integer] | None
) -> dict[str, Any]:
    events = int(((y["event"] == 1) & (y["time"] <= horizon)).sum())
    nothing = {"n_events": events, "performance": None, "calibration_curve": None}
    if events < _MIN_EVENTS:
        return {**nothing, "reason": f"{events} had it until then, and at least {_MIN_EVENTS} are needed"}
    try:
        told, curve = performance_and_curve(y, p, horizon, groups)
    except (HorizonError, NoEventError, NoPairError) as error:
        return {**nothing, "reason": str(error)}
    return {"n_events": events, "performance": told.to_json(), "calibration_curve": curve, "reason": None}


def _shares(F: _Floats) -> _Floats:
    """s_k of all causes but the first, shape = (n, n_causes - 1, H)."""
    others = F[:, 1:]
    left = 1.0 - np.cumsum(F, axis=1)[:, :-1]
    # Rounding must not make the room smaller than the risk in it.
    room = np.maximum(left, others)
    return np.divide(others, room, out=np.zeros_like(others), where=room > 0)
