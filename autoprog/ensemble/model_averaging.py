"""Bayesian model averaging over the explored pipelines.

    z       a decomposition, drawn by Gibbs sampling                                              -             -
    f       true gains of the t explored pipelines given z: normal, with their full covariance    (t,)          real
    e       f less its mean                                                                       (t,)          real
    w_i     sum_z P(z | H) P(f_i = max_j f_j | z, H)                                              (t,)          [0, 1]

Similar pipelines share their weight: of two with correlation .999 and an independent third with the same mean, the
third has one half. The law of e does not depend on the observed gains, so its draws serve for any gains.

References
----------
Alaa & van der Schaar 2018, AutoPrognosis, ICML, eq. 9.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer import Posterior

MAX_MEMBERS = 20
MIN_WEIGHT = 1e-3

_DRAWS = 20_000
# Draws for weights that are computed hundreds of times, so that their errors average out.
_DRAWS_REVISED = 2_000


def best_probabilities(
    means: NDArray[np.float64], covariances: NDArray[np.float64], rng: np.random.Generator, draws: int = _DRAWS
) -> NDArray[np.float64]:
    """Simulate the probability of each pipeline to be the best.

    Parameters
    ----------
    means, covariances
        Posterior of the gains under each drawn decomposition, (n_z, t) and (n_z, t, t).
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        Draws over all decompositions; the standard error of a weight is at most .5 / sqrt(draws).

    Returns
    -------
    ndarray, shape = (t,)
        Sums to 1.
    """
    each = -(-draws // len(means))
    wins = np.zeros(means.shape[1])
    for mean, covariance in zip(means, covariances, strict=True):
        f = mean + _deviations(covariance, each, rng)
        wins += np.bincount(f.argmax(axis=1), minlength=len(mean))
    weights: NDArray[np.float64] = wins / wins.sum()
    return weights


def _deviations(covariance: NDArray[np.float64], draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draws of e, shape = (draws, t)."""
    # Twin pipelines make the covariance singular up to rounding, on which Cholesky would fail.
    eigenvalues, vectors = np.linalg.eigh(covariance)
    # The symmetric root does not depend on which eigenvectors the library happens to choose.
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return np.asarray(rng.standard_normal((draws, len(covariance))) @ root, dtype=np.float64)


def thinned(weights: NDArray[np.float64], most: int = MAX_MEMBERS) -> NDArray[np.float64]:
    """Drop weights below `MIN_WEIGHT` or beyond the `most` largest, and normalise the rest; same shape."""
    kept = np.argsort(-weights, kind="stable")[:most]
    kept = kept[weights[kept] >= min(MIN_WEIGHT, weights.max())]
    left = np.zeros(len(weights))
    left[kept] = weights[kept] / weights[kept].sum()
    return left


class RevisedWeights:
    """Weights that model averaging would give for other gains, with the same kernel, decompositions and draws."""

    def __init__(
        self, posterior: Posterior, rng: np.random.Generator, most: int = MAX_MEMBERS, draws: int = _DRAWS_REVISED
    ) -> None:
        self._posterior = posterior
        self._most = most
        each = -(-draws // len(posterior.covariances))
        self._deviations = np.array([_deviations(c, each, rng) for c in posterior.covariances])

    def __call__(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights, rows summing to 1, for `gains` of `posterior.numbers`, both (b, t); more is better."""
        return np.array([self._weights(means) for means in self._posterior.means_given(gains)])

    def _weights(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        f = means[:, None, :] + self._deviations
        wins = np.bincount(f.argmax(axis=2).ravel(), minlength=means.shape[1])
        return thinned(wins / wins.sum(), self._most)
