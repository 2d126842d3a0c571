"""The part of a long tree to draw: the most probable nodes first, the rest folded into counts."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from autoprog.diagnosis.tree import Tree

MAX_NODES = 127
"""Default number of nodes drawn."""


@dataclass(frozen=True)
class Folded:
    """A part of a tree to draw."""

    root: int
    unfolded: frozenset[int]  # nodes whose children are drawn; any other node that asks is drawn as a fold


def folded(tree: Tree, node: int = 0, depth: int | None = None, most: int = MAX_NODES) -> Folded:
    """Choose the nodes to draw, unfolding the most probable first; raises `IndexError` if the node does not exist."""
    if not 0 <= node < tree.n_nodes:
        msg = f"the tree has nodes 0 to {tree.n_nodes - 1}, not {node}"
        raise IndexError(msg)
    deepest = np.inf if depth is None else int(tree.depth[node]) + depth
    unfolded: set[int] = set()
    drawn, waiting = 1, [(-float(tree.mass[node]), node)]
    while waiting and drawn + 2 <= most:
        _, next_node = heapq.heappop(waiting)
        if tree.query[next_node] < 0 or tree.depth[next_node] >= deepest:
            continue
        unfolded.add(next_node)
        drawn += 2
        for child in (int(tree.no[next_node]), int(tree.yes[next_node])):
            heapq.heappush(waiting, (-float(tree.mass[child]), child))
    return Folded(node, frozenset(unfolded))


def caption(tree: Tree, node: int, part: Folded) -> str:
    """Text of a node: `fever?`, `influenza (0.25)`, or `fever? … 14 more nodes, 8 objects (0.02)` for a fold."""
    share = f"({tree.mass[node]:.3g})"
    if tree.query[node] >= 0:
        question = f"{tree.model.queries[tree.query[node]]}?"
        if node in part.unfolded:
            return question
        # every node that asks has two children, so l leaves have l - 1 such nodes above them
        below = 2 * tree.n_leaves_below(node) - 2
        return f"{question} … {below:,} more nodes, {tree.stop[node] - tree.start[node]:,} objects {share}"
    targets = np.unique(tree.model.target_of[tree.objects_of(node)])
    if len(targets) == 1:
        return f"{tree.model.targets[targets[0]]} {share}"
    names = [tree.model.targets[t] for t in targets[:3]]
    more = f" or {len(targets) - 3:,} others" if len(targets) > 3 else ""
    return f"ambiguous: {' or '.join(names)}{more} {share}"
