"""Decompositions: partitions of the algorithms into subspaces, and their prior.

======  ========================================================================  ============  =======
symbol  meaning                                                                   shape         range
======  ========================================================================  ============  =======
z       label of every algorithm's subspace                                       (n_alg,)      0..M-1
n_m     number of algorithms in subspace m                                        (M,)          0..n_alg
gamma   symmetric Dirichlet parameter; G = M gamma                                scalar        > 0
======  ========================================================================  ============  =======

One mixing proportion alpha is shared by all stages; integrated out,

    log P(z) = lnGamma(G) - lnGamma(n + G) + sum_m [lnGamma(n_m + gamma) - lnGamma(gamma)]

The labels of z are exchangeable: what is reported and compared is the partition.

References
----------
Sheet autoprognosis.md, "Decomposition prior and Gibbs sampler"; Alaa & van der Schaar 2018, eq. 6.
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
    """A partition of algorithms.

    Attributes
    ----------
    subspaces : tuple of tuple of str
        Keys of the algorithms (`prediction/xgboost`) of each subspace, none empty. Made by `from_labels` they are in
        canonical order, so that equal partitions are equal objects.
    """

    subspaces: tuple[tuple[str, ...], ...]

    @classmethod
    def from_labels(cls, keys: Sequence[str], labels: NDArray[np.int64]) -> Decomposition:
        """The partition that labels stand for.

        Parameters
        ----------
        keys : sequence of str, length n_alg
            The algorithms, in their fixed order.
        labels : ndarray of int, shape = (n_alg,)
            Their subspaces; any numbering.

        Returns
        -------
        Decomposition
            Algorithms in the order of `keys`, subspaces in that of their first algorithms.
        """
        members: dict[int, list[str]] = {}
        for key, label in zip(keys, labels.tolist(), strict=True):
            members.setdefault(label, []).append(key)
        return cls(tuple(tuple(m) for m in members.values()))

    def labels(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Number of the subspace of each key, shape = (n_alg,)."""
        place = {key: m for m, members in enumerate(self.subspaces) for key in members}
        return np.array([place[key] for key in keys], dtype=np.int64)

    def to_json(self) -> dict[str, list[list[str]]]:
        """As JSON: {"subspaces": [[key, ...], ...]}."""
        return {"subspaces": [list(m) for m in self.subspaces]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Decomposition:
        """The inverse of `to_json`."""
        return cls(tuple(tuple(m) for m in document["subspaces"]))


def log_prior(sizes: NDArray[np.int64], concentration: float) -> float:
    """log P(z) of any labels with these sizes.

    Parameters
    ----------
    sizes : ndarray of int, shape = (M,)
        Number of algorithms in each subspace, empty ones included.
    concentration : float
        gamma.

    Returns
    -------
    float
        Log probability of one labelling, not of the partition.
    """
    total = concentration * len(sizes)
    occupancy = gammaln(sizes + concentration) - gammaln(concentration)
    return float(gammaln(total) - gammaln(sizes.sum() + total) + occupancy.sum())


def draw_labels(n_algorithms: int, subspaces: int, concentration: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels from the prior.

    Parameters
    ----------
    n_algorithms : int
        n.
    subspaces : int
        M.
    concentration : float
        gamma.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of int, shape = (n_algorithms,)
        z.
    """
    alpha = rng.dirichlet(np.full(subspaces, concentration))
    return rng.choice(subspaces, size=n_algorithms, p=alpha).astype(np.int64)


@dataclass(frozen=True, eq=False)
class DecompositionPrior:
    """P(z): the source's, and, where homes are given, with every algorithm drawn to its home.

        log P(z) = log P_source(z) + h sum_a [z_a = home_a] + constant

    Where groups are given each has mixing proportions of its own, and P_source is the product over the groups: eq. 8
    counts the algorithms of one stage.

    With homes labels are no longer exchangeable: a label is where its family lives. What a hundred evaluations tell of
    forty algorithms is little, and what is known of families before any is more.

    Attributes
    ----------
    subspaces : int
        M.
    concentration : float
        gamma.
    homes : ndarray of int, shape = (n_alg,), or None
        The label of each algorithm's family, below M; None for the source's prior.
    strength : float
        h, the log odds in favour of home, at least 0.
    groups : ndarray of int, shape = (n_alg,), or None
        The group of each algorithm; None for one of all.
    """

    subspaces: int
    concentration: float
    homes: NDArray[np.int64] | None = None
    strength: float = 0.0
    groups: NDArray[np.int64] | None = None

    def group_of(self, n_algorithms: int) -> NDArray[np.int64]:
        """The group of each algorithm, from 0."""
        return np.zeros(n_algorithms, dtype=np.int64) if self.groups is None else self.groups

    def sizes(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Algorithms of each group in each subspace, shape = (n_groups, M)."""
        group_of = self.group_of(len(labels))
        counted = np.bincount(group_of * self.subspaces + labels, minlength=(group_of.max() + 1) * self.subspaces)
        return counted.reshape(-1, self.subspaces)

    def log_density(self, labels: NDArray[np.int64]) -> float:
        """log P(z) up to a constant; `labels` is z, shape = (n_alg,)."""
        at_home = 0 if self.homes is None else int((labels == self.homes).sum())
        of_groups = sum(log_prior(sizes, self.concentration) for sizes in self.sizes(labels))
        return of_groups + self.strength * at_home

    def log_weights(self, a: int, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """log P(z_a = m | the other labels) up to a constant, by m.

        Parameters
        ----------
        a : int
            The algorithm.
        sizes : ndarray of int, shape = (M,)
            Number of the other algorithms in each subspace.

        Returns
        -------
        ndarray, shape = (M,)
            Unnormalised log probabilities.
        """
        weights: NDArray[np.float64] = np.log(sizes + self.concentration)
        if self.homes is not None:
            weights[self.homes[a]] += self.strength
        return weights

    def start(self, n_algorithms: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Where a chain begins, shape = (n_algorithms,): at home, or drawn from the source's prior."""
        if self.homes is not None:
            return self.homes.copy()
        return self.draw(n_algorithms, rng)

    def draw(self, n_algorithms: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Labels from the source's prior, shape = (n_algorithms,)."""
        group_of = self.group_of(n_algorithms)
        labels = np.empty(n_algorithms, dtype=np.int64)
        for group in np.unique(group_of).tolist():
            of_group = group_of == group
            labels[of_group] = draw_labels(int(of_group.sum()), self.subspaces, self.concentration, rng)
        return labels


def co_membership(samples: Sequence[Decomposition], keys: Sequence[str]) -> NDArray[np.float64]:
    """How often two algorithms share a subspace.

    Parameters
    ----------
    samples : sequence of Decomposition, at least 1
        Draws from the posterior.
    keys : sequence of str, length n_alg
        The algorithms, in the order of rows and columns.

    Returns
    -------
    ndarray, shape = (n_alg, n_alg)
        Frequencies in [0, 1]; 1 on the diagonal.
    """
    labels = np.array([sample.labels(keys) for sample in samples])
    frequencies: NDArray[np.float64] = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    return frequencies
