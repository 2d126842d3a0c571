"""Which features to look at, when all that is known is whether predictions from such features were right.

========  ===================================================================  =======
symbol    meaning                                                              shape
========  ===================================================================  =======
d, M      number of features, and of those that are seen a round               scalars
n, r      rounds in which a feature was seen, and the rewards of these         (d,)
theta     draw of a feature's mean reward, Beta(a0 + r, b0 + n - r)            (d,)
========  ===================================================================  =======

A round plays the subset S that maximises the sum of theta over S: the M largest, unless a family of subsets is given by
the function that finds its maximum. All features of S share the reward. That the best subset maximises the sum of the
features' mean rewards is true of additive rewards, and mostly not of others.

References
----------
Thompson Sampling for Combinatorial Bandits and Its Application to Online Feature Selection, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
Subset = NDArray[np.intp]
Constraint = Callable[[_Floats], Subset]


class Selector(Protocol):
    """Chooses features."""

    def select(self, rng: np.random.Generator) -> Subset:
        """Features to look at, ascending."""

    def best(self) -> Subset:
        """The features that are thought best, without exploring."""

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:
        """Learn the reward of a subset."""

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""


def largest(values: _Floats, M: int) -> Subset:
    """Indices of the M largest values, ascending; of equals the lowest."""
    order: Subset = np.argsort(-values, kind="stable")[:M]
    return np.sort(order)


class ThompsonSelector:
    """Thompson sampling over subsets.

    Parameters
    ----------
    n_features : int
        d.
    subset_size : int
        M.
    prior : (float, float)
        a0 and b0, above 0.
    constraint : callable (ndarray, shape = (d,)) -> ndarray of int, or None
        The feasible subset of the largest sum of the values given; None for the M largest.
    """

    def __init__(
        self, n_features: int, subset_size: int, prior: tuple[float, float], constraint: Constraint | None = None
    ) -> None:
        self.n = np.zeros(n_features, dtype=np.int64)
        self.r = np.zeros(n_features, dtype=np.int64)
        self.prior = prior
        self._maximise = constraint or (lambda values: largest(values, subset_size))

    def select(self, rng: np.random.Generator) -> Subset:
        """Draw theta and take its best subset."""
        a0, b0 = self.prior
        return np.sort(self._maximise(rng.beta(a0 + self.r, b0 + (self.n - self.r))))

    def best(self) -> Subset:
        """The best subset by posterior means."""
        a0, b0 = self.prior
        return np.sort(self._maximise((a0 + self.r) / (a0 + b0 + self.n)))

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:
        """Learn the reward of a subset.

        Parameters
        ----------
        seen : ndarray of int
            Its features.
        r : float
            The reward; what is neither 0 nor 1 is clipped to [0, 1] and made one of the two by a coin.
        rng : numpy.random.Generator
            Source of the coin.
        """
        whole = int(r) if r in {0, 1} else int(rng.random() < min(1.0, max(0.0, r)))
        self.n[seen] += 1
        self.r[seen] += whole

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {"n": self.n.tolist(), "r": self.r.tolist()}

    def load(self, document: Mapping[str, Any]) -> None:
        """Take over the state that `to_json` wrote."""
        self.n, self.r = np.array(document["n"], dtype=np.int64), np.array(document["r"], dtype=np.int64)


class RandomSelector:
    """A yardstick: M features at random, or all of them.

    Parameters
    ----------
    n_features : int
        d.
    subset_size : int
        M.
    """

    def __init__(self, n_features: int, subset_size: int) -> None:
        self._d, self._M = n_features, subset_size

    def select(self, rng: np.random.Generator) -> Subset:
        """M features at random."""
        return random_subset(self._d, self._M, rng)

    def best(self) -> Subset:
        """The first M features: none is thought better."""
        return np.arange(self._M)

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:
        """Nothing is learnt."""

    def to_json(self) -> dict[str, Any]:
        """No state."""
        return {}

    def load(self, document: Mapping[str, Any]) -> None:
        """Nothing to take over."""


def random_subset(d: int, M: int, rng: np.random.Generator) -> Subset:
    """M of d features at random, ascending."""
    if d == M:
        return np.arange(d)
    subset: Subset = np.sort(rng.permutation(d)[:M])
    return subset
