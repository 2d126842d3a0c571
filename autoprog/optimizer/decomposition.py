"""Decompositions: partitions of the algorithms into subspaces, and their prior.

======  ========================================================================  ============  =======
symbol  meaning                                                                   shape         range
======  ========================================================================  ============  =======
z       label of every algorithm's subspace                                       (n_alg,)      0..M-1
n_m     number of algorithms in subspace m                                        (M,)          0..n_alg
gamma   symmetric Dirichlet parameter; G = M gamma                                scalar        > 0
home_a  label of the family of algorithm a                                        (n_alg,)      0..M-1
h       log odds in favour of home                                                scalar        >= 0
======  ========================================================================  ============  =======

The source's prior has one mixing proportion alpha, shared by all stages. Integrated out,

    log P_source(z) = lnGamma(G) - lnGamma(n + G) + sum_m [lnGamma(n_m + gamma) - lnGamma(gamma)]

Its labels are exchangeable; reports and comparisons use the partition. With groups (eq. 8: stages) each group has
mixing proportions of its own, and P_source is the product over groups. With homes labels are not exchangeable:

    log P(z) = log P_source(z) + h sum_a [z_a = home_a] + constant

A hundred evaluations tell little about forty algorithms; their families are known before any.

References
----------
Alaa & van der Schaar 2018, ICML, eq. 6 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A partition of algorithms: the keys (`prediction/xgboost`) of each subspace, none empty."""

    subspaces: tuple[tuple[str, ...], ...]

    @classmethod
    def from_labels(cls, keys: Sequence[str], labels: NDArray[np.int64]) -> Decomposition:
        """Make the partition of any labelling of `keys`; equal partitions are equal objects."""
        # Algorithms keep the order of `keys`, and subspaces that of their first algorithms.
        members: dict[int, list[str]] = {}
        for key, label in zip(keys, labels.tolist(), strict=True):
            members.setdefault(label, []).append(key)
        return cls(tuple(tuple(m) for m in members.values()))

    def labels(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Index of each key's subspace, shape = (n_alg,)."""
        place = {key: m for m, members in enumerate(self.subspaces) for key in members}
        return np.array([place[key] for key in keys], dtype=np.int64)

    def to_json(self) -> dict[str, list[list[str]]]:
        """Convert to JSON: {"subspaces": [[key, ...], ...]}."""
        return {"subspaces": [list(m) for m in self.subspaces]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Decomposition:
        """Read the document of `to_json`."""
        return cls(tuple(tuple(m) for m in document["subspaces"]))


def log_prior(sizes: NDArray[np.int64], concentration: float) -> float:
    """log P_source of one labelling, not of the partition; `sizes` is n_m, empty subspaces included."""
    total = concentration * len(sizes)
    occupancy = gammaln(sizes + concentration) - gammaln(concentration)
    return float(gammaln(total) - gammaln(sizes.sum() + total) + occupancy.sum())


def draw_labels(n_algorithms: int, subspaces: int, concentration: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw z from the source's prior."""
    alpha = rng.dirichlet(np.full(subspaces, concentration))
    return rng.choice(subspaces, size=n_algorithms, p=alpha).astype(np.int64)


@dataclass(frozen=True, eq=False)
class DecompositionPrior:
    """P(z): the source's prior, or one in which algorithms prefer the subspace of their family."""

    subspaces: int  # M
    concentration: float  # gamma
    homes: NDArray[np.int64] | None = None  # shape = (n_alg,); None for the source's prior
    strength: float = 0.0  # h
    groups: NDArray[np.int64] | None = None  # shape = (n_alg,); None for one group

    def group_of(self, n_algorithms: int) -> NDArray[np.int64]:
        """Group of each algorithm, from 0."""
        return np.zeros(n_algorithms, dtype=np.int64) if self.groups is None else self.groups

    def sizes(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the algorithms of each group in each subspace, shape = (n_groups, M)."""
        group_of = self.group_of(len(labels))
        counted = np.bincount(group_of * self.subspaces + labels, minlength=(group_of.max() + 1) * self.subspaces)
        return counted.reshape(-1, self.subspaces)

    def log_density(self, labels: NDArray[np.int64]) -> float:
        """log P(z) up to a constant."""
        at_home = 0 if self.homes is None else int((labels == self.homes).sum())
        of_groups = sum(log_prior(sizes, self.concentration) for sizes in self.sizes(labels))
        return of_groups + self.strength * at_home

    def log_weights(self, a: int, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """log P(z_a = m | the other labels) up to a constant, shape = (M,); `sizes` counts the other algorithms."""
        weights: NDArray[np.float64] = np.log(sizes + self.concentration)
        if self.homes is not None:
            weights[self.homes[a]] += self.strength
        return weights

    def start(self, n_algorithms: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The chain's first labels, shape = (n_algorithms,): the homes, or a draw from the source's prior."""
        if self.homes is not None:
            return self.homes.copy()
        return self.draw(n_algorithms, rng)

    def draw(self, n_algorithms: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw labels from the source's prior, shape = (n_algorithms,)."""
        group_of = self.group_of(n_algorithms)
        labels = np.empty(n_algorithms, dtype=np.int64)
        for group in np.unique(group_of).tolist():
            of_group = group_of == group
            labels[of_group] = draw_labels(int(of_group.sum()), self.subspaces, self.concentration, rng)
        return labels


def co_membership(samples: Sequence[Decomposition], keys: Sequence[str]) -> NDArray[np.float64]:
    """Frequency with which two algorithms share a subspace, shape = (n_alg, n_alg), in the order of `keys`."""
    labels = np.array([sample.labels(keys) for sample in samples])
    frequencies: NDArray[np.float64] = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    return frequencies
