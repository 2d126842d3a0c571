"""A search's final knowledge: joint draws of decompositions and of the explored pipelines' performance."""

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
        The evaluations, without those that the surrogate left out of a long history.
    means : ndarray, shape = (n_draws, t)
        Means of the true standardised gains; more is better.
    covariances : ndarray, shape = (n_draws, t, t)
        Covariances of the true standardised gains, without noise.
    decompositions : tuple of Decomposition, length n_draws
        Draws of z by Gibbs sampling.
    best : Decomposition
        The MAP decomposition: the most probable one that the chain visited.
    keys : tuple of str
        All algorithms in play.
    observations : Observations, n of them
        The surrogate's data, including failures.
    smoothers : ndarray, shape = (n_draws, t, n)
        Matrices that map the observed y to `means`, with kernel and decompositions held fixed.
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
        """Posterior means, shape = (b, n_draws, t), for other gains of `numbers`, shape = (b, t), in score units."""
        y = self.observations.revised(gains)
        n_draws, t, n = self.smoothers.shape
        return (y @ self.smoothers.reshape(n_draws * t, n).T).reshape(len(y), n_draws, t)

    def co_membership(self) -> NDArray[np.float64]:
        """Frequency with which two algorithms share a subspace, shape = (n_alg, n_alg), in the order of `keys`."""
        return co_membership(self.decompositions, self.keys)

    def to_json(self) -> dict[str, Any]:
        """Convert to the API's document: the MAP subspaces, and co-membership frequencies over `algorithms`."""
        return {
            "subspaces": [{"algorithms": list(members)} for members in self.best.subspaces],
            "co_membership": {
                "algorithms": list(self.keys),
                "frequencies": np.round(self.co_membership(), 4).tolist(),
            },
        }
