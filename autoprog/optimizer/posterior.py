"""What a search knows at its end: joint draws of decompositions and of the explored pipelines' performances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.decomposition import Decomposition, co_membership
from autoprog.optimizer.observations import Observations


@dataclass(frozen=True, eq=False)
class Posterior:
    """P(z, f | H) at the succeeded evaluations: `f` given each drawn `z` is normal.

    Attributes
    ----------
    numbers : tuple of int, length t
        The evaluations; those that the surrogate left out of a long history are missing.
    means : ndarray, shape = (n_draws, t)
        Of the true standardised gains, more is better.
    covariances : ndarray, shape = (n_draws, t, t)
        Of the same, without noise.
    decompositions : tuple of Decomposition, length n_draws
        Draws of z by Gibbs sampling.
    best : Decomposition
        The MAP decomposition: the most probable one that the chain visited.
    keys : tuple of str
        All algorithms in play.
    observations : Observations, n of them
        What it is given, failures among them.
    smoothers : ndarray, shape = (n_draws, t, n)
        `means` are these times the observed y: kernel and decompositions held, another y moves nothing else.
    """

    numbers: tuple[int, ...]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
    decompositions: tuple[Decomposition, ...]
    best: Decomposition
    keys: tuple[str, ...]
    observations: Observations
    smoothers: NDArray[np.float64]

    def means_given(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Posterior means, had the evaluations had other gains.

        Parameters
        ----------
        gains : ndarray, shape = (b, t)
            Of `numbers`, b times; more is better, in the unit of the score.

        Returns
        -------
        ndarray, shape = (b, n_draws, t)
            Of the true standardised gains, under the same kernel, noise and decompositions.
        """
        y = self.observations.revised(gains)
        n_draws, t, n = self.smoothers.shape
        return (y @ self.smoothers.reshape(n_draws * t, n).T).reshape(len(y), n_draws, t)

    def co_membership(self) -> NDArray[np.float64]:
        """How often two algorithms share a subspace, shape = (n_alg, n_alg), in the order of `keys`."""
        return co_membership(self.decompositions, self.keys)

    def to_json(self) -> dict[str, Any]:
        """The decomposition as the API shows it: the MAP subspaces, and co-membership frequencies over `algorithms`."""
        return {
            "subspaces": [{"algorithms": list(members)} for members in self.best.subspaces],
            "co_membership": {
                "algorithms": list(self.keys),
                "frequencies": np.round(self.co_membership(), 4).tolist(),
            },
        }
