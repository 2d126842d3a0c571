"""The Bayesian associative classifier: evidence and prior probability of rules.

    n, n_r       patients; those of them in stratum r
    L            conditions to choose from
    n_A, n_Ar    patients who satisfy a conjunction A, or any of a set of them; those in stratum r  (n_candidates,)
    q_r          base rate n_r / n
    s, p         strength of the prior in patients; its expected probability, by default q_r
    a, b         s p, s (1 - p)
    P(r | A)     ~ Beta(a + n_Ar, b + n_A - n_Ar)
    ell          length of A

    log evidence that matching and other patients have rates of their own, less that of one common rate:

        M(n_A, n_Ar) + M(n - n_A, n_r - n_Ar) - M(n, n_r),    M(m, k) = ln B(a + k, b + m - k) - ln B(a, b)

    log prior of A: its length is geometric, P(ell) proportional to 2^-ell, and all C(L, ell) conjunctions of a length
    are equally likely. The second part corrects for the number of candidates.

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
    """Log evidence of two rates against one, by lookup: a selection asks for millions."""

    def __init__(self, n: int, n_r: int) -> None:
        self._n, self._n_r = n, n_r
        a, b = STRENGTH * n_r / n, STRENGTH * (1 - n_r / n)
        i = np.arange(n + 1)
        self._log_a, self._log_b, self._log_ab = gammaln(a + i), gammaln(b + i), gammaln(a + b + i)
        self._common = betaln(a, b) + betaln(a + n_r, b + n - n_r)

    def __call__(self, n_A: Count, n_Ar: Count) -> NDArray[np.float64]:
        """Log evidence, shape = (n_candidates,): above 0 if the data support a difference, 0 if nobody matches."""
        matching = self._log_beta(np.asarray(n_A), np.asarray(n_Ar))
        others = self._log_beta(self._n - np.asarray(n_A), self._n_r - np.asarray(n_Ar))
        evidence: NDArray[np.float64] = matching + others - self._common
        return evidence

    def _log_beta(self, m: NDArray[np.integer], k: NDArray[np.integer]) -> NDArray[np.float64]:
        """ln B(a + k, b + m - k)."""
        log_beta: NDArray[np.float64] = self._log_a[k] + self._log_b[m - k] - self._log_ab[m]
        return log_beta


def log_prior(n_conditions: int) -> NDArray[np.float64]:
    """Log prior of a conjunction by its length, shape = (MAX_LENGTH + 1,); 0 at length 0."""
    ell = np.arange(1, MAX_LENGTH + 1)
    log_length = -ell * np.log(2) - np.log((0.5**ell).sum())
    L = max(n_conditions, MAX_LENGTH)
    log_choose = gammaln(L + 1) - gammaln(ell + 1) - gammaln(L - ell + 1)
    return np.append(0.0, log_length - log_choose)


def posterior(n_A: float, n_Ar: float, p: float, s: float = STRENGTH) -> StratumProbability:
    """Posterior of P(r | A), with the prior's expected probability p in (0, 1) and strength s > 0 in patients."""
    a, b = s * p + n_Ar, s * (1 - p) + n_A - n_Ar
    tail = (1 - LEVEL) / 2
    lower, upper = betaincinv(a, b, [tail, 1 - tail])
    return StratumProbability(a / (a + b), float(lower), float(upper))


def raises_odds(n_A: Count, n_Ar: Count, q_r: float, least: float) -> NDArray[np.bool_]:
    """Test whether the odds of each posterior mean are at least `least` times those of the base rate."""
    in_stratum, outside = STRENGTH * q_r + n_Ar, STRENGTH * (1 - q_r) + n_A - n_Ar
    return np.asarray(in_stratum * (1 - q_r) >= least * outside * q_r)
