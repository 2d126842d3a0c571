"""A tree of queries, and the objects left at each node.

Nodes are numbered by depth from the root, node 0. Objects are kept in one order in which the objects of every node are
a run, so that memory is proportional to the number of objects M.

Growing a tree from the root, all nodes of a depth at once.

The choice at a node depends on its objects alone, and the nodes of a depth share no object. One pass over their rows
gives their scores, so a tree of depth d costs d passes over at most M rows.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, algorithms 1 to 4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import sums_by_code
from autoprog.diagnosis.splitting import Splitter, make_splitter
from autoprog.errors import ConflictError

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree over the objects of a model; n nodes.

    Attributes
    ----------
    query, depth : ndarray of int, shape = (n,)
        Query asked at the node, -1 at a leaf; number of queries asked before it.
    no, yes : ndarray of int, shape = (n,)
        Child for the answer 0 and 1; -1 at a leaf.
    start, stop, order : ndarray of int, shapes = (n,), (n,) and (M,)
        The objects of a node are `order[start:stop]`.
    """

    model: DiagnosisModel
    query: _Ints
    no: _Ints
    yes: _Ints
    depth: _Ints
    start: _Ints
    stop: _Ints
    order: _Ints

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.query)

    @cached_property
    def leaves(self) -> _Ints:
        """Indices of the leaves."""
        return np.flatnonzero(self.query < 0)

    @cached_property
    def internal(self) -> _Ints:
        """Indices of the nodes that ask."""
        return np.flatnonzero(self.query >= 0)

    @cached_property
    def paid(self) -> _Floats:
        """Cost of the queries asked before each node, shape (n,); the depth if every query costs 1."""
        paid = np.zeros(self.n_nodes)
        costs = self.model.costs
        for level in self.levels():
            cost = paid[level] + costs[self.query[level]]
            paid[self.no[level]] = cost
            paid[self.yes[level]] = cost
        return paid

    def levels(self) -> Iterator[_Ints]:
        """Nodes that ask, one depth at a time from the root."""
        yield from self._by_depth(self.internal)

    def depths(self) -> Iterator[_Ints]:
        """All nodes, one depth at a time from the root."""
        yield from self._by_depth(np.arange(self.n_nodes))

    def _by_depth(self, nodes: _Ints) -> list[_Ints]:
        # numbers ascend with depth
        ends = np.flatnonzero(np.diff(self.depth[nodes])) + 1
        return np.split(nodes, ends) if len(nodes) else []

    @cached_property
    def mass(self) -> _Floats:
        """Prior of the objects of each node, shape (n,); 1 at the root."""
        return self.masses(self.model.prior)

    def masses(self, weights: _Floats) -> _Floats:
        """Sum weights of the objects, shape (M,), at least 0, over each node, shape (n,)."""
        mass = np.zeros(self.n_nodes)
        leaves = self.leaves[np.argsort(self.start[self.leaves])]
        mass[leaves] = np.add.reduceat(weights[self.order], self.start[leaves])
        # summed upwards, so that no subtraction loses digits
        for level in reversed(list(self.levels())):
            mass[level] = mass[self.no[level]] + mass[self.yes[level]]
        return mass

    def objects_of(self, node: int) -> _Ints:
        """Objects that agree with all answers on the path to a node, ascending."""
        return np.sort(self.order[self.start[node] : self.stop[node]])

    def n_leaves_below(self, node: int) -> int:
        """Number of leaves under a node; 1 for a leaf."""
        starts = self._leaf_starts
        return int(np.searchsorted(starts, self.stop[node]) - np.searchsorted(starts, self.start[node]))

    @cached_property
    def _leaf_starts(self) -> _Ints:
        return np.sort(self.start[self.leaves])

    @cached_property
    def leaf_of(self) -> _Ints:
        """Leaf at which each object ends, shape (M,)."""
        leaf = np.empty(self.model.n_objects, dtype=np.int64)
        sizes = self.stop[self.leaves] - self.start[self.leaves]
        leaf[self.order[self._within(self.leaves)]] = np.repeat(self.leaves, sizes)
        return leaf

    def objects_within(self, nodes: _Ints) -> tuple[_Ints, _Ints]:
        """Objects of these nodes, node by node, and the index into `nodes` of each."""
        sizes = self.stop[nodes] - self.start[nodes]
        return self.order[self._within(nodes)], np.repeat(np.arange(len(nodes)), sizes)

    def measured_by(self, model: DiagnosisModel) -> Tree:
        """The same tree under another prior or other costs of the same objects and queries."""
        return dataclasses.replace(self, model=model)

    def _within(self, nodes: _Ints) -> _Ints:
        """Places in `order` of the objects of these nodes, node by node."""
        sizes = self.stop[nodes] - self.start[nodes]
        places: _Ints = np.arange(sizes.sum()) + np.repeat(self.start[nodes] - (np.cumsum(sizes) - sizes), sizes)
        return places

    def target_masses(self, nodes: _Ints, weights: _Floats) -> tuple[_Ints, _Floats]:
        """pi_a^k of every target present at nodes that share no object, after the index into `nodes` of each."""
        objects, node = self.objects_within(nodes)
        target = self.model.target_of[objects]
        by = np.lexsort((target, node))
        node, target = node[by], target[by]
        new = np.flatnonzero((np.diff(node, prepend=-1) != 0) | (np.diff(target, prepend=-1) != 0))
        return node[new], np.add.reduceat(weights[objects[by]], new)

    @cached_property
    def ambiguous(self) -> _Ints:
        """Leaves with more than one target, which no query tells apart."""
        which, _ = self.target_masses(self.leaves, self.model.prior)
        return self.leaves[np.bincount(which, minlength=len(self.leaves)) > 1]

    def node(self, index: int) -> dict[str, Any]:
        """One node as a document: its query and children, or a leaf's objects and the probability of each target."""
        shared = {"node": index, "depth": int(self.depth[index]), "probability": float(self.mass[index])}
        if self.query[index] >= 0:
            query = self.model.queries[self.query[index]]
            return {**shared, "query": query, "no": int(self.no[index]), "yes": int(self.yes[index])}
        objects = self.objects_of(index)
        targets, inverse = np.unique(self.model.target_of[objects], return_inverse=True)
        share = sums_by_code(inverse, self.model.prior[objects]) / self.mass[index]
        names = [self.model.targets[t] for t in targets]
        return {
            **shared,
            "objects": [self.model.objects[i] for i in objects],
            "group": names[0] if len(names) == 1 else None,  # None if ambiguous
            "groups": dict(zip(names, share.tolist(), strict=True)),
        }

    def page(self, node: int = 0, depth: int | None = None) -> list[dict[str, Any]]:
        """Documents of `node` and the nodes up to `depth` (default all) levels below, by number."""
        if not 0 <= node < self.n_nodes:
            msg = f"the tree has nodes 0 to {self.n_nodes - 1}, not {node}"
            raise IndexError(msg)
        level, found, below = np.array([node]), [node], 0
        while len(level) and (depth is None or below < depth):
            asking = level[self.query[level] >= 0]
            level = np.sort(np.concatenate([self.no[asking], self.yes[asking]]))
            found += level.tolist()
            below += 1
        return [self.node(i) for i in found]


