"""Net benefit of decisions by a risk by a horizon, with censored patients.

    h       horizon                                                                         scalar  time
    p       risk of the cause by h                                                          (n,)    [0, 1]
    c       thresholds: a patient is treated where p >= c                                   (m,)    (0, 1)
    q       share of the patients who are treated                                           (m,)    [0, 1]
    F       Aalen-Johansen estimate of the cause by h among the treated                     (m,)    [0, 1]

    NB(c) = q F - q (1 - F) c/(1 - c)

References
----------
Vickers, Cronin, Elkin & Gonen 2008, BMC Med Inform Decis Mak 8:53.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.aalen_johansen import aalen_johansen, incidence_at
from autoprog.survival.calibration import checked_risks
from autoprog.survival.outcomes import OutcomeError, check_horizons, check_outcomes
from autoprog.survival.partial_likelihood import Timeline

_Floats = NDArray[np.float64]


def net_benefit(
    time: ArrayLike, event: ArrayLike, risk: ArrayLike, horizon: float, thresholds: ArrayLike, cause: int = 1
) -> NDArray[np.float64]:
    """Net benefit of treating the patients whose risk by a horizon reaches a threshold.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    risk : array-like, shape = (n,), risk of the cause by the horizon, in [0, 1]
    horizon : float within the follow-up
    thresholds : array-like, shape = (m,), in (0, 1)
    cause : int
        Code of the event.

    Returns
    -------
    ndarray, shape = (m,)
        More is better; treating nobody has 0. nan if the incidence among the treated is unknown: none of them was
        followed to the horizon and not all had an event.

    Raises
    ------
    OutcomeError, HorizonError, NoEventError
        If times, codes, risks or thresholds are invalid; if the horizon is beyond the follow-up; if nobody had the
        event by then.
    """
    t, codes, p = checked_risks(time, event, risk, horizon, cause)
    c = _checked(thresholds)
    timeline = Timeline(t, codes, max(cause, int(codes.max())))
    benefit = np.zeros(len(c))
    for j, threshold in enumerate(c):
        treated = p >= threshold
        if not treated.any():
            continue
        F = incidence_at(timeline.risk_sets(treated), cause, horizon)
        benefit[j] = treated.mean() * _worth(F, threshold)
    return benefit


def net_benefit_of_all(
    time: ArrayLike, event: ArrayLike, horizon: float, thresholds: ArrayLike, cause: int = 1
) -> NDArray[np.float64]:
    """Net benefit of treating everybody.

    Parameters
    ----------
    time, event, horizon, thresholds, cause
        As for `net_benefit`.

    Returns
    -------
    ndarray, shape = (m,)
        0 at the threshold that equals the incidence, below 0 above it.

    Raises
    ------
    OutcomeError, HorizonError, NoEventError
        As `net_benefit`.
    """
    t, codes = check_outcomes(time, event)
    check_horizons(t, codes, horizon, cause=cause)
    F = float(aalen_johansen(t, codes).incidence(cause)(horizon))
    return _worth(F, _checked(thresholds))


def _checked(thresholds: ArrayLike) -> _Floats:
    c = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    if c.ndim != 1 or not ((c > 0) & (c < 1)).all():
        msg = f"thresholds must lie between 0 and 1: got {np.array2string(c, threshold=5)}"
        raise OutcomeError(msg)
    return c


def _worth(F: float, threshold: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Net benefit per treated patient."""
    return np.asarray(F - (1 - F) * threshold / (1 - threshold))
