"""The score of asking a query at a node; the query with the smallest score is asked.

==========  ==============================================================================================
symbol      meaning
==========  ==============================================================================================
pi_a        weight of node a; pi_l and pi_r those of its children under a query, answers 0 and 1
pi_a^k      weight of target k in a; the targets are the objects or their groups
rho_a       max(pi_l, pi_r) / pi_a; rho_a^k the same for one target
h(p)        binary entropy, bits
lambda      base of the exponential cost, above 1; alpha = 1 / (1 + log2 lambda)
D(a)        (sum_k (pi_a^k / pi_a)^alpha)^(1 / alpha), so that pi_a D(a) = (sum_k (pi_a^k)^alpha)^(1 / alpha)
K_a         number of targets in a
==========  ==============================================================================================

    GBS                 rho_a
    GGBS                1 - h(rho_a) + sum_k (pi_a^k / pi_a) h(rho_a^k) = 1 - information of the answer on the group
    lambda-GBS          log (pi_l D(l) + pi_r D(r)) / pi_a
    lambda = infinity   objects: max(n_l, n_r) / n_a, numbers of objects
                        groups: first the largest K of the children, then the sum over the children that attain it of
                        exp(mean_k log pi^k)

Where query costs differ, the query with the largest gain per cost is asked:

    GBS                 2 pi_l pi_r / pi_a^2, probability that it separates two objects drawn at random
    GGBS                information of the answer on the group, bits
    lambda-GBS          log_lambda(pi_a D(a)) - log_lambda(pi_l D(l) + pi_r D(r)), fall of the lower bound of the
                        remaining cost, in [0, 1]
    lambda = infinity   objects: as GBS, with numbers of objects
                        groups: log2 K_a - log2 max(K_l, K_r), the limit of the last one

The choice of the query at a node: the best of those that split it, and the rule for ties.

Only queries with objects on both sides may be asked. Where no query is informative, as with exclusive or, one that
leaves everything on one side scores as well as any, and asking it would never end.

Queries that cost different amounts are compared by gain per cost; a gain within rounding of 0 counts as 0. A query is
as good as the best if its gain differs by rounding alone from what the best rate gives at its cost. An absolute
tolerance of rates would make all queries equal beside one that costs almost nothing. For GBS, which identifies
objects, this is the cost-sensitive greedy rule, whose expected cost is within a factor of order ln(1 / min_i pi_i) of
the least. For the others no such factor is known, and there are models on which greedy rules for groups do badly.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, algorithms 1 to 4. The rule for lambda =
infinity and groups is the limit of the score: alpha goes to 0, and (sum_k p_k^alpha)^(1/alpha) to
K^(1/alpha) exp(mean_k log p_k).
Guillory & Bilmes 2009, ALT, "Average-case active learning with costs"; Golovin & Krause 2011, JAIR 42:427 (adaptive
submodularity); Golovin, Krause & Ray 2010, NIPS (where greedy rules fail); Kosaraju, Przytycka & Borgstrom 1999, WADS
(priors); Dasgupta 2004, NIPS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.nodes import Nodes

_Floats = NDArray[np.float64]

TIE = 1e-12
"""Scores, and gains, that differ by at most this are equal."""

NEAR_ONE = 1e-6
"""With a base below 1 + this the scores of lambda-GBS differ by rounding only: their limits GBS and GGBS are used."""


@dataclass(frozen=True)
class Scored:
    """Scores and gains of a batch of nodes."""

    score: _Floats  # smaller is better, shape (n, N)
    gain: _Floats  # at least 0, larger is better, shape (n, N)
    tolerance: float | _Floats = TIE  # scores that differ by at most this are equal; a number or shape (n, 1)
    gain_tolerance: float | _Floats = TIE  # as `tolerance`, for gains
    rank: _Floats | None = None  # key that precedes the score, smaller first, shape (n, N)


class Criterion(Protocol):
    """Scoring rule of one algorithm."""

    def __call__(self, nodes: Nodes) -> Scored:
        """Scores and gains, both of shape (n, N); undefined for a query that does not split a node."""


def make_criterion(model: DiagnosisModel) -> Criterion:
    """Choose the criterion for a model's algorithm and base."""
    if model.algorithm in {"gbs", "ggbs"} or model.base - 1.0 < NEAR_ONE:
        return largest_share if model.algorithm in {"gbs", "lambda_gbs"} else group_information
    if math.isinf(model.base):
        return largest_share if model.algorithm == "lambda_gbs" else most_targets
    return ExponentialBound(model.base)


