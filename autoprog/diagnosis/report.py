"""What a tree costs, beside what no tree can be below."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoprog.diagnosis.costs import expected_cost, expected_queries, exponential_cost, worst_case_cost
from autoprog.diagnosis.entropy import Bounds, cost_bounds
from autoprog.diagnosis.identities import expected_cost_identity, exponential_cost_identity
from autoprog.diagnosis.tree import Tree


@dataclass(frozen=True)
class TreeReport:
    """A tree in figures, all finite.

    Attributes
    ----------
    expected_cost : float
        L_1, of the queries asked.
    expected_queries : float
        Their mean number.
    exponential_cost : float
        L_lambda with the model's base: the expected cost where that is 1, the worst case where it is infinite.
    worst_case : float
        L_inf.
    bounds : Bounds
        What no tree of this model can cost less than.
    n_nodes, n_leaves, depth : int
        Size; depth is the most queries asked.
    n_ambiguous : int
        Leaves that hold more than one target.
    ambiguous_probability : float
        Prior of ending in one of them, in [0, 1].
    identity_error : float
        By how much the measured costs differ from the sums over nodes that they are identical to: what rounding leaves.
    """

    expected_cost: float
    expected_queries: float
    exponential_cost: float
    worst_case: float
    bounds: Bounds
    n_nodes: int
    n_leaves: int
    depth: int
    n_ambiguous: int
    ambiguous_probability: float
    identity_error: float


def tree_report(tree: Tree) -> TreeReport:
    """Measure a tree.

    Parameters
    ----------
    tree : Tree
        Any.

    Returns
    -------
    TreeReport
        Under the model's prior, costs and base.
    """
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
