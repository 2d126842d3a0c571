"""Sessions that order tests: against the joint law of the answers written out, and on cases known by thought."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.catalogue import DiagnosticTest, Prices
from autoprog.diagnosis import Answer, ModelOptions, Ordering, Session, Sessions, build_model, revealing_tests
from autoprog.errors import InvalidInputError
from tests.diagnosis.models import random_model
from tests.diagnosis.test_batch import joint_information, models

_PANELS = (("a", 1.5, (0, 1, 2)), ("b", 1.0, (2, 3)), ("c", 0.4, (4,)))


def panels_of(sessions: Sessions) -> tuple[DiagnosticTest, ...]:
    names = sessions.model.queries
    return tuple(DiagnosticTest(name, cost, tuple(names[q] for q in queries)) for name, cost, queries in _PANELS)


def answered(session: Session) -> list[int]:
    index = {name: q for q, name in enumerate(session.model.queries)}
    return [index[answer.query] for answer in session.answers]


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_every_order_has_the_most_information_per_price(noisy: bool, grouped: bool) -> None:
    rng = np.random.default_rng(2)
    n_orders = n_free = 0
    for _ in range(12):
        sessions = Sessions(models(rng, noisy, grouped, (0.5 + rng.random(7)).tolist()))
        model = sessions.model
        session = sessions.open(certainty=0.99 if noisy else None, ordering=Ordering(panels_of(sessions)))
        while session.next_query is not None:
            done = set(session.spent.tests) if session.spent else set()
            still = [q for q in range(7) if q not in answered(session)]
            asked, order = session.next_query.query, session.next_query.order
            free = [q for name, _, queries in _PANELS if name in done for q in queries if q in still]
            w = session.posterior / session.posterior.sum()
            if asked in free:
                assert order is None
                n_free += 1
            else:
                assert joint_information(model, w, tuple(dict.fromkeys(free))) < 1e-9
                rates = {}
                for name, cost, queries in _PANELS:
                    left = tuple(q for q in queries if q in still)
                    if name not in done and left:
                        rates[name] = joint_information(model, w, left) / cost
                for q in set(still) - {q for _, _, queries in _PANELS for q in queries}:
                    rates[q] = joint_information(model, w, (q,)) / model.costs[q]
                taken = asked if order is None else order.test.name
                if max(rates.values()) > 1e-9:
                    assert rates[taken] == pytest.approx(max(rates.values()))
                    n_orders += 1
            truth = bool(rng.random() < 0.5)
            if not noisy:
                truth = bool(model.responses.at(np.flatnonzero(session.posterior)[:1], asked)[0])
            session = sessions.answer(session, session.next_query.name, truth)
            assert session.status != "contradictory"
    assert n_orders > 15
    assert n_free > 5


def test_tests_of_one_query_are_queries_of_that_cost() -> None:
    """Information per cost is the rule for groups, so a catalogue of single queries asks what the model's costs ask."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        costs = (0.2 + rng.random(8)).tolist()
        matrix, groups = rng.integers(0, 2, size=(12, 8)), [f"g{k}" for k in rng.integers(4, size=12)]
        options = ModelOptions(algorithm="ggbs")
        dear = Sessions(build_model(matrix, groups=groups, costs=costs, options=options))
        alike = Sessions(build_model(matrix, groups=groups, options=options))
        tests = tuple(DiagnosticTest(name, cost) for name, cost in zip(alike.model.queries, costs, strict=True))
        first, second = dear.open(), alike.open(ordering=Ordering(tests))
        while first.next_query is not None and second.next_query is not None:
            if first.next_query.gain < 1e-9:
                break  # rules for where nothing informs differ
            assert second.next_query.name == first.next_query.name
            answer = bool(rng.random() < 0.5)
            first = dear.answer(first, first.next_query.name, answer)
            second = alike.answer(second, second.next_query.name, answer)


def test_minutes_and_harm_change_what_is_ordered_first() -> None:
    sessions = Sessions(build_model([[0, 0], [1, 1]], queries=["CT", "ultrasound"]))
    tests = (DiagnosticTest("CT", 100.0, (), 5.0, 0.01), DiagnosticTest("ultrasound", 60.0, (), 40.0))
    for prices, first, price in (
        (Prices(), "ultrasound", 60.0),
        (Prices(minute=2.0), "CT", 110.0),
        (Prices(minute=2.0, harm=5000.0), "ultrasound", 140.0),
    ):
        query = sessions.open(ordering=Ordering(tests, prices)).next_query
        assert query is not None
        assert query.order is not None
        assert (query.name, query.order.test.name, query.order.price) == (first, first, price)


