"""Kaplan-Meier estimates: of survival free of any event, and of the censoring.

    s       distinct times                                                      (m,)    time
    d       weight of those who fail at s, by whatever cause                    (m,)    1
    r       weight of those at risk at s                                        (m,)    1
    l       r - d                                                               (m,)    1
    S       probability of being free of any event                              (m,)    [0, 1]
    V       variance of S                                                       (m,)    1

    S(t) = prod_{s <= t} l/r
    V(t) = S(t)^2 sum_{s <= t} d / (r l)

Censoring distribution, and the inverse probability weights that correct for it.

    s       distinct times                                                                  (m,)    time
    c       weight of those who are censored at s                                           (m,)    1
    l       weight of those at risk at s who do not fail at s                               (m,)    1
    G       probability of not being censored, whatever else happens                        (m,)    [0, 1]
    h       horizons                                                                        (H,)    time
    w       inverse probability of censoring weights                                        (n, H)  1

    G(t) = prod_{s <= t} (l - c)/l           failures at s come before censorings at s

    w = 1/G(T-)   of those who failed by h, whatever the cause
    w = 1/G(h)    of those who were followed beyond h
    w = 0         of those who were censored by h: their outcome is unknown

If G was learnt from the same patients, the mean of w 1{T <= h, event k} is exactly the Aalen-Johansen estimate of cause
k. G takes no covariates: if censoring depends on them, weighted estimates are biased.

If the last time is a censoring, G is 0 from there on. A horizon h needs G(h) > 0, or it is an error: weights are never
truncated. A weight 1/G(T-) alone needs G(T-) > 0.

References
----------
Kaplan & Meier 1958, JASA 53:457; Greenwood 1926, Reports on Public Health and Medical Subjects 33.
Graf, Schmoor, Sauerbrei & Schumacher 1999, Stat Med 18:2529; Gerds & Schumacher 2006, Biometrical Journal 48:1029.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.estimates import Estimates, log_log_limits
from autoprog.survival.outcomes import Events, HorizonError, Times, check_outcomes
from autoprog.survival.partial_likelihood import RiskSets, Timeline
from autoprog.survival.step import StepFunction


@dataclass(frozen=True, slots=True, eq=False)
class KaplanMeier:
    """Kaplan-Meier estimate.

    Attributes
    ----------
    survival : StepFunction
        Survival free of any event, from 1 downwards.
    standard_error : StepFunction
        Of the survival; 0 once that is 0.
    """

    survival: StepFunction
    standard_error: StepFunction

    def at(self, horizons: ArrayLike, level: float = 0.95) -> Estimates:
        """Survival S at horizons (H,), with pointwise intervals that are symmetric on the scale of log(-log S)."""
        h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
        S, error = self.survival(h), self.standard_error(h)
        return Estimates(S, error, *log_log_limits(S, error, level))


def kaplan_meier(time: ArrayLike, event: ArrayLike, weights: NDArray[np.generic] | None = None) -> KaplanMeier:
    """Estimate the survival free of any event.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes; 0 is censored, every other code is a failure
    weights : ndarray, shape = (n,), optional, how often each patient counts, 0 or more

    Returns
    -------
    KaplanMeier
        With competing events, 1 - S of one cause with the others censored exceeds that cause's incidence: see
        `aalen_johansen`.

    Raises
    ------
    OutcomeError
        If times, codes or weights are invalid.
    """
    t, codes = check_outcomes(time, event)
    sets = Timeline(t, np.minimum(codes, 1)).risk_sets(weights)
    S = product_limit(sets)
    error = S * np.sqrt(np.cumsum(greenwood_terms(sets)))
    return KaplanMeier(StepFunction(sets.times, S, 1.0), StepFunction(sets.times, error, 0.0))


def product_limit(sets: RiskSets) -> NDArray[np.float64]:
    """S, shape = (m,): product of l/r, where a time with nobody at risk counts as 1."""
    return np.cumprod(np.where(sets.at_risk > 0, sets.share(sets.left), 1.0), dtype=np.float64)


def greenwood_terms(sets: RiskSets) -> NDArray[np.float64]:
    """d / (r l) at each time, shape = (m,); 0 where all at risk fail, since S is 0 from there on."""
    hazard = sets.share(sets.events.sum(axis=0))
    return np.divide(hazard, sets.left, out=np.zeros_like(hazard), where=sets.left > 0)


_Floats = NDArray[np.float64]


def censoring_survival(time: ArrayLike, event: ArrayLike, weights: NDArray[np.generic] | None = None) -> StepFunction:
    """Kaplan-Meier estimate of the time to censoring.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    weights : ndarray, shape = (n,), optional, how often each patient counts, 0 or more

    Returns
    -------
    StepFunction
        Probability G of not being censored, from 1 downwards.

    Raises
    ------
    OutcomeError
        If times, codes or weights are invalid.
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
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    horizons : array-like, shape = (H,)
    G : StepFunction, optional, censoring survival; learnt from these patients by default

    Returns
    -------
    ndarray, shape = (n, H)
        0 or at least 1; the weights of a horizon sum to about n.

    Raises
    ------
    OutcomeError, HorizonError
        If times or codes are invalid; if G is 0 at a horizon.
    """
    t, codes = check_outcomes(time, event)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    inverse = InverseCensoring(t, codes, G)
    weights = np.empty((len(t), len(h)))
    for j, horizon in enumerate(h):
        weights[:, j] = inverse.weights(float(horizon))
    return weights


class InverseCensoring:
    """Weights of the patients, one horizon at a time; G is learnt from these patients by default."""

    def __init__(self, time: Times, event: Events, G: StepFunction | None = None) -> None:
        self.G = censoring_survival(time, event) if G is None else G
        self._time, self._failed = time, event > 0
        self._left = self.G.left(time)

    def weights(self, horizon: float) -> _Floats:
        """Weights w at a horizon, 0 or at least 1, shape = (n,); HorizonError if G is 0 there."""
        at_horizon = float(self.G(horizon))
        if at_horizon == 0:
            raise self._error(horizon)
        w = self.of_failures(horizon)
        w[self._time > horizon] = 1 / at_horizon
        return w

    def of_failures(self, horizon: float) -> _Floats:
        """1/G(T-) of those who failed by a horizon, 0 of others, shape = (n,); HorizonError if a G(T-) is 0."""
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
