"""Trees: the greedy choice at every node, what the sheet's edge cases ask, costs a query."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autoprog.diagnosis import (
    DiagnosisModel,
    ModelOptions,
    build_model,
    expected_cost,
    expected_queries,
    grow_tree,
    tree_report,
)
from autoprog.diagnosis.splitting import RowSplitter
from autoprog.errors import ConflictError
from tests.diagnosis.models import random_model, scored


@pytest.mark.timeout(60)
@pytest.mark.parametrize("least", [5e-324, 1e-310, 1e-200])
def test_costs_next_to_nothing_are_asked_first_and_end(least: float) -> None:
    """A gain for next to nothing is more than a number holds; a query that splits nothing is never asked for it."""
    model = build_model([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]], costs=[least, 1.0, least])
    tree = grow_tree(model)
    assert len(tree.leaves) == 4
    assert {int(tree.query[node]) for node in tree.internal} == {1, 2}
    assert int(tree.query[0]) == 2


def _is_greedy(model: DiagnosisModel, algorithm: str, base: float) -> None:
    tree = grow_tree(model)
    for node in tree.internal:
        objects = tree.objects_of(int(node))
        scores = [scored(model, objects, q, algorithm, base) for q in range(model.n_queries)]
        least = min(s for s in scores if s is not None)
        tied = [q for q, s in enumerate(scores) if s is not None and s <= least + 1e-10]
        assert tree.query[node] in tied
        yes = model.responses.at(objects, int(tree.query[node]))
        assert np.array_equal(tree.objects_of(int(tree.no[node])), objects[~yes])
        assert np.array_equal(tree.objects_of(int(tree.yes[node])), objects[yes])
    for leaf in tree.leaves:
        objects = tree.objects_of(int(leaf))
        one_target = len(set(model.target_of[objects])) == 1
        assert one_target or all(scored(model, objects, q, "gbs", 1.0) is None for q in range(model.n_queries))


@pytest.mark.parametrize(
    ("algorithm", "base", "K"),
    [("gbs", 1.0, None), ("gbs", 1.0, 4), ("ggbs", 1.0, 4), ("lambda_gbs", 3.0, None), ("group_lambda_gbs", 3.0, 4)],
)
def test_every_choice_is_the_best_of_those_that_split(algorithm: str, base: float, K: int | None) -> None:
    rng = np.random.default_rng(1)
    for number in range(25):
        M, N = (int(n) for n in rng.integers(2, 40, size=2))
        options = ModelOptions(algorithm, base)  # type: ignore[arg-type]
        _is_greedy(random_model(rng, M, N, K=K, uniform=number % 2 == 0, options=options), algorithm, base)


def test_batches_of_nodes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(np.random.default_rng(2), 200, 30, K=6)
    monkeypatch.setattr("autoprog.diagnosis.tree.make_splitter", RowSplitter)
    whole = grow_tree(model)
    monkeypatch.setattr("autoprog.diagnosis.splitting._SCORES", 1)
    monkeypatch.setattr("autoprog.diagnosis.nodes._SEGMENT_CELLS", 90)
    parts = grow_tree(model)
    assert np.array_equal(whole.query, parts.query)
    assert np.array_equal(whole.order, parts.order)


def test_identical_rows_of_one_group_are_one_leaf() -> None:
    model = build_model([[0, 1], [0, 1], [1, 0]], groups=["a", "a", "b"])
    assert model.unidentifiable == ()
    tree = grow_tree(model)
    assert tree.n_nodes == 3
    assert not len(tree.ambiguous)
    as_objects = build_model([[0, 1], [0, 1], [1, 0]])
    assert as_objects.unidentifiable == ((0, 1),)


def test_identical_rows_of_different_groups_end_ambiguous() -> None:
    model = build_model([[0, 1], [0, 1], [1, 0], [0, 1]], groups=["a", "b", "b", "a"], prior=[1, 2, 4, 1])
    assert model.unidentifiable == ((0, 1, 3),)
    tree = grow_tree(model)
    assert len(tree.ambiguous) == 1
    leaf = tree.node(int(tree.ambiguous[0]))
    assert leaf["objects"] == ["object 1", "object 2", "object 4"]
    assert leaf["group"] is None
    assert leaf["groups"] == {"a": 0.5, "b": 0.5}
    assert leaf["probability"] == 0.5
    report = tree_report(tree)
    assert report.expected_cost == 1
    assert report.ambiguous_probability == 0.5
    assert report.identity_error < 1e-12


def test_exclusive_or_ends_although_nothing_informs() -> None:
    model = build_model([[0, 0], [0, 1], [1, 0], [1, 1]], groups=["1", "2", "2", "1"])
    assert expected_cost(grow_tree(model)) == 2


def test_constant_and_repeated_columns_are_harmless() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.integers(0, 2, size=(30, 8))
    prior = rng.dirichlet(np.ones(30))
    wider = np.hstack([np.zeros((30, 1), int), np.ones((30, 1), int), matrix, matrix])
    plain, more = build_model(matrix, prior=prior), build_model(wider, prior=prior)
    assert expected_cost(grow_tree(plain)) == pytest.approx(expected_cost(grow_tree(more)), abs=1e-12)


@pytest.mark.parametrize("groups", [None, ["a"], ["a", "a", "a"]])
def test_a_single_target_needs_no_question(groups: list[str] | None) -> None:
    M = len(groups or ["x"])
    tree = grow_tree(build_model([[0, 1]] * M, groups=groups))
    report = tree_report(tree)
    assert tree.n_nodes == 1
    assert (report.expected_cost, report.bounds.expected, report.worst_case) == (0, 0, 0)


def test_object_stop_of_gbs_goes_on_after_one_group_is_left() -> None:
    rng = np.random.default_rng(4)
    matrix, groups = rng.integers(0, 2, size=(30, 20)), [f"g{k}" for k in rng.integers(3, size=30)]
    to_group = grow_tree(build_model(matrix, groups=groups, options=ModelOptions("gbs")))
    to_object = grow_tree(build_model(matrix, groups=groups, options=ModelOptions("gbs", stop="object")))
    assert len(to_object.leaves) == 30
    assert len(to_group.leaves) < 30
    assert expected_queries(to_object) > expected_queries(to_group)


def test_a_tiny_mass_is_no_empty_child() -> None:
    prior = [1.0, 1.0, 1e-18, 1.0]
    tree = grow_tree(build_model([[0, 0], [0, 1], [1, 0], [0, 1]], prior=prior, groups=["a", "b", "c", "b"]))
    assert sorted(len(tree.objects_of(int(leaf))) for leaf in tree.leaves) == [1, 1, 2]
    assert not len(tree.ambiguous)


def test_equal_costs_change_nothing_and_dear_queries_are_avoided() -> None:
    rng = np.random.default_rng(5)
    for algorithm, K in (("gbs", None), ("ggbs", 4)):
        options = ModelOptions(algorithm)  # type: ignore[arg-type]
        matrix, prior = rng.integers(0, 2, size=(40, 20)), rng.dirichlet(np.ones(40))
        groups = None if K is None else [f"g{k}" for k in rng.integers(K, size=40)]
        plain = build_model(matrix, prior=prior, groups=groups, options=options)
        same = build_model(matrix, prior=prior, groups=groups, costs=[3.0] * 20, options=options)
        assert np.array_equal(grow_tree(plain).query, grow_tree(same).query)
        assert expected_cost(grow_tree(same)) == pytest.approx(3 * expected_cost(grow_tree(plain)), rel=1e-12)
        costs = np.where(np.arange(20) < 10, 1.0, 100.0)
        dear = build_model(matrix, prior=prior, groups=groups, costs=costs.tolist(), options=options)
        ignoring = grow_tree(plain).measured_by(dear)
        assert expected_cost(grow_tree(dear)) < 0.5 * expected_cost(ignoring)


@pytest.mark.parametrize(
    ("algorithm", "base"), [("gbs", 1.0), ("ggbs", 1.0), ("lambda_gbs", 4.0), ("group_lambda_gbs", "inf")]
)
def test_the_gain_per_cost_decides_and_the_cheaper_of_equals(algorithm: str, base: float | str) -> None:
    # two copies of every query, the second cheaper: only cheaper ones are asked
    rng = np.random.default_rng(6)
    matrix = rng.integers(0, 2, size=(30, 10))
    model = build_model(
        np.hstack([matrix, matrix]),
        groups=[f"g{k}" for k in rng.integers(4, size=30)],
        costs=[2.0] * 10 + [1.0] * 10,
        options=ModelOptions(algorithm, base),  # type: ignore[arg-type]
    )
    tree = grow_tree(model)
    assert (tree.query[tree.internal] >= 10).all()


def test_no_tree_of_a_model_whose_answers_may_be_wrong() -> None:
    model = build_model([[0, 1], [1, 0]], false_positive_rates=[0.1, 0.1])
    with pytest.raises(ConflictError, match="open a session"):
        grow_tree(model)


def test_pages_put_together_are_the_tree() -> None:
    tree = grow_tree(random_model(np.random.default_rng(7), 60, 20, K=5))
    everything = {document["node"]: document for document in tree.page()}
    assert sorted(everything) == list(range(tree.n_nodes))
    seen: dict[int, object] = {}
    waiting = [0]
    while waiting:
        page = {document["node"]: document for document in tree.page(waiting.pop(), depth=2)}
        seen |= page
        waiting += [c for d in page.values() if "query" in d for c in (d["no"], d["yes"]) if c not in page]
    assert seen == everything
    assert tree.page(0, depth=0) == [everything[0]]
    assert sum(d["probability"] for d in everything.values() if "objects" in d) == pytest.approx(1)
    for bad in (-1, tree.n_nodes):
        with pytest.raises(IndexError):
            tree.page(bad)


def test_leaf_of_every_object() -> None:
    tree = grow_tree(random_model(np.random.default_rng(8), 50, 12, K=4))
    for i, leaf in enumerate(tree.leaf_of):
        assert i in tree.objects_of(int(leaf))


def test_a_long_chain() -> None:
    n = 300
    tree = grow_tree(build_model(np.eye(n, dtype=int)))
    report = tree_report(tree)
    assert report.depth == n - 1
    assert report.expected_cost == pytest.approx((n * (n + 1) / 2 - 1) / n, rel=1e-12)
    assert report.identity_error < 1e-9
    assert math.isclose(report.bounds.expected, math.log2(n))
