"""Questions asked at once, against the joint law of their answers written out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.diagnosis import Answer, DiagnosisModel, Sessions, build_model
from autoprog.diagnosis.noise import likelihood
from autoprog.errors import ConflictError, InvalidInputError
from tests.diagnosis.models import random_model


def joint_information(model: DiagnosisModel, w: NDArray[np.float64], queries: tuple[int, ...]) -> float:
    """I(target; answers) from the table of their joint probabilities."""
    table: dict[tuple[int, tuple[bool, ...]], float] = {}
    for outcome in itertools.product([False, True], repeat=len(queries)):
        p = w.copy()
        for q, answer in zip(queries, outcome, strict=True):
            p *= likelihood(model, q, answer=answer)
        for i, mass in enumerate(p):
            key = (int(model.target_of[i]), outcome)
            table[key] = table.get(key, 0.0) + float(mass)

    def entropy(*places: int) -> float:
        sums: dict[tuple[object, ...], float] = {}
        for key, mass in table.items():
            part = tuple(key[place] for place in places)
            sums[part] = sums.get(part, 0.0) + mass
        return -sum(p * math.log2(p) for p in sums.values() if p > 0)

    return entropy(0) + entropy(1) - entropy(0, 1)


def models(rng: np.random.Generator, noisy: bool, grouped: bool, costs: list[float] | None = None) -> DiagnosisModel:
    if not noisy:
        return random_model(rng, 14, 7, K=4 if grouped else None, costs=costs)
    matrix = rng.integers(0, 2, size=(10, 7)).astype(float)
    matrix[rng.random((10, 7)) < 0.1] = np.nan
    return build_model(
        matrix,
        groups=[f"g{k}" for k in rng.integers(3, size=10)] if grouped else None,
        prior=rng.dirichlet(np.ones(10)),
        costs=costs,
        false_positive_rates=(0.05 + 0.2 * rng.random(7)).tolist(),
        false_negative_rates=(0.05 + 0.2 * rng.random(7)).tolist(),
    )


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("priced", [False, True])
def test_every_question_adds_the_most_per_cost(noisy: bool, grouped: bool, priced: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(6):
        costs = (0.5 + rng.random(7)).tolist() if priced else None
        model = models(rng, noisy, grouped, costs)
        sessions = Sessions(model)
        session = sessions.open([Answer("query 3", True)])
        if session.next_query is None:
            continue
        batch = sessions.batch(session, 4)
        chosen = tuple(each.query for each in batch.queries)
        assert chosen[0] == session.next_query.query
        assert batch.gain == pytest.approx(joint_information(model, session.posterior, chosen), abs=1e-10)
        for k in range(1, len(chosen)):
            before = joint_information(model, session.posterior, chosen[:k])
            added = {
                q: joint_information(model, session.posterior, (*chosen[:k], q)) - before
                for q in range(7)
                if q not in (2, *chosen[:k])
            }
            assert batch.queries[k].gain == pytest.approx(added[chosen[k]], abs=1e-10)
            if max(added.values()) > 1e-9:
                best = max(gain / model.costs[q] for q, gain in added.items())
                assert added[chosen[k]] / model.costs[chosen[k]] == pytest.approx(best, abs=1e-10)


def test_a_batch_is_near_the_best_of_its_size() -> None:
    """Nemhauser, Wolsey & Fisher: at least 1 - 1/e of the best where objects are identified by right answers."""
    rng = np.random.default_rng(2)
    for _ in range(15):
        model = random_model(rng, 16, 8)
        sessions = Sessions(model)
        session = sessions.open()
        batch = sessions.batch(session, 3)
        best = max(joint_information(model, session.posterior, s) for s in itertools.combinations(range(8), 3))
        assert (1 - 1 / math.e) * best <= batch.gain <= best + 1e-12


def test_under_exclusive_or_both_questions_are_asked() -> None:
    model = build_model([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], groups=["1", "2", "2", "1"])
    sessions = Sessions(model)
    batch = sessions.batch(sessions.open(), 3)
    assert [each.query for each in batch.queries] == [0, 1]
    assert [each.gain for each in batch.queries] == pytest.approx([0, 1], abs=1e-12)


def test_answers_to_a_batch_may_come_in_any_order() -> None:
    model = build_model(np.eye(8, dtype=int))
    sessions = Sessions(model)
    session = sessions.open()
    batch = sessions.batch(session, 3)
    for each in reversed(batch.queries):
        session = sessions.answer(session, each.name, False, volunteered=True)
    assert session.n_remaining == 5


def test_what_is_no_batch() -> None:
    sessions = Sessions(build_model([[0], [1]]))
    session = sessions.open()
    for size in (0, 9, True, 1.5):
        with pytest.raises(InvalidInputError, match="from 1 to 8"):
            sessions.batch(session, size)  # type: ignore[arg-type]
    done = sessions.answer(session, "query 1", True)
    with pytest.raises(ConflictError, match="done"):
        sessions.batch(done, 2)
