"""When patients are lost from sight: the censoring distribution, and the weights that make up for it.

======  ====================================================================================  ======  ======
symbol  meaning                                                                               shape   unit
======  ====================================================================================  ======  ======
s       distinct times                                                                        (m,)    time
c       weight of those who are censored at s                                                 (m,)    1
l       weight of those at risk at s who do not fail at s                                     (m,)    1
G       probability not to be censored, whatever else happens                                 (m,)    [0, 1]
h       horizons                                                                              (H,)    time
w       inverse probability of censoring weights                                              (n, H)  1
======  ====================================================================================  ======  ======

    G(t) = prod_{s <= t} (l - c)/l           failures at s come before censorings at s

    w = 1/G(T-)   of those who failed by h, whatever the cause
    w = 1/G(h)    of those who were followed beyond h
    w = 0         of those who were censored by h: nobody knows what became of them

The mean of w 1{T <= h, event k} over all patients is the Aalen-Johansen estimate of cause k, exactly, where G was
learnt from the same patients. G takes no covariates: censoring must not depend on them beyond chance, or the weighted
estimates are biased.

G reaches 0 at a last time that is a censoring. There and beyond, nobody knows who is still free of events: a horizon
h needs G(h) > 0, and one without it is an error, never a cut weight. A weight 1/G(T-) alone needs G(T-) > 0.

References
----------
Graf, Schmoor, Sauerbrei & Schumacher 1999, Stat Med 18:2529; Gerds & Schumacher 2006, Biometrical Journal 48:1029.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.errors import HorizonError
from autoprog.survival.outcomes import Events, Times, check_outcomes
from autoprog.survival.risk_sets import Timeline
from autoprog.survival.step import StepFunction

_Floats = NDArray[np.float64]


def censoring_survival(time: ArrayLike, event: ArrayLike, weights: NDArray[np.generic] | None = None) -> StepFunction:
    """Kaplan-Meier estimate of the time to censoring.

    Parameters
    ----------
    time : array-like, shape = (n,)
        Times.
    event : array-like, shape = (n,)
        0 for censored.
    weights : ndarray, shape = (n,), optional
        How often each patient counts, 0 or more.

    Returns
    -------
    StepFunction
        G, from 1 downwards.

    Raises
    ------
    OutcomeError
        If times, codes or weights are none.
    """
    t, codes = check_outcomes(time, event)
    sets = Timeline(t, np.minimum(codes, 1)).risk_sets(weights)
    stay = np.append(sets.at_risk[1:], 0.0)
    factors = np.divide(stay, sets.left, out=np.ones_like(stay), where=sets.left > 0)
    return StepFunction(sets.times, np.cumprod(factors), 1.0)


def ipcw_weights(
    time: ArrayLike, event: ArrayLike, horizons: ArrayLike, G: StepFunction | None = None
) -> NDArray[np.float64]:
    """Inverse probability of censoring weights at horizons.

    Parameters
    ----------
    time : array-like, shape = (n,)
        Times.
    event : array-like, shape = (n,)
        Codes, 0 for censored.
    horizons : array-like, shape = (H,)
        Times.
    G : StepFunction, optional
        Censoring survival; learnt from these patients by default.

    Returns
    -------
    ndarray, shape = (n, H)
        w; 0 or at least 1. Those of a horizon sum to about n.

    Raises
    ------
    OutcomeError
        If times or codes are none.
    HorizonError
        If G is 0 at a horizon.
    """
    t, codes = check_outcomes(time, event)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    inverse = InverseCensoring(t, codes, G)
    weights = np.empty((len(t), len(h)))
    for j, horizon in enumerate(h):
        weights[:, j] = inverse.weights(float(horizon))
    return weights


class InverseCensoring:
    """The weights of patients, one horizon at a time.

    Parameters
    ----------
    time : ndarray, shape = (n,)
        Times.
    event : ndarray, shape = (n,)
        Codes, 0 for censored.
    G : StepFunction, optional
        Censoring survival; learnt from these patients by default.
    """

    def __init__(self, time: Times, event: Events, G: StepFunction | None = None) -> None:
        self.G = censoring_survival(time, event) if G is None else G
        self._time, self._failed = time, event > 0
        self._left = self.G.left(time)

    def weights(self, horizon: float) -> _Floats:
        """Weights w at a horizon.

        Parameters
        ----------
        horizon : float
            A time.

        Returns
        -------
        ndarray, shape = (n,)
            0 or at least 1.

        Raises
        ------
        HorizonError
            If G is 0 at the horizon.
        """
        at_horizon = float(self.G(horizon))
        if at_horizon == 0:
            raise self._error(horizon)
        w = self.of_failures(horizon)
        w[self._time > horizon] = 1 / at_horizon
        return w

    def of_failures(self, horizon: float) -> _Floats:
        """1/G(T-) of those who failed by a horizon, 0 of all others.

        Parameters
        ----------
        horizon : float
            A time.

        Returns
        -------
        ndarray, shape = (n,)
            0 or at least 1.

        Raises
        ------
        HorizonError
            If G is 0 just before one of the failures.
        """
        failed = self._failed & (self._time <= horizon)
        if (self._left[failed] == 0).any():
            raise self._error(horizon)
        return np.divide(1.0, self._left, out=np.zeros_like(self._left), where=failed)

    def _error(self, horizon: float) -> HorizonError:
        positive = self.G.times[self.G.values > 0]
        largest = float(positive[-1]) if len(positive) else 0.0
        msg = (
            f"nobody of those whom the censoring was learnt from was followed beyond {horizon:g}, and not all had an "
            f"event: the largest time that can be a horizon is {largest:g}"
        )
        return HorizonError(msg, largest)
