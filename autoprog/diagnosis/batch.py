"""Several queries asked at once, before any is answered: blood is drawn once for several tests.

========  =======================================================================================================
symbol    meaning
========  =======================================================================================================
A         answers to the k queries chosen so far: 2^k outcomes
Y         target
I(q|A)    expected information of the answer to q on Y given A, bits
========  =======================================================================================================

The first query is the session's next one; each further one has the largest I(q|A) per cost. Where answers are right,
information on objects is submodular, and a batch chosen by information has at least 1 - 1/e of the largest.

References
----------
Nemhauser, Wolsey & Fisher 1978, Mathematical Programming 14:265.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.next_query import NextQuery
from autoprog.diagnosis.nodes import RowNodes
from autoprog.diagnosis.noise import expected_information, likelihood
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.scores import TIE, group_information

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

MAX_BATCH = 8
"""Maximum number of queries asked at once; the outcomes of their answers are enumerated."""


# A free query comes before all others, the most informative first.
_NEARLY_FREE = 1e-200


@dataclass(frozen=True)
class Batch:
    """Queries to ask at once, in the order chosen; the gain of each is added to those before it."""

    queries: tuple[NextQuery, ...]
    gain: float  # information of all answers together on the target, bits


def choose_batch(
    model: DiagnosisModel,
    posterior: _Floats,
    first: NextQuery,
    size: int,
    closed: Sequence[int],
    costs: _Floats | None = None,
) -> Batch:
    """Choose up to `size` queries to ask at once, `first` first and none of `closed`; fewer where none would inform."""
    positive = np.maximum(model.costs if costs is None else costs, _NEARLY_FREE)
    usable = np.ones(model.n_queries, dtype=bool)
    usable[[*closed, first.query]] = False
    information = _weighed(model, posterior) if model.is_noisy else _eliminating(model, posterior)
    chosen = [first]
    while len(chosen) < size:
        asked = [each.query for each in chosen]
        gain = information(asked, model.target_of)
        value = gain
        if not (gain[usable] > TIE).any():  # only several answers together inform on the target, as with exclusive or
            value = information(asked, np.arange(model.n_objects))
        rate = np.where(usable & (value > TIE), value / positive, 0.0)
        if not rate.any():
            break
        query = int(np.argmax(rate >= rate.max() * (1.0 - TIE)))
        usable[query] = False
        chosen.append(NextQuery(query, model.queries[query], float(gain[query])))
    return Batch(tuple(chosen), float(sum(each.gain for each in chosen)))


def single_information(model: DiagnosisModel, posterior: _Floats, target_of: _Ints) -> _Floats:
    """Information of every query's answer on the targets, shape (N,), bits, at least 0."""
    information = _weighed(model, posterior) if model.is_noisy else _eliminating(model, posterior)
    return information([], target_of)


_Information = Callable[[list[int], _Ints], _Floats]


def _eliminating(model: DiagnosisModel, posterior: _Floats) -> _Information:
    """I(q|A) of every query where answers are right: the mean over the sets of objects that the answers leave."""
    left = np.flatnonzero(posterior)

    def information(asked: list[int], target_of: _Ints) -> _Floats:
        outcome = np.zeros(len(left), dtype=np.int64)
        for query in asked:
            outcome = 2 * outcome + model.responses.at(left, query)
        by = np.lexsort((target_of[left], outcome))
        starts = np.flatnonzero(np.diff(outcome[by], prepend=-1))
        nodes = RowNodes(model.responses, left[by], starts, target_of, posterior, exact=False)
        gain = np.where((nodes.right > 0) & (nodes.left > 0), group_information(nodes).gain, 0.0)
        return nodes.mass @ gain

    return information


def _weighed(model: DiagnosisModel, posterior: _Floats) -> _Information:
    """I(q|A) of every query where answers may be wrong: the mean over the posteriors after the answers."""
    known = None if model.responses.known is None else Responses(model.responses.known, model.n_queries)

    def information(asked: list[int], target_of: _Ints) -> _Floats:
        outcomes = [posterior]
        for query in asked:
            chances = [likelihood(model, query, answer=answer) for answer in (False, True)]
            outcomes = [joint * chance for joint in outcomes for chance in chances]
        total = np.zeros(model.n_queries)
        for joint in outcomes:
            if (mass := float(joint.sum())) > 0:
                total += mass * expected_information(model, joint / mass, target_of, known)
        return total

    return information
