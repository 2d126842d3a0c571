"""Which query is asked at each node of a level, and how it divides the objects.

`RowSplitter` is the definition, in NumPy; `autoprog.diagnosis.compiled` does the same in C where it was built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis import nodes
from autoprog.diagnosis.choice import Chooser
from autoprog.diagnosis.compiled import CompiledSplitter, compiled_run_sums, library, serves
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.nodes import RowNodes
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.scores import counts_objects

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

# Scores of nodes times queries that are held at once.
_SCORES = 1 << 20


class Splitter(Protocol):
    """Chooses queries for nodes of a model without noise, and divides nodes by them."""

    def choose(self, order: _Ints, start: _Ints, stop: _Ints, barred: _Ints | None = None) -> _Ints:
        """The query to ask at each node, shape (n,); -1 where none splits it.

        Parameters
        ----------
        order : ndarray of int
            Objects; those of a node stand together, by target.
        start, stop : ndarray of int, shape = (n,)
            The objects of a node are `order[start:stop]`; no node is empty.
        barred : ndarray of int, optional
            Queries that cannot be asked.

        Returns
        -------
        ndarray of int, shape = (n,)
            Indices of queries.
        """

    def partition(self, order: _Ints, start: _Ints, stop: _Ints, query: _Ints) -> _Ints:
        """Put the objects of each node that answer 0 before those that answer 1, in place.

        Parameters
        ----------
        order : ndarray of int, shape = (M,)
            Objects; among those of the same answer the order stays.
        start, stop : ndarray of int, shape = (n,)
            As of `choose`.
        query : ndarray of int, shape = (n,)
            Asked at each.

        Returns
        -------
        ndarray of int, shape = (n,)
            Where those that answer 1 begin.
        """


def make_splitter(model: DiagnosisModel, keys: NDArray[np.uint64] | None = None) -> Splitter:
    """The quickest splitter that there is for a model, with the keys of other random ties than the model's, if any."""
    return CompiledSplitter(model, keys) if serves(model) else RowSplitter(model, keys)


def run_sums(responses: Responses, objects: _Ints, weights: _Floats, starts: _Ints) -> _Floats:
    """As `autoprog.diagnosis.nodes.run_sums`, compiled where that is quicker."""
    if library() is None:
        return nodes.run_sums(responses, objects, weights, starts)
    return compiled_run_sums(responses, objects, weights, starts)


class RowSplitter:
    """The definition.

    Parameters
    ----------
    model : DiagnosisModel
        Without noise.
    keys : ndarray of uint64, shape = (M,), optional
        For random ties; those of the model where left out.
    """

    def __init__(self, model: DiagnosisModel, keys: NDArray[np.uint64] | None = None) -> None:
        self._model = model
        self._chooser = Chooser.of(model)
        if keys is not None:
            self._chooser = dataclasses.replace(self._chooser, keys=keys)
        self._weights = np.ones(model.n_objects) if counts_objects(model) else model.weights
        self._exact = counts_objects(model) or model.has_whole_weights

    def choose(self, order: _Ints, start: _Ints, stop: _Ints, barred: _Ints | None = None) -> _Ints:
        """The query to ask at each node."""
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
        """Nodes in runs whose scores are held at once."""
        step = max(1, _SCORES // self._model.n_queries)
        for begin in range(0, n, step):
            yield slice(begin, begin + step)


def _places(start: _Ints, stop: _Ints) -> tuple[_Ints, _Ints]:
    """Places in the order of the objects of these nodes, and where each node begins among them."""
    sizes = stop - start
    begins = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(start - begins, sizes), begins
