"""The next query of a session where answers are right, found when it is wanted and remembered.

No tree is built. What is left after the answers decides the query, so that sessions that have come to the same objects
by whatever way share it, through a bounded table of the last that were wanted.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from autoprog.diagnosis.bits import BitColumns, BitNode
from autoprog.diagnosis.choice import Chooser
from autoprog.diagnosis.grouped_sums import sums_by_code
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.nodes import Nodes, RowNodes
from autoprog.diagnosis.scores import counts_objects

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

# Counting bits costs the same for a few objects as for all, summing rows grows with their number: below this share of
# the objects rows are quicker. Bits are counted by word, or by byte where they are counted by group.
_FEW, _FEW_OF_GROUPS = 1 / 128, 1 / 32


@dataclass(frozen=True)
class NextQuery:
    """What to ask.

    Attributes
    ----------
    query : int
        Index of the query.
    name : str
        Its name.
    gain : float
        Information on the target that the answer is expected to give, bits, in [0, 1]. May be 0 where only answers
        together inform.
    """

    query: int
    name: str
    gain: float


class Remembered:
    """A bounded table of next queries, safe for threads; what was wanted longest ago goes first.

    Parameters
    ----------
    capacity : int
        The most entries, at least 1.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Hashable, NextQuery | None] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._entries.clear()

    def get(self, key: Hashable, find: Callable[[], NextQuery | None]) -> NextQuery | None:
        """The entry of a key, found now if it is new."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        found = find()
        with self._lock:
            self._entries[key] = found
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        return found


class Elimination:
    """Next queries of one model without noise.

    Parameters
    ----------
    model : DiagnosisModel
        Without noise.
    capacity : int
        How many next queries are remembered.
    """

    def __init__(self, model: DiagnosisModel, capacity: int) -> None:
        self.model = model
        self._chooser = Chooser.of(model)
        self._weights = np.ones(model.n_objects) if counts_objects(model) else model.weights
        self._exact = counts_objects(model) or model.has_whole_weights
        self._remembered = Remembered(capacity)

    def forget(self) -> None:
        """Remember nothing."""
        self._remembered.clear()

    @cached_property
    def _bits(self) -> BitColumns | None:
        return BitColumns.of(self.model)

    def next_query(self, objects: _Ints, barred: tuple[int, ...] = ()) -> NextQuery | None:
        """What to ask when these objects are left.

        Parameters
        ----------
        objects : ndarray of int, shape = (m,)
            Ascending, at least one.
        barred : tuple of int
            Queries that cannot be answered, ascending.

        Returns
        -------
        NextQuery or None
            None where one target is left, or nothing that can be asked splits the objects.
        """
        target = self.model.target_of[objects]
        if (target == target[0]).all():
            return None
        key = (hashlib.blake2b(objects.tobytes(), digest_size=16).digest(), barred)
        return self._remembered.get(key, lambda: self._found(objects, barred))

    def _found(self, objects: _Ints, barred: tuple[int, ...]) -> NextQuery | None:
        by_target = objects[np.argsort(self.model.target_of[objects], kind="stable")]
        chosen = self._chooser.choose(
            self._node(by_target), by_target, np.array([0]), np.array(barred, dtype=np.int64) if barred else None
        )
        query = int(chosen[0])
        if query < 0:
            return None
        return NextQuery(query, self.model.queries[query], self._information(by_target, query))

    def _node(self, objects: _Ints) -> Nodes:
        few = _FEW if self.model.stop == "object" else _FEW_OF_GROUPS
        if len(objects) > few * self.model.n_objects and self._bits is not None:
            return BitNode(self._bits, objects)
        responses, target_of = self.model.responses, self.model.target_of
        return RowNodes(responses, objects, np.array([0]), target_of, self._weights, self._exact)

    def _information(self, objects: _Ints, query: int) -> float:
        """Of the answer on the target, bits, by the prior."""
        _, target = np.unique(self.model.target_of[objects], return_inverse=True)
        prior = self.model.prior[objects]
        joint = sums_by_code(2 * target + self.model.responses.at(objects, query), prior, 2 * int(target.max()) + 2)
        return information(joint.reshape(-1, 2) / joint.sum())


def information(joint: _Floats) -> float:
    """Mutual information of rows and columns.

    Parameters
    ----------
    joint : ndarray, shape = (rows, columns)
        Probabilities, summing to 1.

    Returns
    -------
    float
        Bits, at least 0.
    """
    nats = entr(joint.sum(axis=0)).sum() + entr(joint.sum(axis=1)).sum() - entr(joint).sum()
    return max(0.0, float(nats / np.log(2.0)))