def test_what_was_spent_is_counted_once_a_test() -> None:
    matrix = [[int(bit) for bit in f"{i:04b}"] for i in range(16)]
    sessions = Sessions(build_model(matrix, queries=["p", "q", "r", "s"]))
    panel, single = DiagnosticTest("panel", 10.0, ("p", "q", "r"), 30.0, 0.5), DiagnosticTest("s", 1.0, (), 2.0)
    session = sessions.open(ordering=Ordering((panel, single), Prices(1.0, 2.0)))
    asked = []
    while session.next_query is not None:
        asked.append((session.next_query.name, None if session.next_query.order is None else "ordered"))
        session = sessions.answer(session, session.next_query.name, True)
    assert asked == [("s", "ordered"), ("p", "ordered"), ("q", None), ("r", None)]
    assert session.spent is not None
    assert session.spent.tests == ("s", "panel")
    assert (session.spent.cost, session.spent.minutes, session.spent.harm, session.spent.price) == (11, 32, 0.5, 44)
    back = sessions.undo(session, 4)
    assert back.spent == session.spent
    assert back.next_query is not None
    assert back.next_query.order is None


def panel_or_single() -> tuple[Sessions, Session]:
    """A panel whose answers inform most per price, beside a cheaper test of its first query."""
    matrix = [[int(bit) for bit in f"{i:03b}"] for i in range(8)]
    sessions = Sessions(build_model(matrix, queries=["p", "q", "r"]))
    tests = (DiagnosticTest("single p", 1.8, ("p",)), DiagnosticTest("panel", 3.0, ("p", "q", "r")))
    return sessions, sessions.open(ordering=Ordering(tests))


def spent_on(session: Session) -> tuple[str, ...]:
    assert session.spent is not None
    return session.spent.tests


def test_the_test_that_was_ordered_is_performed_and_not_a_cheaper_one() -> None:
    sessions, session = panel_or_single()
    orders = []
    while session.next_query is not None:
        order = session.next_query.order
        orders.append((session.next_query.name, session.next_query.test, order and order.test.name))
        session = sessions.answer(session, session.next_query.name, True)
    assert orders == [("p", "panel", "panel"), ("q", "panel", None), ("r", "panel", None)]
    assert [answer.test for answer in session.answers] == ["panel"] * 3
    assert spent_on(session) == ("panel",)
    assert session.spent is not None
    assert session.spent.cost == 3.0


def test_answers_to_a_batch_name_their_test_in_any_order() -> None:
    sessions, session = panel_or_single()
    batch = sessions.batch(session, 3)
    assert [(each.name, each.test, each.order is None) for each in batch.queries] == [
        ("p", "panel", False), ("q", "panel", True), ("r", "panel", True),
    ]  # fmt: skip
    for each in reversed(batch.queries):
        session = sessions.answer(session, each.name, True, volunteered=True, test=each.test)
    assert spent_on(session) == ("panel",)


def test_a_batch_orders_a_test_for_what_the_first_does_not_reveal() -> None:
    sessions = Sessions(build_model([[0, 0], [0, 1], [1, 0], [1, 1]], queries=["p", "q"]))
    tests = (DiagnosticTest("p", 1.0), DiagnosticTest("q", 2.0), DiagnosticTest("dear q", 3.0, ("q",)))
    batch = sessions.batch(sessions.open(ordering=Ordering(tests)), 2)
    assert [each.order and each.order.test.name for each in batch.queries] == ["p", "q"]


def test_a_volunteered_answer_takes_the_cheapest_test_unless_it_names_one() -> None:
    sessions, session = panel_or_single()
    ordering = session.ordering
    assert spent_on(sessions.open([Answer("p", True)], ordering=ordering)) == ("single p",)
    assert spent_on(sessions.open([Answer("p", True, test="panel")], ordering=ordering)) == ("panel",)
    both = sessions.open([Answer("p", True), Answer("q", True)], ordering=ordering)
    assert spent_on(both) == ("single p", "panel")
    assert (
        sessions.resume([Answer("p", True)], 1.0, ordering).spent
        == sessions.open([Answer("p", True)], ordering=ordering).spent
    )


def test_a_test_that_reveals_no_such_query_is_refused() -> None:
    sessions, session = panel_or_single()
    for test in ("single p", "CT"):
        with pytest.raises(InvalidInputError, match="no such test that reveals"):
            sessions.answer(session, "q", True, volunteered=True, test=test)
    with pytest.raises(InvalidInputError, match="orders no tests"):
        sessions.open([Answer("p", True, test="panel")])


