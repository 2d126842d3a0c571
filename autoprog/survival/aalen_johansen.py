"""Aalen-Johansen estimate: cumulative incidence of each cause among competing ones.

    s       distinct times                                                      (m,)    time
    d_k     weight of those who fail by cause k at s                            (m,)    1
    d       sum_k d_k                                                           (m,)    1
    r       weight of those at risk at s                                        (m,)    1
    l       r - d                                                               (m,)    1
    S       survival free of any event                                          (m,)    [0, 1]
    F       cumulative incidence of cause k                                     (m,)    [0, 1]
    V       variance of F                                                       (m,)    1

    F(t) = sum_{s <= t} S(s-) d_k/r
    V(t) = sum_{s <= t} [F(t) - F(s)]^2 d/(r l) - 2 [F(t) - F(s)] S(s-) d_k/r^2 + S(s-)^2 d_k (r - d_k)/r^3

V is that of the delta method on multinomial failures and of the infinitesimal jackknife; for a single cause it is
Greenwood's. Its squares are multiplied out, so that all times take three cumulative sums.

References
----------
Aalen & Johansen 1978, Scand J Stat 5:141; V: Dinse & Larson 1986, Biometrika 73:379, Marubini & Valsecchi 1995,
Analysing Survival Data from Clinical Trials and Observational Studies, eq. 10.12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.estimates import Estimates, log_log_limits
from autoprog.survival.kaplan_meier import greenwood_terms, product_limit
from autoprog.survival.outcomes import check_outcomes
from autoprog.survival.partial_likelihood import RiskSets, Timeline
from autoprog.survival.step import StepFunction

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class AalenJohansen:
    """Aalen-Johansen estimate of every cause; with the survival the incidences sum to 1.

    Attributes
    ----------
    survival : StepFunction
        Survival free of any event.
    incidences, standard_errors : tuple of StepFunction
        Cumulative incidence of each cause from cause 1, and its error.
    """

    survival: StepFunction
    incidences: tuple[StepFunction, ...]
    standard_errors: tuple[StepFunction, ...]

    def incidence(self, cause: int = 1) -> StepFunction:
        """Cumulative incidence F of a cause, from 0 upwards."""
        return self.incidences[cause - 1]

    def standard_error(self, cause: int = 1) -> StepFunction:
        """Standard error of the cumulative incidence of a cause."""
        return self.standard_errors[cause - 1]

    def at(self, horizons: ArrayLike, cause: int = 1, level: float = 0.95) -> Estimates:
        """Cumulative incidence F of a cause at horizons, with pointwise intervals.

        Parameters
        ----------
        horizons : array-like, shape = (H,)
            Times; beyond the follow-up the last value holds, which `check_horizons` refuses.
        cause : int
            Code of the event.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        Estimates
            Limits are symmetric on the scale of log(-log(1 - F)); for a single cause they are Kaplan-Meier's.
        """
        h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
        F, error = self.incidence(cause)(h), self.standard_error(cause)(h)
        lower, upper = log_log_limits(1 - F, error, level)
        return Estimates(F, error, 1 - upper, 1 - lower)


def aalen_johansen(
    time: ArrayLike, event: ArrayLike, weights: NDArray[np.generic] | None = None, causes: int | None = None
) -> AalenJohansen:
    """Estimate the cumulative incidence of every cause.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes: 0 for censored, 1 to K for the causes
    weights : ndarray, shape = (n,), optional, how often each patient counts, 0 or more
    causes : int, optional, K; the largest code by default

    Returns
    -------
    AalenJohansen
        Cumulative incidence of each cause with its standard error.

    Raises
    ------
    OutcomeError
        If times, codes or weights are invalid.
    """
    t, codes = check_outcomes(time, event, causes)
    return estimate(Timeline(t, codes, causes).risk_sets(weights))


def estimate(sets: RiskSets) -> AalenJohansen:
    """Aalen-Johansen estimate from counted patients."""
    S = product_limit(sets)
    S_left = np.concatenate([[1.0], S[:-1]])
    incidences, errors = [], []
    for d_k in sets.events:
        F = np.cumsum(S_left * sets.share(d_k))
        incidences.append(StepFunction(sets.times, F, 0.0))
        errors.append(StepFunction(sets.times, np.sqrt(_variance(sets, d_k, S_left, F)), 0.0))
    return AalenJohansen(StepFunction(sets.times, S, 1.0), tuple(incidences), tuple(errors))


def incidence_at(sets: RiskSets, cause: int, horizon: float) -> float:
    """F(h) alone; nan if nobody was followed to the horizon h and not all had an event."""
    S = product_limit(sets)
    count = int(np.searchsorted(sets.times, horizon, side="right"))
    followed = sets.times[-1] >= horizon and sets.at_risk[np.searchsorted(sets.times, horizon)] > 0
    if not followed and S[-1] > 0:
        return np.nan
    S_left = np.concatenate([[1.0], S[: max(count - 1, 0)]])[:count]
    return float(S_left @ sets.share(sets.events[cause - 1])[:count])


def _variance(sets: RiskSets, d_k: _Floats, S_left: _Floats, F: _Floats) -> _Floats:
    """V at all times."""
    per_square = greenwood_terms(sets)
    per_product = sets.share(sets.share(S_left * d_k))
    alone = S_left * per_product * sets.share(sets.at_risk - d_k)
    constant = np.cumsum(F**2 * per_square + 2 * F * per_product + alone)
    linear = np.cumsum(F * per_square + per_product)
    quadratic = np.cumsum(per_square)
    # Rounding may leave a variance below 0.
    return np.maximum(F**2 * quadratic - 2 * F * linear + constant, 0.0)
