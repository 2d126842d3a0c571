"""Wrong answers that stay the same, and several objects at once, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from autoprog.diagnosis import (
    Answer,
    DiagnosisModel,
    ModelOptions,
    Sessions,
    build_model,
    cost_bounds,
    exponential_cost,
    grow_tree,
    optimal_tree,
    tree_report,
    with_persistent_errors,
    with_several_objects,
)
from autoprog.diagnosis.expansion import MAX_EXPANDED
from autoprog.diagnosis.noise import log_posterior
from autoprog.errors import InvalidInputError


def noisy(rng: np.random.Generator, M: int, N: int, K: int | None = None, base: float = 1.0) -> DiagnosisModel:
    return build_model(
        rng.integers(0, 2, size=(M, N)),
        groups=None if K is None else [f"g{k}" for k in rng.integers(K, size=M)],
        prior=rng.dirichlet(np.ones(M)),
        false_positive_rates=(0.3 * rng.random(N)).tolist(),
        false_negative_rates=(0.3 * rng.random(N)).tolist(),
        options=ModelOptions(exponential_cost_base=base),
    )


def enumerated(
    model: DiagnosisModel, most: int, told: list[tuple[int, bool]]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], float]:
    """Posterior of the targets after answers, and how probable at most so many errors are, set of errors by set."""
    B, N = model.responses.matrix(), model.n_queries
    posterior, covered = np.zeros(len(model.targets)), 0.0
    for i in range(model.n_objects):
        for pattern in itertools.product([0, 1], repeat=N):
            if sum(pattern) > most:
                continue
            p = float(model.prior[i])
            for q, wrong in enumerate(pattern):
                rate = float(model.false_negative[q] if B[i, q] else model.false_positive[q])
                p *= rate if wrong else 1 - rate
            covered += p
            if all((B[i, q] ^ pattern[q]) == answer for q, answer in told):
                posterior[model.target_of[i]] += p
    return posterior / posterior.sum(), covered


@pytest.mark.parametrize("K", [None, 2])
@pytest.mark.parametrize("most", [0, 1, 2, 6])
def test_posterior_is_that_of_all_patterns_of_errors(K: int | None, most: int) -> None:
    rng = np.random.default_rng([most, K or 0])
    for _ in range(4):
        model = noisy(rng, 6, 6, K)
        expanded = with_persistent_errors(model, most)
        assert not expanded.is_noisy
        assert expanded.targets == model.targets
        likeliest = int(np.argmax(expanded.prior))
        told = [(q, bool(expanded.responses.at(np.array([likeliest]), q)[0])) for q in (0, 3, 5)]
        expected, covered = enumerated(model, most, told)
        session = Sessions(expanded).open([Answer(model.queries[q], answer) for q, answer in told])
        found = {c.name: c.probability for c in session.remaining()}
        assert [found.get(t, 0.0) for t in model.targets] == pytest.approx(expected, abs=1e-12)
        if covered < 1 - 1e-12:
            assert f"{1 - covered:.3g}" in expanded.warnings[-1]
        if most == 6:  # as answers that are wrong independently of each other
            independent = np.exp(log_posterior(model, told))
            summed = np.bincount(model.target_of, independent, minlength=len(model.targets))
            assert [found.get(t, 0.0) for t in model.targets] == pytest.approx(summed, abs=1e-12)


def test_objects_far_apart_are_identified_whatever_is_wrong() -> None:
    """Rows 2 e + 1 apart: the tree ends in certainty under every e errors, and costs no less than its bound."""
    code = [[0] * 6, [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1] * 6]
    rates = [0.1] * 6
    for base in (1.0, 4.0):
        model = build_model(
            code,
            false_positive_rates=rates,
            false_negative_rates=rates,
            options=ModelOptions(exponential_cost_base=base),
        )
        expanded = with_persistent_errors(model, 1)
        assert expanded.algorithm == ("ggbs" if base == 1 else "group_lambda_gbs")
        tree = grow_tree(expanded)
        report = tree_report(tree)
        assert report.n_ambiguous == 0
        assert report.exponential_cost >= cost_bounds(expanded).exponential
        assert report.identity_error < 1e-9
        for i, pattern in itertools.product(range(4), [(), *itertools.combinations(range(6), 1)]):
            row = np.array(code[i])
            row[list(pattern)] ^= 1
            node = 0
            while tree.query[node] >= 0:
                node = int((tree.yes if row[tree.query[node]] else tree.no)[node])
            assert set(expanded.group_of[tree.objects_of(node)]) == {i}


def test_trees_of_errors_are_near_the_best() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        expanded = with_persistent_errors(noisy(rng, 3, 3, base=3.0), 1)
        grown = exponential_cost(grow_tree(expanded), 3.0)
        best = exponential_cost(optimal_tree(expanded), 3.0)
        assert best - 1e-12 <= grown <= 1.6 * best


def test_a_query_without_errors_is_never_wrong() -> None:
    model = build_model([[0, 1], [1, 0]], false_positive_rates=[0.2, 0.0], objects=["a", "b"], queries=["x", "y"])
    expanded = with_persistent_errors(model, 2)
    # only x of a can be wrong: it has no false negatives, and y is right
    assert expanded.objects == ("a", "b", "a, wrong: x")
    assert expanded.prior == pytest.approx([0.4, 0.5, 0.1])


def test_what_cannot_be_expanded() -> None:
    exact = build_model([[0, 1], [1, 0]])
    empty = build_model([[0, None], [1, 0]], false_positive_rates=[0.1, 0.1])
    large = build_model(np.zeros((100, 200), dtype=int), false_positive_rates=[0.1] * 200)
    for model, most, words in (
        (exact, -1, "at least 0.*no query has an error rate"),
        (empty, 1, "empty cells"),
        (large, 3, "objects with 200 queries"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            with_persistent_errors(model, most)
    for most, words in ((0, "at least 1"), (True, "at least 1"), (5, "objects with 200 queries")):
        with pytest.raises(InvalidInputError, match=words):
            with_several_objects(large, most)


@pytest.mark.parametrize("most", [2, 10**9])
def test_models_are_refused_before_their_sets_are_counted(most: int) -> None:
    """All sets of these objects have a number of a hundred thousand digits."""
    many = build_model(np.arange(20_000)[:, None] % 2)
    with pytest.raises(InvalidInputError, match="gives more than 200,000 objects with 1 queries; at most 200,000"):
        with_several_objects(many, most)
    wide = build_model(np.ones((2, 50_000)), false_negative_rates=[0.1] * 50_000)
    with pytest.raises(InvalidInputError, match="gives more than 20,000 objects with 50,000 queries"):
        with_persistent_errors(wide, most)


def test_a_model_of_single_objects_may_be_larger_than_any_expanded_one() -> None:
    model = build_model(np.eye(MAX_EXPANDED + 1, 1, dtype=np.int8))
    assert with_several_objects(model, 1) is model


def test_several_objects_are_the_sets_of_them() -> None:
    rng = np.random.default_rng(4)
    for grouped in (False, True):
        for most in (1, 2, 3, 9):
            B, prior = rng.integers(0, 2, size=(5, 7)), rng.dirichlet(np.ones(5))
            groups = ["a", "b", "a", "c", "b"] if grouped else None
            model = build_model(B, prior=prior, groups=groups, objects=list("vwxyz"))
            several = with_several_objects(model, most)
            by_name = {name: i for i, name in enumerate(several.objects)}
            sets = [s for size in range(1, min(most, 5) + 1) for s in itertools.combinations(range(5), size)]
            assert len(by_name) == len(sets)
            weight = [math.prod(prior[i] if i in s else 1 - prior[i] for i in range(5)) for s in sets]
            for s, w in zip(sets, weight, strict=True):
                at = by_name[" + ".join("vwxyz"[i] for i in s)]
                if most > 1:
                    assert several.prior[at] == pytest.approx(w / sum(weight), rel=1e-12)
                    assert several.responses.matrix()[at].tolist() == B[list(s)].max(axis=0).tolist()
                if grouped:
                    names = sorted({groups[i] for i in s})  # type: ignore[index]
                    assert several.groups[several.group_of[at]] == " + ".join(names)


def test_presence_is_independent_whatever_it_sums_to() -> None:
    presence = [0.9, 0.6, 0.05]
    several = with_several_objects(build_model(np.eye(3, dtype=int)), 3, presence)
    sets = [s for size in (1, 2, 3) for s in itertools.combinations(range(3), size)]
    weight = [math.prod(presence[i] if i in s else 1 - presence[i] for i in range(3)) for s in sets]
    assert several.prior == pytest.approx(np.array(weight) / sum(weight), rel=1e-12)
    with pytest.raises(InvalidInputError, match="0, 1"):
        with_several_objects(build_model(np.eye(3, dtype=int)), 3, [0.5, 1.0, 0.5])


def test_no_wrong_answer_is_left_out_where_all_are_allowed() -> None:
    for seed in range(40):
        model = noisy(np.random.default_rng(seed), 4, 5)
        assert with_persistent_errors(model, 5).warnings == ()
        (warning,) = with_persistent_errors(model, 4).warnings
        assert "more than 4 wrong answers" in warning


@pytest.mark.parametrize("most", [1e20, 1e300])
def test_several_objects_of_which_one_is_nearly_certain(most: float) -> None:
    """Its prior rounds to 1, its odds do not."""
    model = build_model(np.eye(4, dtype=int), prior=[most, 1.0, 1.0, 1.0], objects=list("vwxy"))
    several = with_several_objects(model, 2)
    assert several.prior.sum() == pytest.approx(1)
    assert (several.prior > 0).all()
    at = several.objects.index("v")
    assert several.prior[at] == pytest.approx(1)
    for name in "wxy":
        if f"v + {name}" in several.objects:
            assert several.prior[several.objects.index(f"v + {name}")] == pytest.approx(1 / most)
    session = Sessions(several).open()
    while session.next_query is not None:
        session = Sessions(several).answer(session, session.next_query.name, session.next_query.query == 0)
    assert session.result is not None
    assert session.result.name == "v"


def test_an_empty_cell_of_several_is_known_where_another_says_yes() -> None:
    model = build_model([[None, 1], [1, 0], [0, 0]], false_positive_rates=[0.1, 0.1])
    several = with_several_objects(model, 2)
    known = dict(zip(several.objects, several.responses.known_matrix()[:, 0].tolist(), strict=True))
    assert known["object 1 + object 2"] == 1
    assert known["object 1 + object 3"] == 0
    assert known["object 2 + object 3"] == 1


def test_a_session_finds_both_of_two_objects() -> None:
    model = build_model(np.eye(6, dtype=int), queries=list("abcdef"), objects=list("uvwxyz"))
    sessions = Sessions(with_several_objects(model, 2))
    session = sessions.open()
    while session.next_query is not None:
        session = sessions.answer(session, session.next_query.name, session.next_query.name in "be")
    assert session.result is not None
    assert session.result.name == "v + y"


def test_names_that_would_be_the_same_are_numbered() -> None:
    long = ["a" * 150 + "1", "a" * 150 + "2", "a" * 150 + "3"]
    several = with_several_objects(build_model(np.eye(3, dtype=int), objects=long), 3)
    assert len(set(several.objects)) == 7
    assert max(map(len, several.objects)) <= 200
