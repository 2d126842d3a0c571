"""The random data model of the source: queries that tell groups apart, and objects of a group from each other.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, section V.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def partition(objects: int, groups: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random partition into groups of equal size, as near as can be."""
    return rng.permutation(np.arange(objects) % groups)


def responses(
    group_of: NDArray[np.int64],
    within: NDArray[np.float64],
    between: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Responses of objects to queries with these probabilities of agreement, shape (objects, queries)."""
    groups = int(group_of.max()) + 1
    x = rng.random(len(between)) < 0.5
    b = x ^ (rng.random((groups, len(between))) >= between)
    return b[group_of] ^ (rng.random((len(group_of), len(within))) >= within)


def agreement(beta: float, queries: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(1 + Beta(1, beta)) / 2 for each query."""
    return (1.0 + rng.beta(1.0, beta, size=queries)) / 2.0


def zipf(objects: int, delta: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """j^-delta, normalised, in random order."""
    prior = np.arange(1.0, objects + 1.0) ** -delta
    return rng.permutation(prior / prior.sum())
