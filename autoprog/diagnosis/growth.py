"""Growing a tree from the root, all nodes of a depth at once.

The choice at a node depends on its objects alone, never on its depth: the nodes of a depth share no object, and one
pass over the rows of all of them gives what their scores need. A tree of depth d costs d passes over at most M rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.choice import Chooser
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.nodes import RowNodes
from autoprog.diagnosis.scores import counts_objects
from autoprog.diagnosis.tree import Tree
from autoprog.errors import ConflictError

_Ints = NDArray[np.int64]

# Scores of nodes times queries that are held at once.
_SCORES = 1 << 20


def grow_tree(model: DiagnosisModel) -> Tree:
    """The tree that the model's algorithm grows.

    Parameters
    ----------
    model : DiagnosisModel
        Without noise.

    Returns
    -------
    Tree
        A node is a leaf when one target is left, or when no query splits its objects.

    Raises
    ------
    ConflictError
        If answers may be wrong: then no finite tree ends in certainty; a session does.

    References
    ----------
    Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, algorithms 1 to 4.
    """
    if model.is_noisy:
        msg = "the model's answers may be wrong, so that no tree of answers ends in certainty: open a session"
        raise ConflictError(msg)
    return _Growth(model).tree()


class _Growth:
    """A tree on its way down; nodes of the current depth are `start`, `stop` and `number`."""

    def __init__(self, model: DiagnosisModel) -> None:
        self.model = model
        self.chooser = Chooser.of(model)
        self.weights = np.ones(model.n_objects) if counts_objects(model) else model.weights
        self.exact = counts_objects(model) or model.has_whole_weights
        self.target_of = model.target_of
        # by target, and so in every node
        self.order = np.argsort(self.target_of, kind="stable").astype(np.int64)

    def tree(self) -> Tree:
        """Grow it."""
        start, stop = np.array([0]), np.array([self.model.n_objects])
        levels: list[tuple[_Ints, ...]] = []
        count, depth = 1, 0
        while len(start):
            query = np.full(len(start), -1)
            mixed = np.flatnonzero(self.target_of[self.order[start]] != self.target_of[self.order[stop - 1]])
            for part in self._batches(stop[mixed] - start[mixed]):
                some = mixed[part]
                query[some] = self._chosen(start[some], stop[some])
            asking = np.flatnonzero(query >= 0)
            middle = self._partition(start[asking], stop[asking], query[asking])
            no, yes = np.full(len(start), -1), np.full(len(start), -1)
            no[asking] = count + 2 * np.arange(len(asking))
            yes[asking] = no[asking] + 1
            levels.append((query, no, yes, np.full(len(start), depth), start, stop))
            start, stop = (np.stack(pair, axis=1).ravel() for pair in ((start[asking], middle), (middle, stop[asking])))
            count += len(start)
            depth += 1
        query, no, yes, depths, starts, stops = (np.concatenate(column) for column in zip(*levels, strict=True))
        return Tree(self.model, query, no, yes, depths, starts, stops, self.order)

    def _batches(self, sizes: _Ints) -> Iterator[slice]:
        """Nodes in runs whose scores are held at once."""
        step = max(1, _SCORES // self.model.n_queries)
        for begin in range(0, len(sizes), step):
            yield slice(begin, begin + step)

    def _places(self, start: _Ints, stop: _Ints) -> tuple[_Ints, _Ints]:
        """Places in the order of the objects of these nodes, and where each node begins among them."""
        sizes = stop - start
        begins = np.cumsum(sizes) - sizes
        return np.arange(sizes.sum()) + np.repeat(start - begins, sizes), begins

    def _chosen(self, start: _Ints, stop: _Ints) -> _Ints:
        places, begins = self._places(start, stop)
        objects = self.order[places]
        nodes = RowNodes(self.model.responses, objects, begins, self.target_of, self.weights, self.exact)
        return self.chooser.choose(nodes, objects, begins)

    def _partition(self, start: _Ints, stop: _Ints, query: _Ints) -> _Ints:
        """Put the objects that answer 0 before those that answer 1, and tell where these begin."""
        if not len(start):
            return start
        places, begins = self._places(start, stop)
        objects = self.order[places]
        node = np.repeat(np.arange(len(start)), stop - start)
        answer = self.model.responses.at(objects, query[node])
        self.order[places] = objects[np.argsort(2 * node + answer, kind="stable")]
        return stop - np.add.reduceat(answer.astype(np.int64), begins)
