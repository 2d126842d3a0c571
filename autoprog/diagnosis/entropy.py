"""Entropies, and the costs that no tree can be below.

=========  =====================================================================================
symbol     meaning
=========  =====================================================================================
P          probabilities, sum 1
H(P)       Shannon entropy, bits
lambda     base of the exponential cost, above 1
alpha      1 / (1 + log2 lambda)
H_alpha    Renyi entropy log2(sum P^alpha) / (1 - alpha), bits
D          (sum P^alpha)^(1 / alpha) = lambda^H_alpha
c          least cost of a query
=========  =====================================================================================

Where queries have up to A answers, every bound is divided by log2 A, and log2 lambda in alpha too.

A tree that tells targets of probabilities P apart has L_1 >= c H(P), L_lambda >= c H_alpha(P) with alpha of lambda^c,
and L_inf >= c log2 of the number of targets. Objects that no query tells apart, though their targets differ, are one
target more: the leaf at which they end tells them from all others, so that the bounds hold for that partition.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, corollaries of theorems 1 to 4;
Campbell 1965, Information and Control 8:423.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp

from autoprog.diagnosis.grouped_sums import sums_by_code
from autoprog.diagnosis.model import DiagnosisModel

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def shannon_entropy(p: _Floats) -> float:
    """H(P).

    Parameters
    ----------
    p : ndarray, shape = (K,)
        Probabilities, sum 1; zeros add nothing.

    Returns
    -------
    float
        Bits, in [0, log2 K].
    """
    return float(entr(p).sum() / np.log(2.0))


def entropy_order(base: float) -> float:
    """alpha, the order of the Renyi entropy that bounds the exponential cost of a base above 1; in (0, 1)."""
    return 1.0 / (1.0 + math.log2(base))


def log_diversity(p: _Floats, alpha: float) -> float:
    """Natural logarithm of D.

    Parameters
    ----------
    p : ndarray, shape = (K,)
        Probabilities; zeros are absent targets.
    alpha : float
        In (0, 1).

    Returns
    -------
    float
        At least 0; 0 where a single target is there.
    """
    return float(logsumexp(alpha * np.log(p[p > 0]))) / alpha


def renyi_entropy(p: _Floats, alpha: float) -> float:
    """H_alpha(P).

    Parameters
    ----------
    p : ndarray, shape = (K,)
        Probabilities, sum 1; zeros add nothing.
    alpha : float
        In [0, 1]: 1 is the Shannon entropy, 0 the logarithm of how many are above 0.

    Returns
    -------
    float
        Bits, in [H(P), log2 K].
    """
    if alpha == 1.0:
        return shannon_entropy(p)
    return float(logsumexp(alpha * np.log(p[p > 0]))) / (1.0 - alpha) / math.log(2.0)


@dataclass(frozen=True)
class Bounds:
    """What no tree can cost less than.

    Attributes
    ----------
    expected, worst_case : float
        Of the expected and the largest cost of the queries asked.
    exponential : float
        Of the exponential cost with the model's base; the first where that is 1, the second where it is infinite.
    """

    expected: float
    exponential: float
    worst_case: float


def cost_bounds(model: DiagnosisModel) -> Bounds:
    """The bounds of a model; no tree is needed.

    Parameters
    ----------
    model : DiagnosisModel
        Without noise.

    Returns
    -------
    Bounds
        Of trees that go on until one target is left, or nothing splits.
    """
    p = distinguishable(model.target_of, model.unidentifiable, model.prior)
    return entropy_bounds(p, float(model.costs.min()), model.base, 2)


def entropy_bounds(p: _Floats, cost: float, base: float, answers: int) -> Bounds:
    """The bounds of trees that tell targets of these probabilities apart.

    Parameters
    ----------
    p : ndarray, shape = (K,)
        Probabilities above 0, sum 1.
    cost : float
        c, of the cheapest query.
    base : float
        lambda, at least 1.
    answers : int
        The most answers that a query has, at least 2: entropies are divided by log2 of it.

    Returns
    -------
    Bounds
        All at least 0.
    """
    bits = math.log2(answers)
    expected, worst = cost * shannon_entropy(p) / bits, cost * math.log2(len(p)) / bits
    if math.isinf(base):
        return Bounds(expected, worst, worst)
    order = 1.0 / (1.0 + cost * math.log2(base) / bits)
    return Bounds(expected, cost * renyi_entropy(p, order) / bits, worst)


def distinguishable(target_of: _Ints, alike: Sequence[Sequence[int]], prior: _Floats) -> _Floats:
    """Probabilities of what a tree can tell apart: targets, and the sets of objects that no query parts."""
    kind = target_of.copy()
    for number, objects in enumerate(alike, start=int(target_of.max()) + 1):
        kind[list(objects)] = number
    p = sums_by_code(kind, prior)
    positive: _Floats = p[p > 0]
    return positive
