"""The next query of a session without noise, computed on demand and cached; no tree is built.

The remaining objects decide the query, so sessions that reach the same objects by any path share it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from autoprog.catalogue import DiagnosticTest
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.scores import tie_keys
from autoprog.diagnosis.splitting import Splitter, make_splitter

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Order:
    """A test to order, with its price in money."""

    test: DiagnosticTest
    price: float


@dataclass(frozen=True)
class NextQuery:
    """The query to ask."""

    query: int  # index
    name: str
    gain: float  # expected information on the target, bits in [0, 1]; 0 where only several answers together inform
    order: Order | None = None  # the test to order for it; None if a performed test reveals it, or no test does
    test: str | None = None  # name of the test that reveals it, ordered or performed


class Remembered:
    """A thread-safe cache of next queries; the least recently used goes first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Hashable, NextQuery | None] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._entries.clear()

    def get(self, key: Hashable, find: Callable[[], NextQuery | None]) -> NextQuery | None:
        """Return the entry of a key, computed now if it is new."""
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
    """Next queries of one model without noise; caches up to `capacity` of them."""

    def __init__(self, model: DiagnosisModel, capacity: int) -> None:
        self.model = model
        self._remembered = Remembered(capacity)

    def forget(self) -> None:
        """Clear the cache."""
        self._remembered.clear()

    @cached_property
    def _arranged(self) -> tuple[_Ints | None, DiagnosisModel, Splitter]:
        """Objects sorted by target, so that a node's rows are contiguous: their order, model and splitter."""
        model = self.model
        if model.stop == "object":
            return None, model, make_splitter(model)
        order, keys = np.argsort(model.target_of, kind="stable"), tie_keys(model)
        arranged = dataclasses.replace(
            model,
            responses=Responses(model.responses.rows[order], model.n_queries),
            group_of=model.group_of[order],
            weights=model.weights[order],
        )
        return order, arranged, make_splitter(arranged, None if keys is None else keys[order])

    def next_query(self, objects: _Ints, barred: tuple[int, ...] = ()) -> NextQuery | None:
        """Choose the query for these objects (ascending, of at least two targets); None where none splits them."""
        is_left = np.zeros(self.model.n_objects, dtype=bool)
        is_left[objects] = True
        key = (hashlib.blake2b(np.packbits(is_left).tobytes(), digest_size=16).digest(), barred)
        return self._remembered.get(key, lambda: self._found(objects, is_left, barred))

    def _found(self, objects: _Ints, is_left: NDArray[np.bool_], barred: tuple[int, ...]) -> NextQuery | None:
        order, model, splitter = self._arranged
        left = objects if order is None else np.flatnonzero(is_left[order])
        closed = np.array(barred, dtype=np.int64) if barred else None
        query = int(splitter.choose(left, np.array([0]), np.array([len(left)]), closed)[0])
        return None if query < 0 else NextQuery(query, model.queries[query], _information(model, left, query))


def _information(model: DiagnosisModel, objects: _Ints, query: int) -> float:
    """Information of the answer on the target under the prior, bits; the objects are sorted by target."""
    some: _Ints | slice = objects if len(objects) < model.n_objects else slice(None)  # all: nothing is copied
    prior = model.prior[some]
    yes = prior * model.responses.at(some, query)
    mass = float(prior.sum())
    answer = min(1.0, float(yes.sum()) / mass)
    bits = float(entr(answer) + entr(1.0 - answer)) / math.log(2.0)
    if model.stop == "object":
        return bits
    target = model.target_of[some]
    first = np.append(0, 1 + np.flatnonzero(target[1:] != target[:-1]))
    whole, ones = np.add.reduceat(prior, first), np.add.reduceat(yes, first)
    divided = (ones > 0) & (ones < whole)
    share = ones[divided] / whole[divided]
    within = float(whole[divided] @ (entr(share) + entr(1.0 - share))) / mass / math.log(2.0)
    return max(0.0, bits - within)
