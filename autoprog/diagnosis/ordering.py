"""Sessions that order tests from a catalogue: what a question costs now, and which test to order next.

=========  ==========================================================================================
symbol     meaning
=========  ==========================================================================================
Y          target
t, p_t     test, and its price in money
Q_t        open queries that test t reveals: neither answered nor barred
A_t        the answers to Q_t
I(Y; A)    expected information of answers on the target, bits
=========  ==========================================================================================

An answer to the query asked names the test that was ordered for it, which is then performed. Any other answer may name
a test; otherwise it takes the cheapest that reveals the query, unless a performed test does. The other queries of a
performed test cost nothing, nor do those of a test without a price. As long as free queries together inform on the
target, the most informative of them is asked; its test is ordered unless it is performed. Otherwise the test with the
largest I(Y; A_t) / p_t is ordered, and its most informative query asked. A query that no test reveals counts as a test
of its own, at its cost in the model.
Where no test informs on the target, as with exclusive or, the objects take the targets' place. The model's algorithm
plays no part.

Where answers may be wrong, the 2^k outcomes of a test are enumerated for at most `MAX_BATCH` of its queries, the most
informative ones; the information is then a lower bound.

References
----------
Golovin & Krause 2011, JAIR 42:427 (gain per cost); `autoprog.diagnosis.scores` for queries without tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from autoprog.catalogue import DiagnosticTest, Prices
from autoprog.diagnosis.batch import MAX_BATCH, Batch, single_information
from autoprog.diagnosis.model import DiagnosisModel
from autoprog.diagnosis.next_query import NextQuery, Order, Remembered
from autoprog.diagnosis.noise import likelihood
from autoprog.diagnosis.responses import sums_by_code
from autoprog.diagnosis.scores import TIE

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# Cells of the outcomes of a test that are held in memory at once.
_MAX_OUTCOMES = 1 << 22


@dataclass(frozen=True)
class Ordering:
    """The tests that a session may order, and what minutes and harm are worth."""

    tests: tuple[DiagnosticTest, ...]
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True)
class Spent:
    """The tests that a session has performed, in order, and their totals."""

    tests: tuple[str, ...]
    cost: float
    minutes: float
    harm: float
    price: float


def revealing_tests(model: DiagnosisModel, tests: Iterable[DiagnosticTest]) -> tuple[DiagnosticTest, ...]:
    """Select the tests that reveal a query of the model, in the same order."""
    queries_of = _queries_by_name(model.queries)
    return tuple(test for test in tests if len(_revealed_queries(queries_of, test)))


class OrderedQueries:
    """Next queries of one model under one ordering; caches up to `capacity` of them."""

    def __init__(self, model: DiagnosisModel, ordering: Ordering, capacity: int) -> None:
        self.model = model
        self._remembered = Remembered(capacity)
        queries_of = _queries_by_name(model.queries)
        found = [(test, _revealed_queries(queries_of, test)) for test in ordering.tests]
        used = [(test, queries) for test, queries in found if len(queries)]
        self._queries = [queries for _, queries in used]
        self._orders = [Order(test, ordering.prices.price(test)) for test, _ in used]
        self._tests_of: dict[int, list[int]] = {}
        for t in sorted(range(len(used)), key=lambda t: self._orders[t].price):
            for query in self._queries[t]:
                self._tests_of.setdefault(int(query), []).append(t)

    def forget(self) -> None:
        """Clear the cache."""
        self._remembered.clear()

    def reveals(self, test: str, query: int) -> bool:
        """Whether the ordering has a test of this name that reveals a query."""
        return any(self._orders[t].test.name == test for t in self._tests_of.get(query, ()))

    def performed(self, answered: Iterable[tuple[int, str | None]]) -> tuple[int, ...]:
        """Indices of the tests that were performed for these answers (query, and test's name if known), in order."""
        done: dict[int, None] = {}
        for query, name in answered:
            tests = self._tests_of.get(query, [])
            named = [t for t in tests if self._orders[t].test.name == name]
            if named:
                done[named[0]] = None
            elif tests and done.keys().isdisjoint(tests):
                done[tests[0]] = None
        return tuple(done)

    def spent(self, performed: Sequence[int]) -> Spent:
        """Sum over the performed tests."""
        orders = [self._orders[t] for t in performed]
        return Spent(
            tuple(order.test.name for order in orders),
            sum(order.test.cost for order in orders),
            sum(order.test.minutes for order in orders),
            sum(order.test.harm for order in orders),
            sum(order.price for order in orders),
        )

    def costs(self, performed: Sequence[int]) -> _Floats:
        """What each query costs now, shape (N,), at least 0."""
        costs = self.model.costs.astype(np.float64).copy()
        for query, tests in self._tests_of.items():
            free = any(t in performed for t in tests)
            costs[query] = 0.0 if free else self._orders[tests[0]].price
        return costs

    def with_tests(self, batch: Batch, performed: tuple[int, ...]) -> Batch:
        """Name the tests of a batch's queries; the first query has its own, which counts as performed."""
        queries = list(batch.queries[:1])
        for query in batch.queries[1:]:
            test = self._cheapest(query.query, performed)
            queries.append(self._with_test(query, test, performed))
            performed = performed if test is None else (*performed, test)
        return replace(batch, queries=tuple(queries))

    def _cheapest(self, query: int, performed: Sequence[int]) -> int | None:
        """The cheapest test that reveals a query, a performed one first; None if no test does."""
        tests = self._tests_of.get(query, [])
        return next((t for t in tests if t in performed), tests[0] if tests else None)

    def _with_test(self, query: NextQuery, test: int | None, performed: Sequence[int]) -> NextQuery:
        if test is None:
            return query
        order = self._orders[test]
        return replace(query, order=None if test in performed else order, test=order.test.name)

    def next_query(
        self, posterior: _Floats, told: Sequence[tuple[int, bool]], barred: tuple[int, ...], performed: tuple[int, ...]
    ) -> NextQuery | None:
        """Choose the query to ask, and the test to order for it; None where none informs."""
        key = (tuple(sorted(told)), barred, performed)
        return self._remembered.get(key, lambda: self._found(posterior, told, barred, performed))

    def _found(
        self, posterior: _Floats, told: Sequence[tuple[int, bool]], barred: tuple[int, ...], performed: tuple[int, ...]
    ) -> NextQuery | None:
        is_open = np.ones(self.model.n_queries, dtype=bool)
        is_open[[*(query for query, _ in told), *barred]] = False
        of_target = single_information(self.model, posterior, self.model.target_of)
        objects = np.arange(self.model.n_objects)
        for target_of in (self.model.target_of, objects):
            chosen = self._choose(posterior, target_of, is_open, performed)
            if chosen is not None:
                query, test = chosen
                found = NextQuery(query, self.model.queries[query], float(of_target[query]))
                return self._with_test(found, test, performed)
        return None

    def _choose(
        self, posterior: _Floats, target_of: _Ints, is_open: NDArray[np.bool_], performed: tuple[int, ...]
    ) -> tuple[int, int | None] | None:
        """Choose a query and the test that reveals it, if any; None where nothing informs on these targets."""
        costs = self.costs(performed)
        single = single_information(self.model, posterior, target_of)
        information = _JointInformation(self.model, posterior, target_of, single)
        free = np.flatnonzero(is_open & (costs == 0))
        if len(free) and information.exceeds(free):
            query = information.best(free)
            return query, self._cheapest(query, performed)
        alone = np.array([q for q in np.flatnonzero(is_open & (costs > 0)) if q not in self._tests_of], dtype=np.int64)
        best: tuple[int, int | None] | None = None
        rate = 0.0
        if len(alone) and single[alone].max() > TIE:
            rates = single[alone] / costs[alone]
            best, rate = (int(alone[np.argmax(rates)]), None), float(rates.max())
        for t, order in enumerate(self._orders):
            queries = self._queries[t][is_open[self._queries[t]]]
            if order.price == 0 or not len(queries) or (costs[queries] == 0).all():
                continue
            value = information.of(queries)
            if value > TIE and value / order.price > rate * (1.0 + TIE):
                best, rate = (information.best(queries), t), value / order.price
        return best


def _queries_by_name(names: Sequence[str]) -> dict[str, list[int]]:
    """Indices of the queries of each feature or finding: those named like it, or that ask for its value or level."""
    found: dict[str, list[int]] = {}
    for q, name in enumerate(names):
        for of in {name, *(name.partition(sign)[0] for sign in (" > ", " >= ", " = "))}:
            found.setdefault(of, []).append(q)
    return found


def _revealed_queries(queries_of: Mapping[str, Sequence[int]], test: DiagnosticTest) -> _Ints:
    """Indices of the queries that a test reveals, ascending."""
    return np.array(sorted({q for name in test.revealed for q in queries_of.get(name, ())}), dtype=np.int64)


class _JointInformation:
    """I(Y; A) of the answers to several queries together."""

    def __init__(self, model: DiagnosisModel, posterior: _Floats, target_of: _Ints, single: _Floats) -> None:
        self._model, self._single = model, single
        self._left = np.flatnonzero(posterior)
        self._w = posterior[self._left] / posterior.sum()
        self._target = np.unique(target_of[self._left], return_inverse=True)[1].astype(np.int64)

    def of(self, queries: _Ints) -> float:
        """Bits, at least 0."""
        if len(queries) == 1:
            return float(self._single[queries[0]])
        return self._enumerated(queries) if self._model.is_noisy else self._divided(queries)

    def exceeds(self, queries: _Ints) -> bool:
        """Whether the answers inform at all."""
        return bool(self._single[queries].max() > TIE) or self.of(queries) > TIE

    def best(self, queries: _Ints) -> int:
        """The query that informs most by itself; where none does, the first that divides the objects left."""
        if self._single[queries].max() > TIE:
            return int(queries[np.argmax(self._single[queries])])
        for query in queries:
            yes = likelihood(self._model, int(query), answer=True)[self._left]
            if np.ptp(yes) > 0:
                return int(query)
        msg = "the queries inform together, and none of them divides the objects"
        raise AssertionError(msg)

    def _divided(self, queries: _Ints) -> float:
        """Where answers are right, they divide the objects: H(A) + H(Y) - H(A, Y)."""
        answers = np.column_stack([self._model.responses.at(self._left, int(q)) for q in queries])
        code = np.unique(np.packbits(answers, axis=1), axis=0, return_inverse=True)[1].astype(np.int64).ravel()
        both = np.unique(code * (self._target.max() + 1) + self._target, return_inverse=True)[1].astype(np.int64)
        return max(0.0, self._entropy(code) + self._entropy(self._target) - self._entropy(both))

    def _entropy(self, code: _Ints) -> float:
        return float(entr(sums_by_code(code, self._w)).sum() / np.log(2.0))

    def _enumerated(self, queries: _Ints) -> float:
        """Where answers may be wrong: the sum over the outcomes of the most informative queries."""
        most = min(MAX_BATCH, max(1, int(np.log2(_MAX_OUTCOMES / len(self._left)))))
        chosen = queries[np.argsort(-self._single[queries], kind="stable")[:most]]
        outcomes = self._w[None]
        for query in chosen:
            yes = likelihood(self._model, int(query), answer=True)[self._left]
            outcomes = np.concatenate([outcomes * yes, outcomes * (1.0 - yes)])
        by_target = np.stack([sums_by_code(self._target, outcome) for outcome in outcomes])
        whole = entr(by_target.sum(axis=0)).sum() + entr(by_target.sum(axis=1)).sum()
        return max(0.0, float(whole - entr(by_target).sum()) / float(np.log(2.0)))