def test_an_answer_that_was_not_available_takes_no_test() -> None:
    sessions = Sessions(build_model([[0, 0], [0, 1], [1, 0], [1, 1]], queries=["p", "q"]))
    session = sessions.open(ordering=Ordering((DiagnosticTest("panel", 10.0, ("p", "q")),)))
    session = sessions.answer(session, "p", None)
    assert session.spent is not None
    assert session.spent.tests == ()
    assert session.next_query is not None
    assert session.next_query.order is not None


def test_the_cheapest_test_reveals() -> None:
    sessions = Sessions(build_model([[0], [1]], queries=["CRP"]))
    tests = (DiagnosticTest("large panel", 9.0, ("CRP", "iron")), DiagnosticTest("CRP", 2.0))
    session = sessions.open(ordering=Ordering(tests))
    assert session.next_query is not None
    assert session.next_query.order is not None
    assert session.next_query.order.test.name == "CRP"
    assert (
        sessions.answer(session, "CRP", True).spent
        == sessions.open([Answer("CRP", True)], None, session.ordering).spent
    )


def test_a_test_without_a_price_is_ordered_by_name_until_it_is_performed() -> None:
    sessions = Sessions(build_model([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]], queries=["p", "q", "CT"]))
    tests = (DiagnosticTest("history", 0.0, ("p", "q")), DiagnosticTest("CT", 5.0))
    session = sessions.open(ordering=Ordering(tests))
    orders = []
    for answer in (True, True):
        assert session.next_query is not None
        order = session.next_query.order
        orders.append((session.next_query.name, order and (order.test.name, order.price)))
        session = sessions.answer(session, session.next_query.name, answer)
    assert orders == [("p", ("history", 0.0)), ("CT", ("CT", 5.0))]
    assert session.spent is not None
    assert session.spent.tests == ("history", "CT")
    healthy = sessions.answer(sessions.open(ordering=Ordering(tests)), "p", False)
    assert healthy.next_query is not None
    assert (healthy.next_query.name, healthy.next_query.order) == ("q", None)


def test_under_exclusive_or_a_panel_that_informs_is_ordered_whole() -> None:
    model = build_model([[0, 0], [0, 1], [1, 0], [1, 1]], queries=["p", "q"], groups=["even", "odd", "odd", "even"])
    sessions = Sessions(model)
    session = sessions.open(ordering=Ordering((DiagnosticTest("panel", 5.0, ("p", "q")),)))
    for _ in range(2):
        assert session.next_query is not None
        session = sessions.answer(session, session.next_query.name, True)
    assert session.status == "identified"
    # Two tests of one query each inform only together: they are ordered by what they tell of the objects.
    alone = sessions.open(ordering=Ordering((DiagnosticTest("p", 5.0), DiagnosticTest("q", 4.0))))
    assert alone.next_query is not None
    assert (alone.next_query.name, alone.next_query.gain) == ("q", 0.0)


def test_queries_of_a_cohort_belong_to_their_feature() -> None:
    names = ["age > 40", "age > 60", "agent", "cp = typical", "stage >= II", "cp"]
    model = build_model(np.eye(6, dtype=int), queries=names)
    for features, expected in ((("age",), 2), (("cp",), 2), (("stage", "agent"), 2), (("ag",), 0)):
        test = DiagnosticTest("t", 1.0, features)
        session = Sessions(model).open(ordering=Ordering((test,)))
        costs = Sessions(model)._ordered(Ordering((test,))).costs([0] if expected else [])
        assert int((costs == 0).sum()) == expected
        assert revealing_tests(model, [test]) == ((test,) if expected else ())
        assert session.spent is not None


def test_a_batch_holds_what_the_ordered_test_reveals_first() -> None:
    rng = np.random.default_rng(5)
    model = random_model(rng, 60, 6)
    sessions = Sessions(model)
    q = model.queries
    tests = (DiagnosticTest("panel", 2.0, q[:3]), *(DiagnosticTest(name, 1.9) for name in q[3:]))
    session = sessions.open(ordering=Ordering(tests))
    batch = sessions.batch(session, 5)
    assert {each.name for each in batch.queries[:3]} == set(q[:3])
    assert batch.queries[0] == session.next_query


def test_prices_look_alike_where_decimals_do() -> None:
    test = DiagnosticTest("t", 0.1, (), 3.0, 0.0)
    assert Prices(minute=0.1).price(test) == 0.4
    assert Prices().price(test) == 0.1
    assert DiagnosticTest.from_json(test.to_json()) == test
    assert DiagnosticTest.from_json({"name": "t", "cost": 1, "features": ["x"]}) == DiagnosticTest("t", 1.0, ("x",))
    assert Prices.from_json(Prices(1.0, 2.0).to_json()) == Prices(1.0, 2.0)