def counts_objects(model: DiagnosisModel) -> bool:
    """Whether the criterion treats all objects as equally likely: lambda-GBS in the limit of infinity."""
    return model.algorithm == "lambda_gbs" and math.isinf(model.base)


def largest_share(nodes: Nodes) -> Scored:
    """GBS: rho_a, in [1/2, 1]."""
    mass = nodes.mass[:, None]
    rho = np.maximum(nodes.left, nodes.right) / mass
    return Scored(rho, 2.0 * (nodes.left / mass) * (nodes.right / mass))


def group_information(nodes: Nodes) -> Scored:
    """GGBS: 1 minus the information, in [0, 1]."""
    (within,) = nodes.divided(_entropy)
    mass = np.broadcast_to(nodes.mass[:, None], nodes.right.shape)
    information = (_entropy(nodes.right, nodes.left, mass) - within) / mass
    return Scored(1.0 - information, np.maximum(information, 0.0))


def _entropy(right: _Floats, left: _Floats, mass: _Floats) -> _Floats:
    """Mass times h(rho), bits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # mass / right would overflow for a share near the smallest number
        entropy = -right * np.log2(right / mass) - left * np.log2(left / mass)
    entropy[(right == 0) | (left == 0)] = 0.0
    return entropy


@dataclass(frozen=True)
class ExponentialBound:
    """lambda-GBS over objects or groups, for a finite base (lambda) above 1."""

    base: float

    def __call__(self, nodes: Nodes) -> Scored:
        """Log-scores, at most log D(a), and gains in [0, 1]."""
        alpha = 1.0 / (1.0 + math.log2(self.base))

        whole = nodes.over_targets(lambda a: a**alpha)
        right, lost = nodes.divided(
            lambda right, _left, _mass: right**alpha, lambda _right, left, mass: mass**alpha - left**alpha
        )
        with np.errstate(divide="ignore"):
            children = np.logaddexp(np.log(right) / alpha, np.log(np.maximum(whole[:, None] - lost, 0.0)) / alpha)
            bound = np.log(whole)[:, None] / alpha
        score = children - np.log(nodes.mass)[:, None]
        # rounding of the logarithm grows with 1 / alpha, and must not separate equal scores
        rounding = 16 * np.finfo(np.float64).eps * (1.0 + np.log1p(whole[:, None])) / alpha
        rate = math.log(self.base)
        gain = np.maximum(bound - children, 0.0) / rate
        return Scored(score, gain, np.maximum(TIE, rounding), np.maximum(TIE, rounding / rate))


def most_targets(nodes: Nodes) -> Scored:
    """Group lambda-GBS in the limit of infinity; ranked first by the larger number of targets."""
    whole = nodes.over_targets(np.ones_like)[:, None]
    logs = nodes.over_targets(np.log)[:, None]
    K_r, gone, log_r, log_lost = nodes.divided(
        lambda right, _left, _mass: (right > 0).astype(np.float64),
        lambda _right, left, _mass: (left == 0).astype(np.float64),
        lambda right, _left, _mass: _log(right),
        lambda _right, left, mass: _log(mass) - _log(left),
    )
    K_l = whole - gone
    largest = np.maximum(K_l, K_r)
    second = np.zeros_like(largest)
    for K, log_sum in ((K_l, logs - log_lost), (K_r, log_r)):
        means = np.exp(log_sum / np.maximum(K, 1.0) - np.log(nodes.mass)[:, None])
        second += np.where(largest == K, means, 0.0)
    return Scored(second, np.log2(whole / largest), rank=largest)


def _log(mass: _Floats) -> _Floats:
    """Logarithm; 0 for an empty child, which the counts leave out."""
    return np.log(np.where(mass > 0, mass, 1.0))


_Ints = NDArray[np.int64]


# Least relative cost, so that no gain per cost overflows.
_MIN_RELATIVE_COST = 1e-290


def relative_costs(costs: _Floats) -> _Floats | None:
    """Costs in multiples of the largest, shape (N,), in (0, 1]; None where all are equal."""
    return None if (costs == costs[0]).all() else np.maximum(costs / costs.max(), _MIN_RELATIVE_COST)


def cheapest_of_best(
    gain: _Floats, costs: _Floats, usable: NDArray[np.bool_], tolerance: float | _Floats
) -> NDArray[np.bool_]:
    """Mark the usable queries with the largest gain per cost, and of these the cheapest; one node per row."""
    gain = np.where(gain > tolerance, gain, 0.0)
    best = np.where(usable, gain / costs, 0.0).max(axis=1, keepdims=True)
    tied = usable & (gain >= best * costs - tolerance) & ((gain > 0) | (best == 0))
    cost = np.where(tied, costs, np.inf)
    cheapest: NDArray[np.bool_] = tied & (cost <= cost.min(axis=1, keepdims=True))
    return cheapest


def tie_keys(model: DiagnosisModel) -> NDArray[np.uint64] | None:
    """Random numbers of the objects, shape (M,), whose sums identify sets; None if ties take the first query."""
    if model.ties == "first":
        return None
    return np.random.default_rng(model.seed).integers(2**64, size=model.n_objects, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Chooser:
    """The rule by which a model chooses queries."""

    criterion: Criterion
    costs: _Floats | None  # `relative_costs`, shape (N,); None where all are equal
    # Random numbers of the objects, shape (M,). Their sum over a node identifies its set of objects, so that the same
    # set draws the same query wherever it occurs. None: ties take the lowest index.
    keys: NDArray[np.uint64] | None

    @classmethod
    def of(cls, model: DiagnosisModel) -> Chooser:
        """Build the rule of a model."""
        return cls(make_criterion(model), relative_costs(model.costs), tie_keys(model))

    def choose(self, nodes: Nodes, objects: _Ints, starts: _Ints, barred: _Ints | None = None) -> _Ints:
        """Choose the query of each node (T_a and its start), shape (n,); -1 where none splits it."""
        scored = self.criterion(nodes)
        usable = (nodes.right > 0) & (nodes.left > 0)
        if barred is not None:
            usable[:, barred] = False
        tied = usable & self._best(scored, usable)
        chosen = tied.argmax(axis=1) if self.keys is None else self._drawn(tied, self.keys, objects, starts)
        return np.where(usable.any(axis=1), chosen, -1)

    def _best(self, scored: Scored, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if self.costs is None:
            return _lowest(scored, usable)
        return cheapest_of_best(scored.gain, self.costs, usable, scored.gain_tolerance)

    @staticmethod
    def _drawn(tied: NDArray[np.bool_], keys: NDArray[np.uint64], objects: _Ints, starts: _Ints) -> _Ints:
        count = tied.sum(axis=1)
        number = _mixed(np.add.reduceat(keys[objects], starts)) % np.maximum(count, 1).astype(np.uint64)
        passed = np.cumsum(tied, axis=1, dtype=np.int32)
        before: _Ints = (passed <= number.astype(np.int32)[:, None]).sum(axis=1)
        drawn: _Ints = np.minimum(before, tied.shape[1] - 1)
        return drawn


def _lowest(scored: Scored, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if scored.rank is not None:
        rank = np.where(usable, scored.rank, np.inf)
        usable = usable & (rank <= rank.min(axis=1, keepdims=True))
    score = np.where(usable, scored.score, np.inf)
    tied: NDArray[np.bool_] = score <= score.min(axis=1, keepdims=True) + scored.tolerance
    return tied


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finaliser of splitmix64: every bit of the sum affects every bit of the result."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
