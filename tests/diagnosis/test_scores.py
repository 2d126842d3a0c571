"""Scores against their definitions, however the sums are made; ties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.diagnosis import DiagnosisModel, ModelOptions, build_model, grow_tree, with_options
from autoprog.diagnosis.nodes import RowNodes
from autoprog.diagnosis.scores import Chooser, group_information, make_criterion
from autoprog.diagnosis.splitting import RowSplitter, make_splitter
from tests.diagnosis.models import by_target, diversity, random_model, scored

ALGORITHMS: tuple[tuple[str, float], ...] = (
    ("gbs", 1.0),
    ("ggbs", 1.0),
    ("lambda_gbs", 3.0),
    ("group_lambda_gbs", 3.0),
)


def _options(algorithm: str, base: float | str) -> ModelOptions:
    return ModelOptions(algorithm, base)  # type: ignore[arg-type]


def _nodes(model: DiagnosisModel, *sets: NDArray[np.int64]) -> RowNodes:
    sets = tuple(s[np.argsort(model.target_of[s], kind="stable")] for s in sets)
    starts = np.cumsum([0, *(len(s) for s in sets[:-1])])
    exact = model.has_whole_weights
    return RowNodes(model.responses, np.concatenate(sets), starts, model.target_of, model.weights, exact)


def _sparse_model(rng: np.random.Generator, M: int, N: int, **more: Any) -> DiagnosisModel:
    matrix = rng.random((M, N)) < 0.02
    return build_model(matrix, groups=[f"g{k}" for k in rng.integers(4, size=M)], **more)


@pytest.mark.parametrize(("algorithm", "base"), ALGORITHMS)
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_scores_are_those_of_their_definitions(algorithm: str, base: float, uniform: bool, kind: str) -> None:
    rng = np.random.default_rng([len(algorithm), int(uniform)])
    for _ in range(8):
        M, N = 40, 30
        prior = None if uniform else rng.dirichlet(np.full(M, 0.3)).clip(1e-9)
        if kind == "sparse":
            model = _sparse_model(rng, M, 120, prior=prior, options=_options(algorithm, base))
            assert model.responses.sparse is not None
        else:
            model = random_model(rng, M, N, K=4, options=_options(algorithm, base))
            assert model.responses.sparse is None
        objects = rng.permutation(M)
        sets = (np.sort(objects[:15]), np.sort(objects[15:35]), objects[35:36])
        score = make_criterion(model)(_nodes(model, *sets)).score
        for a, members in enumerate(sets):
            for q in range(model.n_queries):
                expected = scored(model, members, q, algorithm, base)
                if expected is not None:
                    assert score[a, q] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(("algorithm", "base"), [*ALGORITHMS, ("group_lambda_gbs", "inf")])
def test_many_segments_give_what_few_give(algorithm: str, base: float | str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    model = random_model(rng, 300, 70, K=5, uniform=True, options=_options(algorithm, base))
    objects = np.sort(rng.choice(300, size=120, replace=False))
    first = make_criterion(model)(_nodes(model, objects))
    # a segment at a time, rows in small chunks
    monkeypatch.setattr("autoprog.diagnosis.nodes._SEGMENT_CELLS", 1)
    monkeypatch.setattr("autoprog.diagnosis.responses.CHUNK_CELLS", 70 * 8)
    second = make_criterion(model)(_nodes(model, objects))
    assert np.allclose(first.score, second.score, rtol=0, atol=1e-12)
    assert np.allclose(first.gain, second.gain, rtol=0, atol=1e-12)


def test_gains_are_what_they_are_said_to_be() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        model = random_model(rng, 14, 12, K=3, options=_options("group_lambda_gbs", 5.0))
        objects, alpha = np.arange(14), 1 / (1 + math.log2(5.0))
        gain = make_criterion(model)(_nodes(model, objects)).gain[0]
        for q in range(12):
            score = scored(model, objects, q, "group_lambda_gbs", 5.0)
            if score is not None:
                expected = math.log(diversity(model, objects, alpha), 5.0) - score / math.log(5.0)
                assert gain[q] == pytest.approx(expected, abs=1e-11)
                assert -1e-12 <= gain[q] <= 1 + 1e-12


def test_rule_of_infinity_is_the_limit_for_groups() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        model = random_model(rng, 16, 10, K=5)
        largest = {}
        for q in range(10):
            yes = model.responses.at(np.arange(16), q)
            sides = [by_target(model, np.flatnonzero(side)) for side in (yes, ~yes)]
            if not all(sides):
                continue
            K = max(map(len, sides))
            key = sum(math.exp(sum(map(math.log, s.values())) / K) for s in sides if len(s) == K)
            largest[q] = (K, key)
        best = min(largest.values())
        tree = grow_tree(with_options(model, _options("group_lambda_gbs", "inf")))
        if tree.query[0] >= 0:
            assert largest[int(tree.query[0])] == pytest.approx(best, abs=1e-12)
            near = grow_tree(with_options(model, _options("group_lambda_gbs", 1e300)))
            assert largest[int(near.query[0])] == pytest.approx(best, abs=1e-6)


def test_infinity_is_gbs_with_uniform_prior_for_objects() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        model = random_model(rng, 20, 15)
        worst = grow_tree(with_options(model, _options("lambda_gbs", "inf")))
        uniform = grow_tree(model.with_uniform_prior())
        assert np.array_equal(worst.query, uniform.query)
        assert np.array_equal(worst.order, uniform.order)


def test_a_base_near_1_is_gbs_and_ggbs() -> None:
    rng = np.random.default_rng(8)
    for algorithm, plain in (("lambda_gbs", "gbs"), ("group_lambda_gbs", "ggbs")):
        K = 4 if plain == "ggbs" else None
        for base in (1.0, 1 + 1e-12, 1 + 9e-7):
            model = random_model(rng, 25, 15, K=K)
            near = grow_tree(with_options(model, _options(algorithm, base)))
            assert np.array_equal(near.query, grow_tree(with_options(model, _options(plain, 1.0))).query)
        # just above, the scores themselves have come so near that they choose alike where nothing is tied
        model = random_model(rng, 25, 15, K=K)
        near = grow_tree(with_options(model, _options(algorithm, 1 + 1e-5)))
        assert near.query[0] == grow_tree(with_options(model, _options(plain, 1.0))).query[0]


def test_ties_take_the_lowest_index_or_a_seeded_draw() -> None:
    matrix = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0]]).T
    assert grow_tree(build_model(matrix)).query[0] == 0
    roots = [
        int(grow_tree(build_model(matrix, options=ModelOptions(ties="random", seed=seed))).query[0])
        for seed in range(400)
    ]
    counts = np.bincount(roots, minlength=4)
    # four equal queries: a count outside 100 +- 43 (five standard deviations) has probability below 1e-5
    assert (np.abs(counts - 100) < 43).all()
    assert roots[:5] == [
        int(grow_tree(build_model(matrix, options=ModelOptions(ties="random", seed=seed))).query[0])
        for seed in range(5)
    ]


def _beside_a_near_free_query() -> NDArray[np.int64]:
    """Sixteen objects: two queries about one of them, and the four digits of its number."""
    objects = np.arange(16)
    return np.column_stack([objects == 15, objects == 14, *(objects >> k & 1 for k in range(4))]).astype(np.int64)


@pytest.mark.parametrize("ties", ["first", "random"])
@pytest.mark.parametrize(("algorithm", "base"), [*ALGORITHMS, ("lambda_gbs", "inf"), ("group_lambda_gbs", "inf")])
def test_beside_a_near_free_query_the_others_are_compared_by_gain_per_cost(
    algorithm: str, base: float | str, ties: str
) -> None:
    costs = [1e-11, 100.0, 101.0, 101.0, 101.0, 101.0]
    options = ModelOptions(algorithm, base, ties=ties)  # type: ignore[arg-type]
    model = build_model(_beside_a_near_free_query(), costs=costs, options=options)
    everything, left = np.arange(16), np.arange(15)
    for choose in (RowSplitter(model).choose, make_splitter(model).choose):
        assert choose(everything, np.array([0]), np.array([16]))[0] == 0
        assert choose(left, np.array([0]), np.array([15]), np.array([0]))[0] >= 2
    # few objects are chosen for by the ways to divide them
    eight = build_model(_beside_a_near_free_query()[8:], costs=costs, options=options)
    for choose in (RowSplitter(eight).choose, make_splitter(eight).choose):
        assert choose(np.arange(7), np.array([0]), np.array([7]), np.array([0]))[0] >= 2


def test_a_near_free_query_that_tells_nothing_is_asked_only_where_none_does() -> None:
    rows = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    options = ModelOptions("ggbs")
    for groups, asked in (["abab", 1], ["aabb", 0], ["abba", 0]):
        model = build_model(rows[:, ::-1], groups=list(groups), costs=[1e-13, 1.0], options=options)
        assert grow_tree(model).query[0] == asked


def test_scores_of_a_flat_entropy_are_told_apart() -> None:
    # h is flat at 1/2: both queries have 1 - h(rho) = 0 in double precision, rho tells them apart
    prior = [0.25 + 1e-9, 0.25 - 1e-9, 0.25, 0.25]
    matrix = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]]).T
    model = build_model(matrix, prior=prior)
    nodes = _nodes(model, np.arange(4))
    chosen = Chooser.of(model).choose(nodes, nodes.objects, nodes.starts)
    assert chosen.tolist() == [1]


def test_large_bases_do_not_overflow() -> None:
    rng = np.random.default_rng(9)
    for base in (1e8, 1e100, 1e300):
        model = random_model(rng, 60, 20, K=6, options=_options("group_lambda_gbs", base))
        nodes = _nodes(model, np.arange(60))
        found = make_criterion(model)(nodes)
        splits = (nodes.right > 0) & (nodes.left > 0)
        assert np.isfinite(found.score[splits]).all()
        assert np.all(found.tolerance < 1e-8)


def test_sums_do_not_depend_on_what_was_asked_first() -> None:
    rng = np.random.default_rng(0)
    matrix, groups = rng.integers(0, 2, (200, 5)), [f"g{k}" for k in rng.integers(4, size=200)]
    model = build_model(matrix, groups=groups, prior=rng.random(200).tolist())
    one, two = (_nodes(model, np.arange(90), np.arange(90, 200)) for _ in range(2))
    right, left = one.right, one.left
    group_information(two)
    np.testing.assert_array_equal(right, two.right)
    np.testing.assert_array_equal(left, two.left)
