"""Kaplan-Meier estimate of the survival free of any event, with Greenwood's variance.

    s       distinct times                                                      (m,)    time
    d       weight of those who fail at s, by whatever cause                    (m,)    1
    r       weight of those at risk at s                                        (m,)    1
    l       r - d                                                               (m,)    1
    S       probability of being free of any event                              (m,)    [0, 1]
    V       variance of S                                                       (m,)    1

    S(t) = prod_{s <= t} l/r
    V(t) = S(t)^2 sum_{s <= t} d / (r l)

References
----------
Kaplan & Meier 1958, JASA 53:457; Greenwood 1926, Reports on Public Health and Medical Subjects 33.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.estimates import Estimates, log_log_limits
from autoprog.survival.outcomes import check_outcomes
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
