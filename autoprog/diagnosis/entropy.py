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

The cost of any tree in terms of the choices at its nodes: exact, whether the tree is greedy or not.

=========  ======================================================================================================
symbol     meaning
=========  ======================================================================================================
I, leaves  nodes that ask; nodes that do not
pi_a       prior of node a; pi_l and pi_r those of its children
pi_a^k     prior of target k in a
d_a, c_a   cost of the queries asked before a, and of the one asked at it; depth and 1 if every query costs 1
rho_a      max(pi_l, pi_r) / pi_a; rho_a^k the same for target k
alpha      1 / (1 + log2 lambda)
D(a)       (sum_k (pi_a^k / pi_a)^alpha)^(1 / alpha)
=========  ======================================================================================================

    L_1 = H(pi_y) + sum_{a in I} pi_a [c_a - h(rho_a) + sum_k pi_a^k / pi_a h(rho_a^k)]
          - sum_{leaves} pi_j H(target | j)
    lambda^L = D(root) + sum_{a in I} [(lambda^c_a - 1) lambda^d_a pi_a - pi_a D(a) + pi_l D(l) + pi_r D(r)]
               - sum_{leaves} pi_j (D(j) - 1)

The last sums are 0 where every leaf holds one target, as in the theorems. These forms also hold for leaves of several
targets and for any costs.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, corollaries of theorems 1 to 4;
Campbell 1965, Information and Control 8:423.
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, theorems 1 to 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp

from autoprog.diagnosis.costs import expected_cost, exponential_cost
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import sums_by_code
from autoprog.diagnosis.tree import Tree

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
    p = p[p > 0]
    if alpha > 0.5:  # next to 1 the logarithm of 1 + tiny is divided by the tiny 1 - alpha
        logarithm = math.log1p(p @ np.expm1((alpha - 1.0) * np.log(p)))
    else:
        logarithm = float(logsumexp(alpha * np.log(p)))
    return logarithm / (1.0 - alpha) / math.log(2.0)


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


@dataclass(frozen=True)
class CostIdentity:
    """Both sides of an identity."""

    cost: float  # measured at the leaves
    bound: float  # the entropy term
    # Added by the choices at the nodes. At least 0 if every query costs at least 1; for the exponential cost, only if
    # every leaf also holds one target.
    excess: float
    ambiguity: float  # subtracted by leaves of several targets, at least 0

    @property
    def explained(self) -> float:
        """Right-hand side."""
        return self.bound + self.excess - self.ambiguity

    @property
    def error(self) -> float:
        """Absolute difference between the two sides."""
        return abs(self.cost - self.explained)


def expected_cost_identity(tree: Tree) -> CostIdentity:
    """Theorem 1 (objects) or 2 (groups) for L_1, by the model's `stop`."""
    model = tree.model
    excess = 0.0
    for level in tree.levels():
        excess += float((tree.mass[level] * model.costs[tree.query[level]]).sum()) - _information(tree, level)
    return CostIdentity(expected_cost(tree), shannon_entropy(model.target_prior), excess, _leaf_entropy(tree))


def _information(tree: Tree, level: _Ints) -> float:
    """Sum over nodes of pi_a [h(rho_a) - sum_k pi_a^k / pi_a h(rho_a^k)], bits."""
    model = tree.model
    objects, node = tree.objects_within(level)
    answer = model.responses.at(objects, tree.query[level][node])
    _, cell = np.unique(node * len(model.targets) + model.target_of[objects], return_inverse=True)
    prior = model.prior[objects]
    by_node = sums_by_code(2 * node + answer, prior, 2 * len(level)).reshape(-1, 2)
    by_target = sums_by_code(2 * cell + answer, prior, 2 * int(cell.max()) + 2).reshape(-1, 2)
    return _mass_entropy(by_node) - _mass_entropy(by_target)


def _mass_entropy(halves: _Floats) -> float:
    """Sum over rows of mass times h(share), bits."""
    mass = halves.sum(axis=1)
    share = halves / mass[:, None]
    return float((mass[:, None] * entr(share)).sum() / np.log(2.0))


def _leaf_entropy(tree: Tree) -> float:
    which, mass = tree.target_masses(tree.leaves, tree.model.prior)
    leaf = tree.mass[tree.leaves][which]
    return float((leaf * entr(mass / leaf)).sum() / np.log(2.0))


def exponential_cost_identity(tree: Tree, base: float) -> CostIdentity:
    """Theorem 3 (objects) or 4 (groups) for lambda^L, by the model's `stop`; the base lambda is finite and above 1."""
    model, alpha, rate = tree.model, entropy_order(base), math.log(base)
    cost = exponential_cost(tree, base) * rate
    bound = log_diversity(model.target_prior, alpha)
    # lambda^L may overflow: all terms are in units of the larger of lambda^L and D(root), and errors are relative
    unit = max(cost, bound)
    weighted = np.exp(_log_weighted_diversity(tree, alpha) - unit)
    asking = tree.internal
    step = rate * model.costs[tree.query[asking]]
    # log(lambda^c - 1) as c log lambda + log(1 - lambda^-c), because the power may overflow
    paid = np.exp(step + np.log(-np.expm1(-step)) + rate * tree.paid[asking] + np.log(tree.mass[asking]) - unit)
    children = weighted[tree.no[asking]] + weighted[tree.yes[asking]]
    ambiguity = float((weighted - np.exp(np.log(tree.mass) - unit))[tree.leaves].sum())
    excess = float((paid - weighted[asking] + children).sum())
    return CostIdentity(math.exp(cost - unit), math.exp(bound - unit), excess, ambiguity)


def _log_weighted_diversity(tree: Tree, alpha: float) -> _Floats:
    """log(pi_a D(a)) of every node, shape (n,)."""
    total = np.empty(tree.n_nodes)
    for depth_nodes in tree.depths():
        which, mass = tree.target_masses(depth_nodes, tree.model.prior)
        first = np.flatnonzero(np.diff(which, prepend=-1))
        logs = alpha * np.log(mass)
        total[depth_nodes] = np.logaddexp.reduceat(logs, first) / alpha
    return total
