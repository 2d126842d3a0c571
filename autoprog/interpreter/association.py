"""The Bayesian associative classifier: what the data say for rules, and how likely they were beforehand.

    n, n_r       patients; those of them in stratum r
    L            conditions to choose from
    n_A, n_Ar    patients who satisfy a conjunction A, or any of a set of them; those in stratum r  (n_candidates,)
    q_r          base rate n_r / n
    s, p         strength of the prior in patients; the probability that it expects, q_r where nobody said otherwise
    a, b         s p, s (1 - p)
    P(r | A)     ~ Beta(a + n_Ar, b + n_A - n_Ar)
    ell          length of A

    log evidence of "those who match have a rate of their own, and so have the others", less that of one common rate:

        M(n_A, n_Ar) + M(n - n_A, n_r - n_Ar) - M(n, n_r),    M(m, k) = ln B(a + k, b + m - k) - ln B(a, b)

    log prior of A: its length is geometric, P(ell) proportional to 2^-ell, and all C(L, ell) conjunctions of a length
    are equally likely. The second part pays for having looked at many.

References
----------
Liu, Hsu & Ma 1998, KDD, 80 (associative classification); Wang et al. 2017, JMLR 18(70) (the evidence of a set of
rules); Chipman, George & McCulloch 1998, JASA 93:935 (rates of their own in the parts of a partition).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, gammaln

from autoprog.interpreter.rules import LEVEL, MAX_LENGTH, StratumProbability

STRENGTH = 10.0

Count = NDArray[np.integer] | int


class Evidence:
    """Log evidence that those who match have a rate of their own, by lookup: a selection asks for millions.

    Parameters
    ----------
    n, n_r : int
        All patients, and those in the stratum, 0 < n_r < n.
    """

    def __init__(self, n: int, n_r: int) -> None:
        self._n, self._n_r = n, n_r
        a, b = STRENGTH * n_r / n, STRENGTH * (1 - n_r / n)
        i = np.arange(n + 1)
        self._log_a, self._log_b, self._log_ab = gammaln(a + i), gammaln(b + i), gammaln(a + b + i)
        self._common = betaln(a, b) + betaln(a + n_r, b + n - n_r)

    def __call__(self, n_A: Count, n_Ar: Count) -> NDArray[np.float64]:
        """Log marginal likelihood ratio of two rates, of those who match and those who do not, against one.

        Parameters
        ----------
        n_A, n_Ar : int or ndarray, shape = (n_candidates,)
            Matching patients, and those of them in the stratum.

        Returns
        -------
        ndarray, shape = (n_candidates,)
            Natural logarithms; above 0 where the data speak for a difference, in whichever direction; 0 where nobody
            matches.
        """
        matching = self._log_beta(np.asarray(n_A), np.asarray(n_Ar))
        others = self._log_beta(self._n - np.asarray(n_A), self._n_r - np.asarray(n_Ar))
        evidence: NDArray[np.float64] = matching + others - self._common
        return evidence

    def _log_beta(self, m: NDArray[np.integer], k: NDArray[np.integer]) -> NDArray[np.float64]:
        """ln B(a + k, b + m - k)."""
        log_beta: NDArray[np.float64] = self._log_a[k] + self._log_b[m - k] - self._log_ab[m]
        return log_beta


def log_prior(n_conditions: int) -> NDArray[np.float64]:
    """Log prior probability of a conjunction by its length.

    Parameters
    ----------
    n_conditions : int
        Conditions to choose from, L.

    Returns
    -------
    ndarray, shape = (MAX_LENGTH + 1,)
        Natural logarithms; at index ell that of one conjunction of ell conditions, 0 at index 0, where there is none.
    """
    ell = np.arange(1, MAX_LENGTH + 1)
    log_length = -ell * np.log(2) - np.log((0.5**ell).sum())
    L = max(n_conditions, MAX_LENGTH)
    log_choose = gammaln(L + 1) - gammaln(ell + 1) - gammaln(L - ell + 1)
    return np.append(0.0, log_length - log_choose)


def posterior(n_A: float, n_Ar: float, p: float, s: float = STRENGTH) -> StratumProbability:
    """Posterior of P(r | A).

    Parameters
    ----------
    n_A, n_Ar : float
        Matching patients, and those of them in the stratum; of rows that are alike as many as they are worth.
    p : float
        Probability that the prior expects, in (0, 1): the base rate, or what a clinician said.
    s : float
        Its strength, in patients, above 0.

    Returns
    -------
    StratumProbability
        Mean and equal-tailed credible interval.
    """
    a, b = s * p + n_Ar, s * (1 - p) + n_A - n_Ar
    tail = (1 - LEVEL) / 2
    lower, upper = betaincinv(a, b, [tail, 1 - tail])
    return StratumProbability(a / (a + b), float(lower), float(upper))


def raises_odds(n_A: Count, n_Ar: Count, q_r: float, least: float) -> NDArray[np.bool_]:
    """Whether matching multiplies the odds of the stratum enough.

    Parameters
    ----------
    n_A, n_Ar : int or ndarray, shape = (n_candidates,)
        Matching patients, and those of them in the stratum.
    q_r : float
        Base rate, in (0, 1).
    least : float
        Smallest ratio of the posterior mean's odds to those of the base rate.

    Returns
    -------
    ndarray, shape = (n_candidates,)
        bool.
    """
    in_stratum, outside = STRENGTH * q_r + n_Ar, STRENGTH * (1 - q_r) + n_A - n_Ar
    return np.asarray(in_stratum * (1 - q_r) >= least * outside * q_r)
