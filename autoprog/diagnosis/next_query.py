"""The next query of a session where answers are right, found when it is wanted and remembered.

No tree is built. What is left after the answers decides the query, so that sessions that have come to the same objects
by whatever way share it, through a bounded table of the last that were wanted.
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

from autoprog.diagnosis.choice import tie_keys
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.splitting import Splitter, make_splitter

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


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
        self._remembered = Remembered(capacity)

    def forget(self) -> None:
        """Remember nothing."""
        self._remembered.clear()

    @cached_property
    def _arranged(self) -> tuple[_Ints | None, DiagnosisModel, Splitter]:
        """Objects by target, so that a node's rows are read one after another: which, their model, what divides it."""
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
        """What to ask when these objects are left.

        Parameters
        ----------
        objects : ndarray of int, shape = (m,)
            Ascending, of at least two targets.
        barred : tuple of int
            Queries that cannot be answered, ascending.

        Returns
        -------
        NextQuery or None
            None where nothing that can be asked splits the objects.
        """
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
    """Of the answer on the target, bits, by the prior; the objects stand by target."""
    prior = model.prior[objects]
    prior = prior / prior.sum()
    yes = prior * model.responses.at(objects, query)
    answer = min(1.0, float(yes.sum()))
    bits = float(entr(answer) + entr(1.0 - answer)) / math.log(2.0)
    if model.stop == "object":
        return bits
    first = np.flatnonzero(np.diff(model.target_of[objects], prepend=-1))
    whole, ones = np.add.reduceat(prior, first), np.add.reduceat(yes, first)
    divided = (ones > 0) & (ones < whole)
    share = ones[divided] / whole[divided]
    within = float(whole[divided] @ (entr(share) + entr(1.0 - share))) / math.log(2.0)
    return max(0.0, bits - within)
