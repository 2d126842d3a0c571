"""The Bayesian associative classifier: how much the data say for a rule, and how likely it was beforehand.

    n, L         patients; conditions to choose from
    n_A          patients who satisfy the conjunction A                             (n_conjunctions,)
    n_Ar         those of them in stratum r                                         (n_conjunctions,)
    q_r          base rate: share of all patients in stratum r
    s            strength of the prior in patients
    a, b         s q_r, s (1 - q_r)
    P(r | A)     ~ Beta(a + n_Ar, b + n_A - n_Ar)
    ell          length of A

    log Bayes factor of "A has a rate of its own" against "A has the base rate":

        ln B(a + n_Ar, b + n_A - n_Ar) - ln B(a, b) - n_Ar ln q_r - (n_A - n_Ar) ln(1 - q_r)

    log prior of A: its length is geometric, P(ell) proportional to 2^-ell, and all C(L, ell) conjunctions of a length
    are equally likely. The second part pays for having looked at many.

References
----------
Ma & Liu 1998, KDD, 80 (associative classification); Kruschke 2008, Learning & Behavior 36:210 (Bayesian association).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, gammaln

from autoprog.interpreter.mining import MAX_LENGTH
from autoprog.interpreter.rules import LEVEL, StratumProbability

STRENGTH = 10.0


def log_bayes_factors(
    n_A: NDArray[np.integer], n_Ar: NDArray[np.integer], q_r: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log marginal likelihood ratio of each conjunction's own rate against the base rate.

    Parameters
    ----------
    n_A, n_Ar : ndarray, shape = (n_conjunctions,)
        Matching patients, and those of them in the stratum.
    q_r : float or ndarray, shape = (n_conjunctions,)
        Base rate, in (0, 1).

    Returns
    -------
    ndarray, shape = (n_conjunctions,)
        Natural logarithms; above 0 where the data speak for a rate of its own, whether higher or lower.
    """
    a, b = STRENGTH * q_r, STRENGTH * (1 - q_r)
    own = betaln(a + n_Ar, b + n_A - n_Ar) - betaln(a, b)
    factors: NDArray[np.float64] = own - n_Ar * np.log(q_r) - (n_A - n_Ar) * np.log1p(-q_r)
    return factors


def log_prior(lengths: NDArray[np.integer], n_conditions: int) -> NDArray[np.float64]:
    """Log prior probability of a conjunction by its length.

    Parameters
    ----------
    lengths : ndarray, shape = (n_conjunctions,)
        Numbers of conditions, each in 1 .. MAX_LENGTH.
    n_conditions : int
        Conditions to choose from, L.

    Returns
    -------
    ndarray, shape = (n_conjunctions,)
        Natural logarithms.
    """
    ell = np.arange(1, MAX_LENGTH + 1)
    log_length = -ell * np.log(2) - np.log((0.5**ell).sum())
    L = max(n_conditions, MAX_LENGTH)
    log_choose = gammaln(L + 1) - gammaln(ell + 1) - gammaln(L - ell + 1)
    priors: NDArray[np.float64] = (log_length - log_choose)[lengths - 1]
    return priors


def posterior(n_A: int, n_Ar: int, q_r: float) -> StratumProbability:
    """Posterior of P(r | A).

    Parameters
    ----------
    n_A, n_Ar : int
        Matching patients, and those of them in the stratum.
    q_r : float
        Base rate, in (0, 1).

    Returns
    -------
    StratumProbability
        Mean and equal-tailed credible interval.
    """
    a, b = STRENGTH * q_r + n_Ar, STRENGTH * (1 - q_r) + n_A - n_Ar
    tail = (1 - LEVEL) / 2
    lower, upper = betaincinv(a, b, [tail, 1 - tail])
    return StratumProbability(a / (a + b), float(lower), float(upper))
