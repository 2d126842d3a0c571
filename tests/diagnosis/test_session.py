"""Sessions: every object is found, whatever cannot be is said, and a session is its answers."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from autoprog.diagnosis import (
    Answer,
    DiagnosisModel,
    ModelOptions,
    Session,
    Sessions,
    build_model,
    expected_queries,
    grow_tree,
    with_options,
)
from autoprog.errors import ConflictError, InvalidInputError
from tests.diagnosis.models import h, random_model, to_matrix
from tools.many_diseases import FILE, many_diseases


def _told(sessions: Sessions, patient: int) -> Session:
    session = sessions.open()
    while session.next_query is not None:
        answer = bool(sessions.model.responses.at(np.array([patient]), session.next_query.query)[0])
        session = sessions.answer(session, session.next_query.name, answer)
    return session


def _follows_the_tree(model: DiagnosisModel) -> None:
    tree, sessions = grow_tree(model), Sessions(model)
    asked = 0.0
    for patient in range(model.n_objects):
        session = _told(sessions, patient)
        leaf = int(tree.leaf_of[patient])
        assert np.array_equal(session.objects(), tree.objects_of(leaf))
        assert session.status == ("ambiguous" if leaf in tree.ambiguous else "identified")
        asked += float(model.prior[patient]) * len(session.answers)
    assert asked == pytest.approx(expected_queries(tree), abs=1e-9)


@pytest.mark.parametrize("name", ["zoo", "dermatology_binary", "many_diseases"])
@pytest.mark.parametrize("algorithm", ["gbs", "ggbs", "lambda_gbs", "group_lambda_gbs"])
@pytest.mark.parametrize("ties", ["first", "random"])
def test_every_object_of_a_real_matrix_ends_where_the_tree_says(name: str, algorithm: str, ties: str) -> None:
    base = 3.0 if "lambda" in algorithm else 1.0
    _follows_the_tree(to_matrix(name, algorithm=algorithm, exponential_cost_base=base, ties=ties, seed=11))


def test_the_drawn_matrix_is_what_its_generator_writes() -> None:
    pd.testing.assert_frame_equal(pd.read_csv(FILE), many_diseases(), check_dtype=False)


def test_the_unidentifiable_objects_of_dermatology() -> None:
    model = to_matrix("dermatology_binary")
    assert len(model.unidentifiable) == 1
    pair = model.unidentifiable[0]
    sessions = Sessions(model)
    ends = {i: _told(sessions, i) for i in range(model.n_objects)}
    for i, session in ends.items():
        assert session.status == ("ambiguous" if i in pair else "identified")
        if session.result is not None:
            assert session.result.name == model.groups[model.group_of[i]]
            assert session.result.probability == pytest.approx(1)
    left = ends[pair[0]]
    assert [c.probability for c in left.remaining()] == pytest.approx([0.5, 0.5])
    assert {c.name for c in left.remaining()} == {model.groups[model.group_of[i]] for i in pair}


def test_sessions_on_random_models_of_every_kind() -> None:
    rng = np.random.default_rng(1)
    for number in range(30):
        M, N = int(rng.integers(1, 60)), int(rng.integers(1, 20))
        costs = (0.5 + rng.random(N)).tolist() if number % 3 == 0 else None
        model = random_model(rng, M, N, K=None if number % 2 else 3, uniform=number % 5 < 2, costs=costs)
        base = (1.0, 2.0, 1e6, "inf")[number % 4]
        ties = "random" if number % 2 else "first"
        options = ModelOptions(exponential_cost_base=base, ties=ties, seed=number)  # type: ignore[arg-type]
        _follows_the_tree(with_options(model, options))


def test_gain_is_the_information_of_the_answer() -> None:
    model = build_model([[0, 1], [0, 0], [1, 0], [1, 0]], groups=["a", "b", "b", "b"])
    following = Sessions(model).open().next_query
    assert following is not None
    assert following.name == "query 2"
    assert following.gain == pytest.approx(h(0.25), abs=1e-12)


def test_posterior_after_each_answer() -> None:
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    model = build_model([[0, 0], [0, 1], [1, 0], [1, 1]], prior=prior.tolist(), objects=["a", "b", "c", "d"])
    sessions = Sessions(model)
    session = sessions.open()
    assert [(c.name, c.probability) for c in session.remaining(2)] == [
        ("a", pytest.approx(0.4)),
        ("b", pytest.approx(0.3)),
    ]
    assert session.next_query is not None
    session = sessions.answer(session, session.next_query.name, True)
    left = session.objects()
    assert session.posterior[left] == pytest.approx(prior[left] / prior[left].sum())
    assert not session.done
    assert session.n_remaining == 2


def test_a_session_is_its_answers() -> None:
    model = random_model(np.random.default_rng(2), 50, 20, K=5)
    first = _told(Sessions(model), 17)
    again = Sessions(model).resume(first.answers, first.certainty)
    assert again.status == first.status
    assert np.array_equal(again.posterior, first.posterior)
    part = Sessions(model).resume(first.answers[:2], 1.0)
    assert part.next_query is not None
    assert part.next_query.name == first.answers[2].query


def test_undo_takes_the_last_back_and_no_other() -> None:
    sessions = Sessions(random_model(np.random.default_rng(3), 30, 15))
    opened = sessions.open()
    assert opened.next_query is not None
    one = sessions.answer(opened, opened.next_query.name, True)
    assert one.next_query is not None
    two = sessions.answer(one, one.next_query.name, False)
    assert np.array_equal(sessions.undo(two, 2).posterior, one.posterior)
    assert sessions.undo(one, 1).next_query == opened.next_query
    for number in (0, 1, 3, -1):
        with pytest.raises(ConflictError, match="the last is 2"):
            sessions.undo(two, number)
    with pytest.raises(ConflictError, match="there is none"):
        sessions.undo(opened, 0)


def test_what_cannot_be_answered_is_not_asked_again() -> None:
    model = build_model([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]])
    sessions = Sessions(model)
    session = sessions.open()
    names = []
    while session.next_query is not None:
        names.append(session.next_query.name)
        session = sessions.answer(session, names[-1], None)
    assert sorted(names) == ["query 1", "query 2", "query 3"]
    assert session.status == "ambiguous"
    assert session.n_remaining == 4
    assert session.result is None
    # the repeated column stands in for the one that cannot be answered
    session = sessions.open()
    session = sessions.answer(session, "query 1", None)
    assert session.next_query is not None
    session = sessions.answer(session, session.next_query.name, True)
    assert session.next_query is not None
    assert _finish(sessions, session, 1).status == "identified"


def _finish(sessions: Sessions, session: Session, patient: int) -> Session:
    while session.next_query is not None:
        answer = bool(sessions.model.responses.at(np.array([patient]), session.next_query.query)[0])
        session = sessions.answer(session, session.next_query.name, answer)
    return session


def test_contradictory_answers_are_told_with_what_conflicts_and_what_is_near() -> None:
    matrix = [[1, 1, 0, 0, 0], [1, 1, 1, 0, 1], [0, 0, 1, 1, 0], [0, 1, 1, 1, 1]]
    model = build_model(matrix, objects=["a", "b", "c", "d"], queries=["p", "q", "r", "s", "t"], prior=[1, 2, 1, 1])
    sessions = Sessions(model)
    known = [Answer("q", answer=True), Answer("p", answer=True), Answer("r", answer=None), Answer("s", answer=True)]
    session = sessions.open(known)
    assert session.status == "contradictory"
    assert session.done
    assert session.next_query is None
    assert session.remaining() == ()
    assert session.contradiction is not None
    # p and s exclude each other; q can be right, r was not answered
    assert session.contradiction.conflicting == (1, 3)
    near = session.contradiction.nearest
    assert [(model.objects[n.object], n.disagrees) for n in near] == [("b", (3,)), ("a", (3,)), ("d", (1,))]
    with pytest.raises(ConflictError, match="take one back"):
        sessions.answer(session, "t", True, volunteered=True)
    back = sessions.undo(session, 4)
    assert back.status == "asking"


def test_conflicts_are_minimal_and_the_nearest_are_nearest() -> None:
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(60):
        model = random_model(rng, 12, 8)
        rows = model.responses.matrix()
        answers = rng.integers(0, 2, size=8)
        session = Sessions(model).open([Answer(model.queries[q], bool(answers[q])) for q in range(8)])
        distance = (rows != answers).sum(axis=1)
        if not distance.all():
            assert session.status != "contradictory"
            continue
        seen += 1
        found = session.contradiction
        assert found is not None
        wrong = rows[:, list(found.conflicting)] != answers[list(found.conflicting)]
        assert wrong.any(axis=1).all()
        for place in range(len(found.conflicting)):
            assert not np.delete(wrong, place, axis=1).any(axis=1).all()
        assert {n.object for n in found.nearest} <= set(np.flatnonzero(distance == distance.min()).tolist())
        assert len(found.nearest) == min(10, int((distance == distance.min()).sum()))
    assert seen > 20


def test_many_contradictory_answers_take_little_memory() -> None:
    rng = np.random.default_rng(5)
    model = build_model(rng.integers(0, 2, size=(20_000, 200)), groups=[f"g{i % 9}" for i in range(20_000)])
    sessions = Sessions(model)
    known = [Answer(query, bool(rng.random() < 0.5)) for query in model.queries]
    tracemalloc.start()
    try:
        session = sessions.open(known)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert session.contradiction is not None
    assert peak < 20 * model.prior.nbytes


def test_answers_that_cannot_be_taken() -> None:
    sessions = Sessions(random_model(np.random.default_rng(5), 30, 15))
    session = sessions.open()
    assert session.next_query is not None
    asked = session.next_query.name
    other = next(q for q in sessions.model.queries if q != asked)
    with pytest.raises(InvalidInputError, match="did you mean"):
        sessions.answer(session, "qury 3", True)
    with pytest.raises(InvalidInputError, match="was not asked"):
        sessions.answer(session, other, True)
    with pytest.raises(InvalidInputError, match="true, false or null"):
        sessions.answer(session, asked, 1)  # type: ignore[arg-type]
    session = sessions.answer(session, asked, True)
    with pytest.raises(InvalidInputError, match="answered before, as number 1"):
        sessions.answer(session, asked, False)
    session = sessions.answer(session, other, True, volunteered=True)
    assert session.answers[-1].volunteered
    done = _finish(sessions, session, int(session.objects()[0]))
    left = next(q for q in sessions.model.queries if all(a.query != q for a in done.answers))
    with pytest.raises(ConflictError, match="done"):
        sessions.answer(done, left, True)


def test_opening_names_every_fault() -> None:
    sessions = Sessions(build_model([[0, 1], [1, 0]], queries=["x", "y"]))
    known = [Answer("x", answer=True), Answer("x", answer=None), Answer("z", answer=2)]  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError) as error:
        sessions.open(known, certainty=1.5)
    pointers = [fault.pointer for fault in error.value.faults]
    assert pointers == ["/certainty", "/known/1/query", "/known/2/query", "/known/2/answer"]


def test_of_many_unknown_queries_the_first_get_a_suggestion() -> None:
    sessions = Sessions(random_model(np.random.default_rng(5), 30, 200))
    with pytest.raises(InvalidInputError) as error:
        sessions.open([Answer(f"qury {i}", answer=True) for i in range(10)])
    assert ["did you mean" in fault.detail for fault in error.value.faults] == [True] * 5 + [False] * 5


def test_a_certainty_below_1_stops_early() -> None:
    prior = [90, 4, 3, 3]
    model = build_model([[0, 0], [0, 1], [1, 0], [1, 1]], prior=prior, groups=["a", "b", "c", "d"])
    session = Sessions(model).open(certainty=0.9)
    assert session.status == "identified"
    assert session.result is not None
    assert session.result.probability == pytest.approx(0.9)
    assert Sessions(model).open().status == "asking"


def test_rare_objects_are_not_taken_for_excluded() -> None:
    rng = np.random.default_rng(7)
    prior = (np.arange(1, 61.0) ** -12).tolist()
    for base in (1.0, 50.0, "inf"):
        matrix, groups = rng.integers(0, 2, size=(60, 20)), [f"g{k}" for k in rng.integers(6, size=60)]
        options = ModelOptions(exponential_cost_base=base)  # type: ignore[arg-type]
        _follows_the_tree(build_model(matrix, prior=prior, groups=groups, options=options))


def test_next_queries_are_remembered_within_bounds_and_by_threads() -> None:
    model = random_model(np.random.default_rng(6), 200, 30, K=4)
    few, many = Sessions(model, capacity=3), Sessions(model)
    ends = [_told(many, i).answers for i in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda i: _told(few, i).answers, range(200))) == ends
    assert few._elimination is not None
    assert len(few._elimination._remembered) <= 3
    many.forget()
    assert [_told(many, i).answers for i in range(20)] == ends[:20]
