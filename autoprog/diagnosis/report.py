"""The costs of a tree, with their lower bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoprog.diagnosis.costs import expected_cost, expected_queries, exponential_cost, worst_case_cost
from autoprog.diagnosis.entropy import Bounds, cost_bounds, expected_cost_identity, exponential_cost_identity
from autoprog.diagnosis.tree import Tree


@dataclass(frozen=True)
class TreeReport:
    """Figures of a tree, all finite."""

    expected_cost: float  # L_1
    expected_queries: float  # mean number of queries asked
    exponential_cost: float  # L_lambda with the model's base: L_1 if that is 1, L_inf if it is infinite
    worst_case: float  # L_inf
    bounds: Bounds
    n_nodes: int
    n_leaves: int
    depth: int  # largest number of queries asked
    n_ambiguous: int  # number of leaves with more than one target
    ambiguous_probability: float  # of ending in one of these, in [0, 1]
    identity_error: float  # largest error of the cost identities, which is rounding alone


def tree_report(tree: Tree) -> TreeReport:
    """Measure a tree under the model's prior, costs and base."""
    base = tree.model.base
    error = expected_cost_identity(tree).error
    if base > 1 and not math.isinf(base):
        error = max(error, exponential_cost_identity(tree, base).error)
    return TreeReport(
        expected_cost=expected_cost(tree),
        expected_queries=expected_queries(tree),
        exponential_cost=exponential_cost(tree, base),
        worst_case=worst_case_cost(tree),
        bounds=cost_bounds(tree.model),
        n_nodes=tree.n_nodes,
        n_leaves=len(tree.leaves),
        depth=int(tree.depth.max()),
        n_ambiguous=len(tree.ambiguous),
        ambiguous_probability=float(tree.mass[tree.ambiguous].sum()),
        identity_error=error,
    )
