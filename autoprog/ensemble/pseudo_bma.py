"""Pseudo Bayesian model averaging: pipelines weighed by their log scores, and by how uncertain these are.

=======  =========================================================================================  =========
symbol   meaning                                                                                    shape
=======  =========================================================================================  =========
l        log score of each pipeline for each patient, see `log_scores`                              (t, n)
c        how often each patient counts                                                              (n,)
e        sums of the log scores in a sample like this one: normal, with mean m and covariance V     (t,)
m        sum_i c_i l_i                                                                              (t,)
V        sum_i c_i (l_i - m / sum c) (l_i - m / sum c)'                                             (t, t)
r        patients with the rarer outcome; of event times, with the event                            scalar
tau      temperature, 8 (1 + 200 / r)                                                               scalar
pi       prior weight of each pipeline: three quarters are shared by those that were chosen before
         any score was seen, the rest by the others whose m is at least the median of theirs        (t,)
w        E pi_k exp(e_k / tau) / sum_j pi_j exp(e_j / tau)                                          (t,)
=======  =========================================================================================  =========

The log scores are out of fold: training sets overlap, and pipelines that learn from 80 % of the patients come closer
to each other with all of them, so that differences count for less than the number of patients says, and the less the
fewer patients there are; see `benchmarks/opening`. The longer a search, the more of its pipelines score well by luck
alone, which the prior is for. A Bayesian bootstrap of the patients, which the source draws e by, has the mean and
covariance that are given here; draws of the normal law cost nothing and can be made anew for every resample of the
patients.

References
----------
Yao, Vehtari, Simpson & Gelman 2018, Bayesian Analysis 13:917, section 3.4 (pseudo-BMA+, there
with tau = 1); Grünwald & van Ommen 2017, Bayesian Analysis 12:1069 (likelihoods raised to a power below 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

DRAWS = 400
_TEMPERATURE, _TEMPERATURE_RARER = 8.0, 200
# Prior weight of the pipelines that were chosen before any score was seen, together.
_BEFORE = 0.75

_Floats = NDArray[np.float64]


def temperature(rarer: int) -> float:
    """The temperature for so many patients with the rarer outcome, at least 1."""
    return _TEMPERATURE * (1 + _TEMPERATURE_RARER / rarer)


class PseudoBma:
    """Weights for however often the patients count.

    Parameters
    ----------
    l : ndarray, shape = (t, n)
        Log scores.
    rng : numpy.random.Generator
        Makes the draws, the same for whatever counts are given.
    tau : float
        Temperature, at least 1.
    before : ndarray of bool, shape = (t,), optional
        Which pipelines were chosen before any score was seen; all by default.
    """

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
        # Antithetic pairs: the mean of e is met exactly.
        half = rng.standard_normal((DRAWS // 2, len(l)))
        self._z = np.concatenate([half, -half])

    def __call__(self, c: NDArray[np.floating]) -> _Floats:
        """Weigh the pipelines.

        Parameters
        ----------
        c : ndarray, shape = (n,)
            At least 0.

        Returns
        -------
        ndarray, shape = (t,)
            Sums to 1.
        """
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
    """Prior weights of pipelines.

    Parameters
    ----------
    m : ndarray, shape = (t,)
        Sums of their log scores.
    before : ndarray of bool, shape = (t,)
        Which were chosen before any score was seen.

    Returns
    -------
    ndarray, shape = (t,)
        pi; sums to 1.
    """
    if not before.any():
        return np.full(len(m), 1.0 / len(m))
    others = ~before & (m >= np.median(m[before]))
    share = _BEFORE if others.any() else 1.0
    return np.where(before, share / before.sum(), np.where(others, (1 - share) / max(1, others.sum()), 0.0))
