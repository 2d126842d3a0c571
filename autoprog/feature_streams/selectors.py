"""Selectors: choose features, knowing only whether predictions from earlier subsets were right.

    d, M      number of features, and of features seen per round                   scalars
    n, r      rounds in which a feature was seen, and the sum of their rewards     (d,)
    theta     draw of a feature's mean reward                                      (d,)
    m, s      mean and standard deviation of the normal prior of a mean reward     scalars
    sigma     standard deviation of a reward around its mean                       scalar

    Bernoulli   theta ~ Beta(a0 + r, b0 + n - r);  other rewards are made 0 or 1 by a coin
    Gaussian    theta ~ N((m / s^2 + r / sigma^2) / q, 1 / q),  q = 1 / s^2 + n / sigma^2;  any real reward

A round plays the subset S with the largest sum of theta: the M largest, unless a family of subsets is given (`Family`,
or the function that finds its maximum). All features of S share the reward. The best subset has the largest sum of mean
rewards only if rewards are additive, and mostly not otherwise.

References
----------
Thompson Sampling for Combinatorial Bandits and Its Application to Online Feature Selection, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
Subset = NDArray[np.intp]
Constraint = Callable[[_Floats], Subset]


class Selector(Protocol):
    """A chooser of features."""

    def select(self, rng: np.random.Generator) -> Subset:
        """Features to look at, ascending."""

    def best(self) -> Subset:
        """The features thought best, without exploring."""

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:
        """Learn the reward of a subset."""

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""

    def load(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `to_json` wrote."""


def largest(values: _Floats, M: int) -> Subset:
    """Indices of the M largest values, ascending; among equals the lowest."""
    order: Subset = np.argsort(-values, kind="stable")[:M]
    return np.sort(order)


class ThompsonSelector:
    """Thompson sampling over subsets with a Bernoulli likelihood.

    Parameters
    ----------
    n_features, subset_size : int, d and M
    prior : (float, float), a0 and b0, above 0
    constraint : callable (ndarray, shape = (d,)) -> ndarray of int, or None
        Returns the feasible subset with the largest sum of the given values; None for the M largest.
    """

    def __init__(
        self, n_features: int, subset_size: int, prior: tuple[float, float], constraint: Constraint | None = None
    ) -> None:
        self.n = np.zeros(n_features, dtype=np.int64)
        self.r: NDArray[np.int64] | _Floats = np.zeros(n_features, dtype=np.int64)
        self.prior = prior
        self._maximise = constraint or (lambda values: largest(values, subset_size))

    def select(self, rng: np.random.Generator) -> Subset:
        """Draw theta and return its best subset."""
        return np.sort(self._maximise(self._draw(rng)))

    def best(self) -> Subset:
        """The best subset by posterior means."""
        return np.sort(self._maximise(self._means()))

    def _draw(self, rng: np.random.Generator) -> _Floats:
        a0, b0 = self.prior
        return rng.beta(a0 + self.r, b0 + (self.n - self.r))

    def _means(self) -> _Floats:
        a0, b0 = self.prior
        means: _Floats = (a0 + self.r) / (a0 + b0 + self.n)
        return means

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:
        """Learn the reward of a subset; clip any other than 0 and 1 to [0, 1] and make it 0 or 1 by a coin."""
        whole = int(r) if r in {0, 1} else int(rng.random() < min(1.0, max(0.0, r)))
        self.n[seen] += 1
        self.r[seen] += whole

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return {"n": self.n.tolist(), "r": self.r.tolist()}

    def load(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `to_json` wrote."""
        self.n, self.r = np.array(document["n"], dtype=np.int64), np.array(document["r"], dtype=np.int64)


class GaussianThompsonSelector(ThompsonSelector):
    """Thompson sampling over subsets with a Gaussian likelihood, for any real rewards.

    Parameters
    ----------
    n_features, subset_size : int, d and M
    prior : (float, float), m and s; s above 0
    noise : float, sigma, above 0
    constraint : callable or None, as for `ThompsonSelector`
    """

    def __init__(
        self,
        n_features: int,
        subset_size: int,
        prior: tuple[float, float],
        noise: float,
        constraint: Constraint | None = None,
    ) -> None:
        super().__init__(n_features, subset_size, prior, constraint)
        self.r = np.zeros(n_features)
        self.noise = noise

    def _draw(self, rng: np.random.Generator) -> _Floats:
        return self._means() + rng.standard_normal(len(self.n)) / np.sqrt(self._precisions())

    def _means(self) -> _Floats:
        m, s = self.prior
        means: _Floats = (m / s**2 + self.r / self.noise**2) / self._precisions()
        return means

    def _precisions(self) -> _Floats:
        precisions: _Floats = 1 / self.prior[1] ** 2 + self.n / self.noise**2
        return precisions

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:  # noqa: ARG002  nothing is drawn
        """Learn the reward of a subset, any finite number."""
        self.n[seen] += 1
        self.r[seen] += r

    def load(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `to_json` wrote."""
        self.n, self.r = np.array(document["n"], dtype=np.int64), np.array(document["r"], dtype=np.float64)


class GroupedSelector:
    """A selector whose arms are groups of features; every feature is in one group."""

    def __init__(self, arms: ThompsonSelector, groups: Sequence[Sequence[int]]) -> None:
        self.arms = arms
        self._group_of = np.empty(sum(map(len, groups)), dtype=np.intp)
        for g, features in enumerate(groups):
            self._group_of[list(features)] = g

    def select(self, rng: np.random.Generator) -> Subset:
        """Features of the groups that the arms play, ascending."""
        return np.flatnonzero(np.isin(self._group_of, self.arms.select(rng)))

    def best(self) -> Subset:
        """Features of the groups thought best."""
        return np.flatnonzero(np.isin(self._group_of, self.arms.best()))

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:
        """Learn the reward of all groups with a seen feature."""
        self.arms.reward(np.unique(self._group_of[seen]), r, rng)

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object."""
        return self.arms.to_json()

    def load(self, document: Mapping[str, Any]) -> None:
        """Restore the state that `to_json` wrote."""
        self.arms.load(document)


class RandomSelector:
    """A baseline that chooses `subset_size` features at random, or all of them."""

    def __init__(self, n_features: int, subset_size: int) -> None:
        self._d, self._M = n_features, subset_size

    def select(self, rng: np.random.Generator) -> Subset:
        """M features at random."""
        return random_subset(self._d, self._M, rng)

    def best(self) -> Subset:
        """The first M features: none is thought better."""
        return np.arange(self._M)

    def reward(self, seen: Subset, r: float, rng: np.random.Generator) -> None:
        """Do nothing."""

    def to_json(self) -> dict[str, Any]:
        """No state."""
        return {}

    def load(self, document: Mapping[str, Any]) -> None:
        """Do nothing."""


def random_subset(d: int, M: int, rng: np.random.Generator) -> Subset:
    """M of d features at random, ascending."""
    if d == M:
        return np.arange(d)
    subset: Subset = np.sort(rng.permutation(d)[:M])
    return subset