def grow_tree(model: DiagnosisModel) -> Tree:
    """Grow the tree of a model without noise; a node is a leaf if one target is left or no query splits its objects."""
    if model.is_noisy:  # no finite tree ends in certainty
        msg = "the model's answers may be wrong, so that no tree of answers ends in certainty: open a session"
        raise ConflictError(msg)
    return grown_by(make_splitter(model), model)


def grown_by(splitter: Splitter, model: DiagnosisModel) -> Tree:
    """Grow the tree of the queries that a splitter chooses."""
    target_of = model.target_of
    # sorted by target, and therefore also within every node
    order = np.argsort(target_of, kind="stable").astype(np.int64)
    start, stop = np.array([0]), np.array([model.n_objects])  # the nodes of the current depth
    levels: list[tuple[_Ints, ...]] = []
    count, depth = 1, 0
    while len(start):
        query = np.full(len(start), -1)
        mixed = np.flatnonzero(target_of[order[start]] != target_of[order[stop - 1]])
        query[mixed] = splitter.choose(order, start[mixed], stop[mixed])
        asking = np.flatnonzero(query >= 0)
        middle = splitter.partition(order, start[asking], stop[asking], query[asking])
        no, yes = np.full(len(start), -1), np.full(len(start), -1)
        no[asking] = count + 2 * np.arange(len(asking))
        yes[asking] = no[asking] + 1
        levels.append((query, no, yes, np.full(len(start), depth), start, stop))
        start, stop = (np.stack(pair, axis=1).ravel() for pair in ((start[asking], middle), (middle, stop[asking])))
        count += len(start)
        depth += 1
    query, no, yes, depths, starts, stops = (np.concatenate(column) for column in zip(*levels, strict=True))
    return Tree(model, query, no, yes, depths, starts, stops, order)
