"""The query asked at each node of a level, and the division of its objects.

`RowSplitter` is the definition, in NumPy; `autoprog.diagnosis.compiled` is the same in C.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis import nodes
from autoprog.diagnosis.compiled import CompiledSplitter, compiled_run_sums, library, serves
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.nodes import RowNodes
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.scores import Chooser, counts_objects

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

# Scores (nodes times queries) that are held in memory at once.
_SCORES = 1 << 20


class Splitter(Protocol):
    """Chooses the queries of nodes of a model without noise, and divides the nodes; a node is `order[start:stop]`."""

    def choose(self, order: _Ints, start: _Ints, stop: _Ints, barred: _Ints | None = None) -> _Ints:
        """Query of each node (not empty, sorted by target), none of `barred`, shape (n,); -1 where none splits it."""

    def partition(self, order: _Ints, start: _Ints, stop: _Ints, query: _Ints) -> _Ints:
        """Move the objects that answer 0 before those that answer 1, stably and in place; return where the 1s begin."""


def make_splitter(model: DiagnosisModel, keys: NDArray[np.uint64] | None = None) -> Splitter:
    """The fastest splitter available for a model; `keys` replaces the model's keys of random ties."""
    return CompiledSplitter(model, keys) if serves(model) else RowSplitter(model, keys)


def run_sums(responses: Responses, objects: _Ints, weights: _Floats, starts: _Ints) -> _Floats:
    """As `autoprog.diagnosis.nodes.run_sums`, compiled where available."""
    if library() is None:
        return nodes.run_sums(responses, objects, weights, starts)
    return compiled_run_sums(responses, objects, weights, starts)


class RowSplitter:
    """The definition of a splitter; `keys` replaces the model's keys of random ties."""

    def __init__(self, model: DiagnosisModel, keys: NDArray[np.uint64] | None = None) -> None:
        self._model = model
        self._chooser = Chooser.of(model)
        if keys is not None:
            self._chooser = dataclasses.replace(self._chooser, keys=keys)
        self._weights = np.ones(model.n_objects) if counts_objects(model) else model.weights
        self._exact = counts_objects(model) or model.has_whole_weights

    def choose(self, order: _Ints, start: _Ints, stop: _Ints, barred: _Ints | None = None) -> _Ints:
        """Choose the query of each node."""
        query = np.empty(len(start), dtype=np.int64)
        for part in self._batches(len(start)):
            places, begins = _places(start[part], stop[part])
            objects = order[places]
            model = self._model
            batch = RowNodes(model.responses, objects, begins, model.target_of, self._weights, self._exact)
            query[part] = self._chooser.choose(batch, objects, begins, barred)
        return query

    def partition(self, order: _Ints, start: _Ints, stop: _Ints, query: _Ints) -> _Ints:
        """Divide the objects of each node in place."""
        if not len(start):
            return start
        places, begins = _places(start, stop)
        objects = order[places]
        node = np.repeat(np.arange(len(start)), stop - start)
        answer = self._model.responses.at(objects, query[node])
        order[places] = objects[np.argsort(2 * node + answer, kind="stable")]
        return stop - np.add.reduceat(answer.astype(np.int64), begins)

    def _batches(self, n: int) -> Iterator[slice]:
        """Split the nodes into runs whose scores are held in memory at once."""
        step = max(1, _SCORES // self._model.n_queries)
        for begin in range(0, n, step):
            yield slice(begin, begin + step)


def _places(start: _Ints, stop: _Ints) -> tuple[_Ints, _Ints]:
    """Places in `order` of the objects of these nodes, and where each node begins among them."""
    sizes = stop - start
    begins = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(start - begins, sizes), begins
