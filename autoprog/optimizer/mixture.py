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

Draws from the posterior of the decompositions count alike. Draws from their prior may count by their likelihood:

    w_s ~ P(y | z_s)
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
    """The averaged surrogate of a belief.

    Parameters
    ----------
    belief : SurrogateState
        Observations and numbers.
    samples : sequence of ndarray of int, at least 1
        Decompositions, shape = (n_alg,) each.
    by_likelihood : bool
        Whether they are draws from the prior, to be weighted by their marginal likelihood.

    Attributes
    ----------
    belief : SurrogateState
        As given.
    surrogates : list of Surrogate
        One a distinct decomposition.
    """

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
        """The evaluated pipelines that succeeded, the greatest posterior mean first.

        Returns
        -------
        configurations : list of Configuration
            At least 1.
        best : float
            Posterior mean of the first: what an evaluation has to improve on.
        """
        evaluations, succeeded = self.belief.observations.evaluations, self.belief.observations.succeeded
        mean, _ = self.marginal(self.belief.points)
        order = [i for i in np.argsort(-mean, kind="stable").tolist() if succeeded[i]]
        return [evaluations[i].configuration for i in order], float(mean[order[0]])

    def resampled(self, n: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """Draw decompositions by their weights.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        list of ndarray of int
            Labels, shape = (n_alg,) each.
        """
        return [self._labels[s] for s in rng.choice(len(self._labels), size=n, p=self._weights)]

    def marginal(self, points: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and standard deviation of each true gain.

        Parameters
        ----------
        points : Points, p of them
            The pipelines.

        Returns
        -------
        mean, sd : ndarray, shape = (p,)
            Of standardised gains, without noise.
        """
        mean, sd = self._without_trend(points)
        return mean + self.belief.trend.at(points), sd

    def draws(self, points: Points, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw true gains together.

        Parameters
        ----------
        points : Points, p of them
            The pipelines.
        n : int
            How many draws.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        ndarray, shape = (n, p)
            Of standardised gains, without noise; each under one of the decompositions, by their weights.
        """
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
        """Take the posterior means of pipelines for their observed gains: what is not yet evaluated need not repeat.

        Parameters
        ----------
        points : Points
            Pipelines that will be evaluated; with none nothing changes.
        """
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
