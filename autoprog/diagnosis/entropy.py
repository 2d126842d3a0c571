"""Entropies, and the lower bounds of the costs of trees.

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

Where queries have up to A answers, every bound, and log2 lambda in alpha, is divided by log2 A.

A tree that separates targets of probabilities P has L_1 >= c H(P), L_lambda >= c H_alpha(P) with alpha of lambda^c, and
L_inf >= c log2 of the number of targets. Objects of different targets that no query separates count as one more target:
their common leaf separates them from all others, so that the bounds hold for that partition.

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
    """H(P) in bits, in [0, log2 K]; zeros in `p` add nothing."""
    return float(entr(p).sum() / np.log(2.0))


def entropy_order(base: float) -> float:
    """alpha in (0, 1), the order of the Renyi entropy that bounds the exponential cost for a base above 1."""
    return 1.0 / (1.0 + math.log2(base))


def log_diversity(p: _Floats, alpha: float) -> float:
    """Natural logarithm of D, at least 0; zeros in `p` are absent targets, and alpha is in (0, 1)."""
    return float(logsumexp(alpha * np.log(p[p > 0]))) / alpha


def renyi_entropy(p: _Floats, alpha: float) -> float:
    """H_alpha(P) in bits, in [H(P), log2 K], for alpha in [0, 1]: 1 is Shannon's, 0 counts the targets above 0."""
    if alpha == 1.0:
        return shannon_entropy(p)
    return float(logsumexp(alpha * np.log(p[p > 0]))) / (1.0 - alpha) / math.log(2.0)


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of the costs of every tree: expected, exponential with the model's base, and worst case."""

    expected: float
    exponential: float
    worst_case: float


def cost_bounds(model: DiagnosisModel) -> Bounds:
    """Lower bounds for a model without noise, of trees that ask until one target is left or nothing splits."""
    p = distinguishable(model.target_of, model.unidentifiable, model.prior)
    return entropy_bounds(p, float(model.costs.min()), model.base, 2)


def entropy_bounds(p: _Floats, cost: float, base: float, answers: int) -> Bounds:
    """Lower bounds for targets of probabilities above 0, given c, lambda and A; entropies are divided by log2 A."""
    bits = math.log2(answers)
    expected, worst = cost * shannon_entropy(p) / bits, cost * math.log2(len(p)) / bits
    if math.isinf(base):
        return Bounds(expected, worst, worst)
    order = 1.0 / (1.0 + cost * math.log2(base) / bits)
    return Bounds(expected, cost * renyi_entropy(p, order) / bits, worst)


def distinguishable(target_of: _Ints, alike: Sequence[Sequence[int]], prior: _Floats) -> _Floats:
    """Probabilities of what a tree can separate: targets, and sets of objects that no query separates."""
    kind = target_of.copy()
    for number, objects in enumerate(alike, start=int(target_of.max()) + 1):
        kind[list(objects)] = number
    p = sums_by_code(kind, prior)
    positive: _Floats = p[p > 0]
    return positive
