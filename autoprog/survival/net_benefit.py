"""Net benefit of deciding by a risk by a horizon, where patients are censored.

======  ====================================================================================  ======  ======
symbol  meaning                                                                               shape   range
======  ====================================================================================  ======  ======
h       horizon                                                                               scalar  time
p       risk of the cause by h                                                                (n,)    [0, 1]
c       thresholds: a patient is treated where p >= c                                         (m,)    (0, 1)
q       share of the patients who are treated                                                 (m,)    [0, 1]
F       incidence of the cause by h among the treated, the Aalen-Johansen estimate            (m,)    [0, 1]
======  ====================================================================================  ======  ======

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
from autoprog.survival.errors import OutcomeError
from autoprog.survival.outcomes import check_horizons, check_outcomes
from autoprog.survival.risk_sets import Timeline

_Floats = NDArray[np.float64]


def net_benefit(
    time: ArrayLike, event: ArrayLike, risk: ArrayLike, horizon: float, thresholds: ArrayLike, cause: int = 1
) -> NDArray[np.float64]:
    """Net benefit of treating the patients whose risk by a horizon reaches a threshold.

    Parameters
    ----------
    time : array-like, shape = (n,)
        Times.
    event : array-like, shape = (n,)
        Codes, 0 for censored.
    risk : array-like, shape = (n,)
        Risk of the cause by the horizon, in [0, 1].
    horizon : float
        A time within the follow-up.
    thresholds : array-like, shape = (m,)
        In (0, 1).
    cause : int
        Code of the event.

    Returns
    -------
    ndarray, shape = (m,)
        More is better; treating nobody has 0. nan where none of those who would be treated was followed to the horizon
        and not all of them had an event, so that their incidence is unknown.

    Raises
    ------
    OutcomeError
        If times, codes, risks or thresholds are none.
    HorizonError
        If the horizon lies beyond the follow-up.
    NoEventError
        If nobody had the event by the horizon.
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
    time : array-like, shape = (n,)
        Times.
    event : array-like, shape = (n,)
        Codes, 0 for censored.
    horizon : float
        A time within the follow-up.
    thresholds : array-like, shape = (m,)
        In (0, 1).
    cause : int
        Code of the event.

    Returns
    -------
    ndarray, shape = (m,)
        0 at the threshold that equals the incidence, below 0 beyond it.

    Raises
    ------
    OutcomeError
        If times, codes or thresholds are none.
    HorizonError
        If the horizon lies beyond the follow-up.
    NoEventError
        If nobody had the event by the horizon.
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
    """Net benefit a treated patient."""
    return np.asarray(F - (1 - F) * threshold / (1 - threshold))
