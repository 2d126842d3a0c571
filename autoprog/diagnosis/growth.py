"""Growing a tree from the root, all nodes of a depth at once.

The choice at a node depends on its objects alone, and the nodes of a depth share no object. One pass over their rows
gives their scores, so a tree of depth d costs d passes over at most M rows.

References
----------
Bellala, Bhavnani & Scott 2012, IEEE Transactions on Information Theory 58:459, algorithms 1 to 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.splitting import Splitter, make_splitter
from autoprog.diagnosis.tree import Tree
from autoprog.errors import ConflictError

_Ints = NDArray[np.int64]


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
