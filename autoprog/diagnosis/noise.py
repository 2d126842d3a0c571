"""Answers that may be wrong: the posterior of the objects, and the most informative query.

=========  ==========================================================================================  =========
symbol     meaning                                                                                     shape
=========  ==========================================================================================  =========
B          response of object i to query q                                                             (M, N)
fp, fn     P(answer 1 | B = 0) and P(answer 0 | B = 1) of each query                                   (N,)
P          P(answer 1 | object i): 1 - fn where B is 1, fp where it is 0, 1/2 where it is unknown      (M, N)
w          posterior of the objects, proportional to prior times likelihood of the answers             (M,)
w^k        its sum over the objects of target k                                                        (K,)
p^k        P(answer 1 | target k) = sum_{i in k} w_i P_iq / w^k                                        (K, N)
=========  ==========================================================================================  =========

    information of q = h(sum_k w^k p^k) - sum_k w^k h(p^k)    bits

Answers are assumed independent given the object; a query is asked once. The posterior does not depend on how queries
were chosen or why the session stopped. A session that stops at certainty c therefore names the right target with the
stated probability, as long as the rates are right.

References
----------
Nowak 2011, IEEE Transactions on Information Theory 57:7893 (noisy generalised binary search); Golovin, Krause & Ray
2010, NIPS (information gain and noise).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp

from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.next_query import NextQuery, Remembered
from autoprog.diagnosis.responses import Responses
from autoprog.diagnosis.scores import TIE
from autoprog.diagnosis.splitting import run_sums

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

_LN2 = float(np.log(2.0))

# An object whose posterior is below this share of the largest does not change the information in double precision.
_NEGLIGIBLE = 1e-18


def likelihood(model: DiagnosisModel, query: int, *, answer: bool) -> _Floats:
    """Probability of an answer given each object, shape (M,)."""
    return _by_response(model, query, *_chances(model, query, answer=answer), 0.5)


def _chances(model: DiagnosisModel, query: int, *, answer: bool) -> tuple[float, float]:
    """Probability of an answer given response 1, and given response 0."""
    fp, fn = float(model.false_positive[query]), float(model.false_negative[query])
    return (1.0 - fn, fp) if answer else (fn, 1.0 - fp)


def _by_response(model: DiagnosisModel, query: int, one: float, zero: float, unknown: float) -> _Floats:
    """A value for each object by its response to a query, shape (M,)."""
    objects = np.arange(model.n_objects)
    values: _Floats = np.where(model.responses.at(objects, query), one, zero)
    if model.responses.known is not None:
        values[~model.responses.known_at(objects, query)] = unknown
    return values


def log_posterior(model: DiagnosisModel, answers: Sequence[tuple[int, bool]]) -> _Floats:
    """Log posterior of the objects given the answers, shape (M,); all -inf where no object is consistent with them."""
    return _normalised(_weighed(model, np.log(model.prior), answers))


def _weighed(model: DiagnosisModel, total: _Floats, answers: Sequence[tuple[int, bool]]) -> _Floats:
    """Log weights of the objects after further answers."""
    with np.errstate(divide="ignore"):
        for query, answer in answers:
            # Three logarithms, not one per object.
            one, zero = np.log(_chances(model, query, answer=answer))
            total = total + _by_response(model, query, one, zero, -_LN2)
    return total


def _normalised(total: _Floats) -> _Floats:
    whole = float(logsumexp(total))
    return total - whole if np.isfinite(whole) else np.full(len(total), -np.inf)


class Inference:
    """Next queries of one model with noise; caches up to `capacity` of them."""

    def __init__(self, model: DiagnosisModel, capacity: int) -> None:
        self.model = model
        self._remembered = Remembered(capacity)
        # Which responses are known, as a matrix of its own, so that it is summed like the responses.
        known = model.responses.known
        self._known = None if known is None else Responses(known, model.n_queries)
        self._keys = None
        if model.ties == "random":
            keys = np.random.default_rng(model.seed).integers(2**63, size=(model.n_queries, 3))
            self._keys = keys
        # The answers of the last posterior and their log weights: most sessions add one to them.
        self._last: tuple[tuple[tuple[int, bool], ...], _Floats] = ((), np.log(model.prior))

    def forget(self) -> None:
        """Clear the cache."""
        self._remembered.clear()

    def log_posterior(self, answers: Sequence[tuple[int, bool]]) -> _Floats:
        """As the function of this name, the same bit by bit; quick after the posterior of all answers but the last."""
        given, (before, total) = tuple(answers), self._last
        if given[: len(before)] != before:
            before, total = (), np.log(self.model.prior)
        total = _weighed(self.model, total, given[len(before) :])
        self._last = given, total
        return _normalised(total)

    def next_query(
        self, posterior: _Floats, answers: tuple[tuple[int, bool], ...], barred: tuple[int, ...]
    ) -> NextQuery | None:
        """Choose the most informative query per cost, given the posterior after `answers`; None where none informs."""
        key = (tuple(sorted(answers)), barred)
        return self._remembered.get(key, lambda: self._found(posterior, key))

    def _found(self, posterior: _Floats, key: tuple[tuple[tuple[int, bool], ...], tuple[int, ...]]) -> NextQuery | None:
        answers, barred = key
        open_queries = np.ones(self.model.n_queries, dtype=bool)
        open_queries[[query for query, _ in answers]] = False
        open_queries[list(barred)] = False
        gain = expected_information(self.model, posterior, self.model.target_of, self._known)
        value = gain
        if not (gain[open_queries] > TIE).any():  # no single answer informs on the target, as with exclusive or
            value = expected_information(self.model, posterior, np.arange(self.model.n_objects), self._known)
        usable = np.flatnonzero(open_queries & (value > TIE))
        if not len(usable):
            return None
        rate = value[usable] / self.model.costs[usable]
        tied = usable[rate >= rate.max() * (1.0 - TIE)]
        query = int(tied[self._draw(len(tied), answers)])
        return NextQuery(query, self.model.queries[query], float(gain[query]))

    def _draw(self, count: int, answers: tuple[tuple[int, bool], ...]) -> int:
        """Index of one of `count` equal queries: the first, or one drawn by the seed and the answers."""
        if self._keys is None or count == 1:
            return 0
        signs = [int(self._keys[query, int(answer)]) for query, answer in answers]
        return int(np.random.default_rng([self.model.seed, *sorted(signs)]).integers(count))


def expected_information(
    model: DiagnosisModel, posterior: _Floats, target_of: _Ints, known: Responses | None
) -> _Floats:
    """Information of every query's answer on the target, shape (N,), bits in [0, 1]; None: all responses are known."""
    order = model.target_order if target_of is model.target_of else np.argsort(target_of, kind="stable")
    live = order[(posterior > posterior.max() * _NEGLIGIBLE)[order]]
    w, target = posterior[live], target_of[live]
    first = np.flatnonzero(np.diff(target, prepend=-1))
    fp, fn = model.false_positive, model.false_negative
    if len(first) == len(live):
        return _of_objects(model, live, w, known)
    mass = np.add.reduceat(w, first)[:, None]
    ones = run_sums(model.responses, live, w, first)
    there = mass if known is None else run_sums(known, live, w, first)
    yes = fp * (there - ones) + (1.0 - fn) * ones + 0.5 * (mass - there)
    p = np.clip(yes / mass, 0.0, 1.0)
    total = np.clip(yes.sum(axis=0) / mass.sum(), 0.0, 1.0)
    return _bounded(_coin(total) - (mass * _coin(p)).sum(axis=0) / mass.sum())


def _of_objects(model: DiagnosisModel, live: _Ints, w: _Floats, known: Responses | None) -> _Floats:
    """As `expected_information` where every object is its own target: P takes three values per query."""
    fp, fn = model.false_positive, model.false_negative
    start = np.array([0])
    whole = float(w.sum())
    ones = run_sums(model.responses, live, w, start)[0] / whole
    there = np.ones_like(ones) if known is None else run_sums(known, live, w, start)[0] / whole
    zeros, empty = np.maximum(there - ones, 0.0), np.maximum(1.0 - there, 0.0)
    total = fp * zeros + (1.0 - fn) * ones + 0.5 * empty
    return _bounded(_coin(np.clip(total, 0.0, 1.0)) - ones * _coin(fn) - zeros * _coin(fp) - empty)


def _coin(p: _Floats) -> _Floats:
    entropy: _Floats = (entr(p) + entr(1.0 - p)) / _LN2
    return entropy


def _bounded(information: _Floats) -> _Floats:
    return np.clip(information, 0.0, 1.0)  # rounding can leave -1e-17
