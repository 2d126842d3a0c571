"""The cost of a tree, measured at its leaves.

=========  ===================================================================================================
symbol     meaning
=========  ===================================================================================================
pi_j       prior of the objects of leaf j
d_j        cost of the queries asked before it: their number, if each costs 1
L_1        sum_j pi_j d_j, the expected cost
L_lambda   log_lambda sum_j pi_j lambda^d_j, the exponential cost, lambda > 1
L_inf      max_j d_j, the worst case
=========  ===================================================================================================

L_1 <= L_lambda <= L_inf, and L_lambda does not fall as lambda grows.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, section I.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class Costed(Protocol):
    """A tree of n nodes, whose queries have two or more answers."""

    @property
    def leaves(self) -> _Ints:
        """Indices of the leaves."""

    @property
    def mass(self) -> _Floats:
        """Prior of each node, shape (n,)."""

    @property
    def paid(self) -> _Floats:
        """Cost of the queries before each node, shape (n,)."""

    @property
    def depth(self) -> _Ints:
        """Number of queries before each node, shape (n,)."""


def expected_cost(tree: Costed) -> float:
    """Compute the expected cost L_1 of a tree.

    Parameters
    ----------
    tree : Tree or MultiwayTree

    Returns
    -------
    float
        sum_j pi_j d_j over the leaves, at least 0, in the unit of the queries' costs.
    """
    return float(tree.mass[tree.leaves] @ tree.paid[tree.leaves])


def expected_queries(tree: Costed) -> float:
    """Compute the mean number of queries that a tree asks.

    Parameters
    ----------
    tree : Tree or MultiwayTree

    Returns
    -------
    float
        At least 0; L_1 if every query costs 1.
    """
    return float(tree.mass[tree.leaves] @ tree.depth[tree.leaves])


def worst_case_cost(tree: Costed) -> float:
    """Compute the worst-case cost L_inf of a tree.

    Parameters
    ----------
    tree : Tree or MultiwayTree

    Returns
    -------
    float
        max_j d_j over the leaves, at least 0, in the unit of the queries' costs.
    """
    return float(tree.paid[tree.leaves].max())


def exponential_cost(tree: Costed, base: float) -> float:
    """Compute the exponential cost L_lambda of a tree.

    Parameters
    ----------
    tree : Tree or MultiwayTree
    base : float
        lambda, at least 1; 1 gives L_1, `math.inf` gives L_inf.

    Returns
    -------
    float
        log_lambda sum_j pi_j lambda^d_j, between L_1 and L_inf.

    Raises
    ------
    ValueError
        If the base is below 1.
    """
    if not base >= 1:
        msg = f"the base of an exponential cost is at least 1, not {base}"
        raise ValueError(msg)
    if base == 1:
        return expected_cost(tree)
    if math.isinf(base):
        return worst_case_cost(tree)
    rate = math.log(base)
    mass, paid = tree.mass[tree.leaves], tree.paid[tree.leaves]
    if rate * float(paid.max()) < 1e-4:  # the logarithm of 1 + tiny is divided by the tiny rate
        return float(np.log1p(mass @ np.expm1(rate * paid))) / rate
    return float(logsumexp(np.log(mass) + rate * paid)) / rate
