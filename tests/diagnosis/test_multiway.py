"""Questions with more than two answers: the source's theorems with log A, greedy choices, the best tree."""

from __future__ import annotations

import math
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.diagnosis import (
    ModelOptions,
    MultiwayModel,
    MultiwayTree,
    build_model,
    build_multiway_model,
    expected_cost,
    expected_queries,
    exponential_cost,
    grow_multiway_tree,
    grow_tree,
    multiway_bounds,
    multiway_state,
    worst_case_cost,
)
from autoprog.errors import InvalidInputError


def random_multiway(
    rng: np.random.Generator, M: int, N: int, A: int, K: int | None = None, *, priced: bool = False, base: float = 1.0
) -> MultiwayModel:
    answers = [[f"a{c}" for c in range(int(rng.integers(2, A + 1)))] for _ in range(N)]
    return build_multiway_model(
        [[str(rng.choice(answers[q])) for q in range(N)] for _ in range(M)],
        answers=answers,
        groups=None if K is None else [f"g{k}" for k in rng.integers(K, size=M)],
        prior=rng.dirichlet(np.ones(M)).tolist(),
        costs=(0.5 + rng.random(N)).tolist() if priced else None,
        exponential_cost_base=base,
    )


def shares(model: MultiwayModel, objects: NDArray[np.int64]) -> list[float]:
    """Prior of each target among these objects."""
    return [s for s in np.bincount(model.group_of[objects], model.prior[objects]).tolist() if s > 0]


def entropy(masses: list[float]) -> float:
    """Of masses that need not sum to 1, bits."""
    whole = sum(masses)
    return -sum(m / whole * math.log2(m / whole) for m in masses)


def parts(model: MultiwayModel, objects: NDArray[np.int64], q: int) -> list[NDArray[np.int64]]:
    column = model.responses[objects, q]
    return [objects[column == c] for c in np.unique(column)]


def information(model: MultiwayModel, objects: NDArray[np.int64], q: int) -> float:
    mass = model.prior[objects].sum()
    return entropy(shares(model, objects)) - sum(
        model.prior[part].sum() / mass * entropy(shares(model, part)) for part in parts(model, objects, q)
    )


def diverse(model: MultiwayModel, objects: NDArray[np.int64], alpha: float) -> float:
    """pi D."""
    return float(sum(s**alpha for s in shares(model, objects)) ** (1 / alpha))


def value(model: MultiwayModel, objects: NDArray[np.int64], q: int) -> float:
    """What is least at the query to ask, by its definition."""
    mass, sides = model.prior[objects].sum(), parts(model, objects, q)
    priced = (model.costs != model.costs[0]).any()
    share = [model.prior[side].sum() / mass for side in sides]
    if model.base > 1:
        alpha = 1 / (1 + math.log2(model.base))
        children = sum(diverse(model, side, alpha) for side in sides)
        score, gain = math.log(children / mass), math.log(diverse(model, objects, alpha) / children, model.base)
    elif model.grouped:
        gain = information(model, objects, q)
        score = -gain
    else:
        score, gain = max(share), 1 - sum(s * s for s in share)
    return -gain / model.costs[q] if priced else score


