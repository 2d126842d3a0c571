"""Pseudo Bayesian model averaging: pipelines are weighed by their log scores and the uncertainty of these.

    l        log score of each pipeline for each patient                              (t, n)
    c        how often each patient counts                                                              (n,)
    e        sums of the log scores in a sample like this one: normal, with mean m and covariance V     (t,)
    m        sum_i c_i l_i                                                                              (t,)
    V        sum_i c_i (l_i - m / sum c) (l_i - m / sum c)'                                             (t, t)
    r        patients with the rarer outcome; of event times, with the event                            scalar
    tau      temperature, 8 (1 + 200 / r)                                                               scalar
    pi       prior weight of each pipeline: three quarters are shared by those that were chosen before
             any score was seen, the rest by the others whose m is at least the median of theirs        (t,)
    w        E pi_k exp(e_k / tau) / sum_j pi_j exp(e_j / tau)                                          (t,)

Out of fold, training sets overlap, and pipelines that learn from 80 % of the patients differ more than with all of
them. So differences count for less than the number of patients suggests, and the less the fewer patients there are; see
`benchmarks/opening`. In a longer search more pipelines score well by luck, which the prior offsets. The source draws e
by a Bayesian bootstrap; normal draws with the same mean and covariance cost nothing and can be repeated per resample.

Probability that each pipeline gave, out of fold, to each patient's outcome.

p        out-of-fold risks of the pipelines                                                         (t, n) or (t, n, T)
q        probability of each patient's outcome, by each pipeline                                    (t, n)
l        log q                                                                                      (t, n)

With event times q is the probability of the event of interest in the interval in which it came, or of none until the
end of follow-up. A patient who had another event first is known never to have it.

References
----------
Yao, Vehtari, Simpson & Gelman 2018, Bayesian Analysis 13:917, section 3.4 (pseudo-BMA+, there
with tau = 1); Grünwald & van Ommen 2017, Bayesian Analysis 12:1069 (likelihoods raised to a power below 1).
Good (1952), J. R. Stat. Soc. B 14:107; of censored times: Yanagisawa (2023), ICML (proper scores of intervals).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

DRAWS = 400
_TEMPERATURE, _TEMPERATURE_RARER = 8.0, 200
# Total prior weight of the pipelines that were chosen before any score was seen.
_BEFORE = 0.75

_Floats = NDArray[np.float64]


def temperature(rarer: int) -> float:
    """tau for this number of patients with the rarer outcome, at least 1."""
    return _TEMPERATURE * (1 + _TEMPERATURE_RARER / rarer)


class PseudoBma:
    """Weights for log scores l and any counts c, from the same draws; by default all have the same prior."""

    def __init__(
        self,
        l: _Floats,  # noqa: E741  the table's symbol
        rng: np.random.Generator,
        tau: float,
        before: NDArray[np.bool_] | None = None,
    ) -> None:
        self._l = l
        self._tau = tau
        self._before = np.ones(len(l), dtype=np.bool_) if before is None else before
        # Antithetic pairs make the mean of e exact.
        half = rng.standard_normal((DRAWS // 2, len(l)))
        self._z = np.concatenate([half, -half])

    def __call__(self, c: NDArray[np.floating]) -> _Floats:
        """Weights of the pipelines, summing to 1."""
        m = self._l @ c
        deviations = self._l - (m / c.sum())[:, None]
        eigenvalues, vectors = np.linalg.eigh((deviations * c) @ deviations.T)
        # The symmetric root does not depend on which eigenvectors the library happens to choose.
        root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
        prior = prior_weights(m, self._before)
        admitted = prior > 0
        e = (m + self._z @ root)[:, admitted]
        weights = np.zeros(len(m))
        weights[admitted] = softmax(e / self._tau + np.log(prior[admitted]), axis=1).mean(axis=0)
        return weights


def prior_weights(m: _Floats, before: NDArray[np.bool_]) -> _Floats:
    """pi, summing to 1; `before` marks the pipelines that were chosen before any score was seen."""
    if not before.any():
        return np.full(len(m), 1.0 / len(m))
    others = ~before & (m >= np.median(m[before]))
    share = _BEFORE if others.any() else 1.0
    return np.where(before, share / before.sum(), np.where(others, (1 - share) / max(1, others.sum()), 0.0))
