"""Answers that may be wrong: posterior, information and stated certainty."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.diagnosis import Answer, DiagnosisModel, ModelOptions, Sessions, build_model
from autoprog.diagnosis.entropy import shannon_entropy
from autoprog.diagnosis.noise import Inference, expected_information, likelihood, log_posterior
from autoprog.diagnosis.responses import Responses
from tests.diagnosis.models import to_matrix


def _noisy(rng: np.random.Generator, M: int, N: int, *, grouped: bool = True, empty: float = 0.1) -> DiagnosisModel:
    matrix = rng.integers(0, 2, size=(M, N)).astype(float)
    matrix[rng.random((M, N)) < empty] = np.nan
    return build_model(
        matrix,
        groups=[f"g{k}" for k in rng.integers(3, size=M)] if grouped else None,
        prior=rng.dirichlet(np.ones(M)),
        false_positive_rates=(0.01 + 0.3 * rng.random(N)).tolist(),
        false_negative_rates=(0.01 + 0.3 * rng.random(N)).tolist(),
    )


def _chances(model: DiagnosisModel) -> NDArray[np.float64]:
    """P(answer 1 | object) by its definition, shape (M, N)."""
    B, known = model.responses.matrix(), model.responses.known_matrix()
    yes = np.where(B == 1, 1 - model.false_negative, model.false_positive)
    return np.where(known == 1, yes, 0.5)


def test_posterior_is_bayes() -> None:
    rng = np.random.default_rng(1)
    model = _noisy(rng, 12, 6)
    P = _chances(model)
    answers = [(0, True), (3, False), (5, True)]
    joint = model.prior.copy()
    for q, answer in answers:
        assert likelihood(model, q, answer=True) == pytest.approx(P[:, q], abs=1e-15)
        joint *= P[:, q] if answer else 1 - P[:, q]
    assert np.exp(log_posterior(model, answers)) == pytest.approx(joint / joint.sum(), rel=1e-12)


def test_posteriors_in_any_order_are_those_of_all_answers_at_once() -> None:
    """One more answer, one taken back, another session: bit by bit the same."""
    rng = np.random.default_rng(5)
    model = _noisy(rng, 40, 9)
    inference = Inference(model, 10)
    sequence: list[tuple[int, bool]] = []
    for _ in range(60):
        if sequence and rng.random() < 0.3:
            sequence = sequence[: int(rng.integers(len(sequence)))]
        sequence = [*sequence, (int(rng.integers(model.n_queries)), bool(rng.random() < 0.5))]
        np.testing.assert_array_equal(inference.log_posterior(sequence), log_posterior(model, sequence))


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("empty", [0.0, 0.2])
def test_information_is_that_of_the_joint_law(grouped: bool, empty: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        model = _noisy(rng, 14, 7, grouped=grouped, empty=empty)
        known = None if model.responses.known is None else Responses(model.responses.known, 7)
        P, w = _chances(model), rng.dirichlet(np.ones(14))
        found = expected_information(model, w, model.target_of, known)
        for q in range(7):
            joint = np.zeros((len(model.targets), 2))
            np.add.at(joint, model.target_of, np.stack([w * (1 - P[:, q]), w * P[:, q]], axis=1))
            apart = shannon_entropy(joint.sum(axis=0)) + shannon_entropy(joint.sum(axis=1))
            assert found[q] == pytest.approx(apart - shannon_entropy(joint.ravel()), abs=1e-12)


def test_certainty_is_kept_exactly_over_all_patients_and_answers() -> None:
    # every object and every pattern of answers, weighed by its probability: no sampling error
    rng = np.random.default_rng(3)
    model = _noisy(rng, 6, 4, empty=0.1)
    P, sessions = _chances(model), Sessions(model)
    stated = right = total = 0.0
    for pattern in itertools.product([False, True], repeat=4):
        session = sessions.open(certainty=0.8)
        while session.next_query is not None:
            session = sessions.answer(session, session.next_query.name, pattern[session.next_query.query])
        best = session.remaining(1)[0]
        for i in range(6):
            chance = float(model.prior[i] * np.prod(np.where(pattern, P[i], 1 - P[i])))
            total += chance
            stated += chance * best.probability
            right += chance * (model.targets[model.target_of[i]] == best.name)
    assert total == pytest.approx(1, abs=1e-12)
    assert stated == pytest.approx(right, abs=1e-12)


def test_sessions_with_flipped_answers_are_right_as_often_as_they_say() -> None:
    exact = to_matrix("many_diseases")
    N = exact.n_queries
    model = build_model(
        exact.responses,
        queries=exact.queries,
        groups=[exact.groups[k] for k in exact.group_of],
        false_positive_rates=[0.05] * N,
        false_negative_rates=[0.05] * N,
    )
    sessions, rng = Sessions(model), np.random.default_rng(4)
    stated, right = [], []
    for _ in range(400):
        patient, flips = int(rng.integers(model.n_objects)), rng.random(N) < 0.05
        session = sessions.open()
        while session.next_query is not None:
            truth = bool(model.responses.at(np.array([patient]), session.next_query.query)[0])
            session = sessions.answer(session, session.next_query.name, truth ^ bool(flips[session.next_query.query]))
        best = session.remaining(1)[0]
        stated.append(best.probability)
        right.append(best.name == model.targets[model.target_of[patient]])
        if session.status == "identified":
            assert best.probability >= 0.95 - 1e-9
    # the difference has mean 0 and variance sum p (1 - p); beyond 4.5 deviations with probability below 1e-5
    deviation = float(np.sqrt(np.sum(np.array(stated) * (1 - np.array(stated)))))
    assert abs(np.sum(stated) - np.sum(right)) < 4.5 * max(deviation, 1.0)


def test_no_error_rate_is_elimination() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 2, size=(20, 9))
    rates = [1e-12] * 9
    noisy = Sessions(build_model(matrix, false_positive_rates=rates, false_negative_rates=rates))
    plain = Sessions(build_model(matrix))
    known = [Answer("query 2", answer=True), Answer("query 5", answer=False)]
    assert noisy.open(known).posterior == pytest.approx(plain.open(known).posterior, abs=1e-9)


def test_answers_that_only_together_inform_are_asked_for() -> None:
    matrix = [[0, 0], [0, 1], [1, 0], [1, 1]]
    model = build_model(
        matrix, groups=["1", "2", "2", "1"], false_positive_rates=[0.01] * 2, false_negative_rates=[0.01] * 2
    )
    sessions = Sessions(model)
    session = sessions.open()
    assert session.next_query is not None
    assert session.next_query.gain == pytest.approx(0, abs=1e-12)
    for answer in (True, False):
        assert session.next_query is not None
        session = sessions.answer(session, session.next_query.name, answer)
    assert session.status == "identified"
    assert session.result is not None
    assert session.result.name == "2"


def test_nothing_left_to_ask_is_ambiguous() -> None:
    model = build_model([[0], [1]], false_positive_rates=[0.3], false_negative_rates=[0.3])
    sessions = Sessions(model)
    session = sessions.answer(sessions.open(), "query 1", True)
    assert session.status == "ambiguous"
    assert session.remaining()[0].probability == pytest.approx(0.7)


def test_impossible_answers_contradict() -> None:
    model = build_model([[0, 0], [1, 1]], false_negative_rates=[0.2, 0.2])
    known = [Answer("query 1", answer=True), Answer("query 2", answer=False)]
    # a false negative explains it
    assert Sessions(model).open(known).remaining()[0].name == "object 2"
    one_sided = build_model([[0, 0], [1, 1], [1, 0]], false_negative_rates=[0.0, 0.2], prior=[1, 1, 1])
    session = Sessions(one_sided).open([Answer("query 1", answer=False), Answer("query 2", answer=True)])
    assert session.status == "contradictory"
    assert session.contradiction is not None
    assert session.contradiction.conflicting == (0, 1)


def test_costs_and_seeded_ties() -> None:
    rates = [0.1] * 3
    same = [[0, 0, 0], [1, 1, 1]]
    dear = build_model(same, costs=[3.0, 2.0, 4.0], false_positive_rates=rates, false_negative_rates=rates)
    first = Sessions(dear).open().next_query
    assert first is not None
    assert first.name == "query 2"
    roots = []
    for seed in range(300):
        options = ModelOptions(ties="random", seed=seed)
        drawn = Sessions(
            build_model(same, false_positive_rates=rates, false_negative_rates=rates, options=options)
        ).open()
        assert drawn.next_query is not None
        roots.append(drawn.next_query.query)
    # 100 +- 41 is five standard deviations
    assert (np.abs(np.bincount(roots, minlength=3) - 100) < 41).all()