@pytest.mark.parametrize("K", [None, 3])
@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("base", [1.0, 3.0])
def test_every_choice_is_the_best_of_those_that_split(K: int | None, priced: bool, base: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(12):
        model = random_multiway(rng, 25, 8, 4, K, priced=priced, base=base)
        tree = grow_multiway_tree(model)
        for node in range(tree.n_nodes):
            objects = tree.objects_of(node)
            splitting = [q for q in range(8) if len(parts(model, objects, q)) > 1]
            if tree.query[node] < 0:
                assert not splitting or len(set(model.group_of[objects])) == 1
                continue
            best = min(value(model, objects, q) for q in splitting)
            assert value(model, objects, int(tree.query[node])) == pytest.approx(best, abs=1e-10)
            below = tree.children(node)
            sides = parts(model, objects, int(tree.query[node]))
            assert [tree.objects_of(child).tolist() for child in below.values()] == [s.tolist() for s in sides]


@pytest.mark.parametrize(("grouped", "base"), [(False, 1.0), (True, 1.0), (False, 3.0)])
def test_beside_a_near_free_query_the_others_are_compared_by_gain_per_cost(grouped: bool, base: float) -> None:
    digits = [["last" if i == 8 else "no", "seventh" if i == 7 else "no", str(i // 3), str(i % 3)] for i in range(9)]
    model = build_multiway_model(
        digits,
        groups=list("abcdefghi") if grouped else None,
        costs=[1e-11, 100.0, 101.0, 101.0],
        exponential_cost_base=base,
    )
    assert multiway_state(model, {}).next_query == model.queries[0]
    assert multiway_state(model, {model.queries[0]: "no"}).next_query == model.queries[2]


@pytest.mark.parametrize("K", [None, 3])
@pytest.mark.parametrize("base", [1.5, 4.0])
def test_the_theorems_hold_with_all_answers(K: int | None, base: float) -> None:
    """L_1 and lambda^L as sums over nodes, whatever the leaves hold; bounds with log A."""
    rng = np.random.default_rng(2)
    alpha = 1 / (1 + math.log2(base))
    for number in range(30):
        model = random_multiway(rng, int(rng.integers(1, 20)), 6, 2 + number % 4, K, base=base)
        tree = grow_multiway_tree(model)
        everything, leaves = np.arange(len(model.objects)), [tree.objects_of(int(leaf)) for leaf in tree.leaves]
        first = entropy(shares(model, everything))
        power = diverse(model, everything, alpha)
        for node in np.flatnonzero(tree.query >= 0):
            objects, q = tree.objects_of(int(node)), int(tree.query[node])
            mass = float(model.prior[objects].sum())
            first += mass * (1 - information(model, objects, q))
            power += (base - 1) * base ** int(tree.depth[node]) * mass - diverse(model, objects, alpha)
            power += sum(diverse(model, side, alpha) for side in parts(model, objects, q))
        for objects in leaves:
            mass = float(model.prior[objects].sum())
            first -= mass * entropy(shares(model, objects))
            power -= diverse(model, objects, alpha) - mass
        assert expected_cost(tree) == pytest.approx(first, abs=1e-10)
        assert base ** exponential_cost(tree, base) == pytest.approx(power, rel=1e-9)
        bounds = multiway_bounds(model)
        assert expected_cost(tree) >= bounds.expected - 1e-12
        assert exponential_cost(tree, base) >= bounds.exponential - 1e-12
        assert worst_case_cost(tree) >= bounds.worst_case - 1e-12


def test_the_bound_is_met_by_a_code_over_three_letters() -> None:
    rows = [[a, b] for a in "xyz" for b in "xyz"]
    model = build_multiway_model(rows, exponential_cost_base=2.0)
    tree, bounds = grow_multiway_tree(model), multiway_bounds(model)
    assert expected_cost(tree) == pytest.approx(bounds.expected) == pytest.approx(2)
    assert exponential_cost(tree, 2.0) == pytest.approx(bounds.exponential) == pytest.approx(2)
    assert worst_case_cost(tree) == pytest.approx(bounds.worst_case) == pytest.approx(2)


@pytest.mark.parametrize("K", [None, 3])
@pytest.mark.parametrize("base", [1.0, 3.0])
def test_no_tree_is_below_its_bound_or_the_best(K: int | None, base: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        model = random_multiway(rng, 7, 5, 3, K, base=base)

        @cache
        def least(left: frozenset[int], model: MultiwayModel = model) -> float:
            """Of the expected cost, or the mass times base ** cost to come, by enumeration of all trees."""
            objects = np.array(sorted(left))
            mass = float(model.prior[objects].sum())
            options = [
                sum(least(frozenset(side.tolist())) for side in sides)
                for q in range(5)
                if len(sides := parts(model, objects, q)) > 1
            ]
            done = len(set(model.group_of[objects])) == 1 or not options
            if base == 1:
                return 0.0 if done else mass + min(options)
            return mass if done else base * min(options)

        best = least(frozenset(range(7)))
        best = best if base == 1 else math.log(best, base)
        cost = exponential_cost(grow_multiway_tree(model), base)
        bounds = multiway_bounds(model)
        assert (bounds.expected if base == 1 else bounds.exponential) - 1e-12 <= best <= cost + 1e-12
        assert cost <= 1.9 * best + 1e-12


@pytest.mark.parametrize("K", [None, 4])
@pytest.mark.parametrize("base", [1.0, 5.0])
@pytest.mark.parametrize("priced", [False, True])
def test_two_answers_are_the_engine_of_two_answers(K: int | None, base: float, priced: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        matrix = rng.integers(0, 2, size=(30, 12))
        shared: dict[str, Any] = {
            "prior": rng.dirichlet(np.ones(30)).tolist(),
            "groups": None if K is None else [f"g{k}" for k in rng.integers(K, size=30)],
            "costs": (0.5 + rng.random(12)).tolist() if priced else None,
        }
        rows = [["no" if x == 0 else "yes" for x in row] for row in matrix]
        many = build_multiway_model(rows, answers=[["no", "yes"]] * 12, exponential_cost_base=base, **shared)
        two = build_model(matrix, options=ModelOptions(exponential_cost_base=base), **shared)
        first, second = grow_multiway_tree(many), grow_tree(two)
        assert np.array_equal(first.query, second.query)
        assert np.array_equal(first.order, second.order)
        assert exponential_cost(first, base) == pytest.approx(exponential_cost(second, base), rel=1e-12)


def test_batches_of_nodes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_multiway(np.random.default_rng(5), 120, 15, 4, 6)
    whole = grow_multiway_tree(model)
    monkeypatch.setattr("autoprog.diagnosis.multiway._SUMS", 1)
    parted = grow_multiway_tree(model)
    assert np.array_equal(whole.query, parted.query)
    assert np.array_equal(whole.order, parted.order)


@pytest.mark.parametrize(("grouped", "base"), [(False, 1.0), (True, 1.0), (False, 3.0)])
def test_many_answers_take_no_more_memory_than_few(grouped: bool, base: float) -> None:
    rng = np.random.default_rng(7)
    rows = rng.integers(100, size=(1000, 30)).astype(str).tolist()
    groups = [f"g{i % 500}" for i in range(1000)] if grouped else None
    model = build_multiway_model(rows, groups=groups, exponential_cost_base=base)
    assert model.most_answers == 100
    tracemalloc.start()
    try:
        assert multiway_state(model, {}).status == "asking"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * model.responses.nbytes


def walked(model: MultiwayModel, patient: int) -> tuple[dict[str, str | None], str]:
    """Answers of an object to what is asked, and the status at the end."""
    given: dict[str, str | None] = {}
    while (state := multiway_state(model, given)).next_query is not None:
        q = model.queries.index(state.next_query)
        given[state.next_query] = model.answers[q][model.responses[patient, q]]
    return given, state.status


def leaf_of(tree: MultiwayTree, patient: int) -> int:
    return next(int(leaf) for leaf in tree.leaves if patient in tree.objects_of(int(leaf)))


def test_sessions_follow_the_tree() -> None:
    rng = np.random.default_rng(6)
    for K in (None, 3):
        model = random_multiway(rng, 20, 4, 3, K)
        tree, asked = grow_multiway_tree(model), 0.0
        for patient in range(20):
            given, status = walked(model, patient)
            leaf = leaf_of(tree, patient)
            assert len(given) == tree.depth[leaf]
            pure = len(set(model.group_of[tree.objects_of(leaf)])) == 1
            assert status == ("identified" if pure else "ambiguous")
            asked += float(model.prior[patient]) * len(given)
        assert asked == pytest.approx(expected_queries(tree), abs=1e-9)


def test_a_session_tells_what_is_left() -> None:
    model = build_multiway_model(
        [["A", "+"], ["A", "-"], ["B", "+"], ["0", "+"]],
        queries=["group", "rhesus"],
        objects=["w", "x", "y", "z"],
        answers=[["A", "B", "AB", "0"], None],
        prior=[4, 2, 1, 1],
    )
    state = multiway_state(model, {"group": "A"})
    assert (state.status, state.next_query) == ("asking", "rhesus")
    assert state.remaining == pytest.approx({"w": 2 / 3, "x": 1 / 3})
    assert multiway_state(model, {"group": "A", "rhesus": None}).status == "ambiguous"
    assert multiway_state(model, {"group": "AB"}).status == "contradictory"
    assert multiway_state(model, {"group": "B"}).status == "identified"
    with pytest.raises(InvalidInputError) as error:
        multiway_state(model, {"group": "C", "age": "old"})
    assert [fault.pointer for fault in error.value.faults] == ["/group", "/age"]


def test_every_fault_is_named() -> None:
    with pytest.raises(InvalidInputError) as error:
        build_multiway_model(
            [["a", "b"], ["a"]],
            objects=["x", "x"],
            prior=[1.0, -1.0],
            costs=[0.0, 1.0],
            answers=[["a"]],
            exponential_cost_base=math.inf,
        )
    places = [fault.pointer for fault in error.value.faults]
    assert places == [
        "/responses/1", "/objects/1/name", "/objects/1/prior", "/queries/0/cost", "/exponential_cost_base", "/answers",
    ]  # fmt: skip
    with pytest.raises(InvalidInputError) as error:
        build_multiway_model([["a", "b"], ["c", ""]], answers=[["a", "a"], None])
    assert [fault.pointer for fault in error.value.faults] == ["/answers/0", "/responses/1/0", "/responses/1/1"]
    with pytest.raises(InvalidInputError) as error:
        build_multiway_model([["a"], [""]], answers=[["a", "a"]])
    assert [fault.pointer for fault in error.value.faults] == ["/answers/0", "/responses/1/0"]
    for empty in ([], [[]]):
        with pytest.raises(InvalidInputError, match="needs an object and a query"):
            build_multiway_model(empty)


@pytest.mark.parametrize(("base", "cost", "place"), [(1.0, 1e308, "/queries"), (1e300, 5e99, "/exponential_cost_base")])
def test_costs_that_no_path_can_add_up_are_refused(base: float, cost: float, place: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        build_multiway_model([["a", "b"], ["a", "c"], ["b", "b"]], costs=[cost, 1.0], exponential_cost_base=base)
    assert [fault.pointer for fault in error.value.faults] == [place]


def test_all_answers_of_a_query_are_counted_where_some_are_named() -> None:
    answers = [f"level {c}" for c in range(8)]
    with pytest.raises(InvalidInputError) as error:
        build_multiway_model([["level 0"], ["none"]], answers=[answers])
    (fault,) = error.value.faults
    assert fault.detail == "must be one of level 0, level 1, level 2, level 3, level 4 and 3 more"
    model = build_multiway_model([["level 0"], ["level 7"]], queries=["age"], answers=[answers])
    with pytest.raises(InvalidInputError, match="level 4 and 3 more, or null"):
        multiway_state(model, {"age": "none"})


@pytest.mark.parametrize(
    ("row", "last"),
    [
        (["x", 1], "550 more cells without a possible answer"),
        (["a"], "250 more rows of another length"),
    ],
)
def test_the_rest_of_many_faults_is_counted(row: list[Any], last: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        build_multiway_model([["a", "b"], *[row] * 300], answers=[["a"], None])
    faults = error.value.faults
    assert (len(faults), faults[-1].pointer, faults[-1].detail) == (51, "/responses", last)
