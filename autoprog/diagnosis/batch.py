"""Questions that are asked at once, before any of them is answered: blood is drawn once for several tests.

========  =======================================================================================================
symbol    meaning
========  =======================================================================================================
A         answers to the questions chosen so far: 2^k outcomes
Y         what is to be identified
I(q|A)    information of the answer to q on Y once A is known, in the mean over A, bits
========  =======================================================================================================

The first question is the session's next one; each further one has the largest I(q|A) per cost. Where answers are right
the information on objects is submodular, and what a batch chosen by information tells is at least 1 - 1/e of the most.

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
"""The most questions that are asked at once: the outcomes of their answers are gone through one by one."""


@dataclass(frozen=True)
class Batch:
    """Questions to ask at once.

    Attributes
    ----------
    queries : tuple of NextQuery
        In the order in which they were chosen; the gain of each is what it adds to those before it.
    gain : float
        Information of all answers together on the target, bits.
    """

    queries: tuple[NextQuery, ...]
    gain: float


def choose_batch(
    model: DiagnosisModel, posterior: _Floats, first: NextQuery, size: int, closed: Sequence[int]
) -> Batch:
    """Choose questions to ask at once.

    Parameters
    ----------
    model : DiagnosisModel
        With or without noise.
    posterior : ndarray, shape = (M,)
        Of the objects, summing to 1.
    first : NextQuery
        What is asked first.
    size : int
        How many at most, in [1, MAX_BATCH].
    closed : sequence of int
        Queries that were answered, or cannot be.

    Returns
    -------
    Batch
        Fewer where no further question would tell anything.
    """
    usable = np.ones(model.n_queries, dtype=bool)
    usable[[*closed, first.query]] = False
    information = _weighed(model, posterior) if model.is_noisy else _eliminating(model, posterior)
    chosen = [first]
    while len(chosen) < size:
        asked = [each.query for each in chosen]
        gain = information(asked, model.target_of)
        value = gain
        if not (gain[usable] > TIE).any():  # only answers together inform on the target, as under exclusive or
            value = information(asked, np.arange(model.n_objects))
        rate = np.where(usable & (value > TIE), value / model.costs, 0.0)
        if not rate.any():
            break
        query = int(np.argmax(rate >= rate.max() * (1.0 - TIE)))
        usable[query] = False
        chosen.append(NextQuery(query, model.queries[query], float(gain[query])))
    return Batch(tuple(chosen), float(sum(each.gain for each in chosen)))


_Information = Callable[[list[int], _Ints], _Floats]


def _eliminating(model: DiagnosisModel, posterior: _Floats) -> _Information:
    """I(q|A) of every query where answers are right: the mean over the sets that the answers leave."""
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
    """I(q|A) of every query where answers may be wrong: the mean over what the posterior would be."""
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
