"""Surrogates under several decompositions, averaged.

=======  ===========================================================================  ======
symbol   meaning                                                                      shape
=======  ===========================================================================  ======
mu_s     posterior mean under decomposition s                                         (S, p)
v_s      posterior variance under decomposition s                                     (S, p)
b m      trend, the prior mean                                                        (p,)
w_s      weight of decomposition s; they sum to 1                                      (S,)
mu       b m + mean over s of mu_s                                                    (p,)
v        mean over s of v_s + (b m + mu_s - mu)^2, by the law of total variance       (p,)
=======  ===========================================================================  ======

Means over s are weighted by w_s. Draws from the posterior of the decompositions have equal weights. Draws from their
prior may be weighted by their likelihood, w_s ~ P(y | z_s).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from autoprog.optimizer.encoding import Points
from autoprog.optimizer.surrogate import Surrogate, cholesky
from autoprog.optimizer.surrogate_state import SurrogateState
from autoprog.space import Configuration


class Mixture:
    """The averaged surrogate, with one `Surrogate` a distinct decomposition."""

    def __init__(
        self, belief: SurrogateState, samples: Sequence[NDArray[np.int64]], *, by_likelihood: bool = False
    ) -> None:
        distinct, counts = np.unique(np.array(samples), axis=0, return_counts=True)
        self.belief = belief
        self._labels = distinct
        self._weights: NDArray[np.float64] = counts / counts.sum()
        self._points, self._y = belief.points, belief.y
        self._fit()
        if by_likelihood:
            log_weights = np.log(self._weights) + [surrogate.log_likelihood for surrogate in self.surrogates]
            self._weights = softmax(log_weights)

    def incumbents(self) -> tuple[list[Configuration], float]:
        """Rank the succeeded pipelines by posterior mean, best first; return them and the first one's mean."""
        evaluations, succeeded = self.belief.observations.evaluations, self.belief.observations.succeeded
        mean, _ = self.marginal(self.belief.points)
        order = [i for i in np.argsort(-mean, kind="stable").tolist() if succeeded[i]]
        return [evaluations[i].configuration for i in order], float(mean[order[0]])

    def resampled(self, n: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """Draw labels of n decompositions by their weights."""
        return [self._labels[s] for s in rng.choice(len(self._labels), size=n, p=self._weights)]

    def marginal(self, points: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and sd of each true gain, standardised and without noise, shape = (p,) each."""
        mean, sd = self._without_trend(points)
        return mean + self.belief.trend.at(points), sd

    def draws(self, points: Points, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw true gains jointly, shape = (n, p), each draw under one decomposition, chosen by weight."""
        drawn = np.empty((n, len(points)))
        of = rng.choice(len(self.surrogates), size=n, p=self._weights)
        for s in np.unique(of).tolist():
            mean, covariance = self.surrogates[s].joint(points)
            z = rng.standard_normal((int((of == s).sum()), len(points)))
            drawn[of == s] = mean + z @ cholesky(covariance).T
        return drawn + self.belief.trend.at(points)

    def _without_trend(self, points: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        moments = [surrogate.marginal(points) for surrogate in self.surrogates]
        means, variances = (np.array(part) for part in zip(*moments, strict=True))
        mean = self._weights @ means
        return mean, np.sqrt(self._weights @ (variances + (means - mean) ** 2))

    def believe(self, points: Points) -> None:
        """Add pending pipelines as observations at their posterior means, so that proposals do not repeat them."""
        if not len(points):
            return
        mean, _ = self._without_trend(points)
        self._points = self._points.followed_by(points)
        self._y = np.concatenate([self._y, mean])
        self._fit()

    def _fit(self) -> None:
        self.surrogates = [
            Surrogate(
                self._points,
                self._y,
                labels,
                self.belief.prior.subspaces,
                owner=self.belief.encoding.owner,
                parameters=self.belief.parameters,
            )
            for labels in self._labels
        ]
