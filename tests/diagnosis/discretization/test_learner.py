from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from autoprog.diagnosis.discretization import (
    BanditOptions,
    Exp3,
    ThetaPosterior,
    ThresholdLearner,
    candidate_thresholds,
    expected_information,
)
from autoprog.errors import InvalidInputError

W = np.array([0.5, 0.5])


def test_candidates_are_interior_quantiles() -> None:
    x = np.arange(1.0, 10.0)
    np.testing.assert_allclose(candidate_thresholds(x, 3), np.quantile(x, [0.25, 0.5, 0.75]))


def test_candidates_are_distinct_and_split_the_values() -> None:
    x = np.array([0.0] * 50 + [1.0] * 30 + [2.0] * 20 + [np.nan])
    tau = candidate_thresholds(x, 9)
    np.testing.assert_array_equal(tau, [0.0, 1.0])
    assert all(0 < (x > t).sum() < 100 for t in tau)


def test_candidates_where_almost_all_are_the_largest() -> None:
    np.testing.assert_array_equal(candidate_thresholds(np.array([-3.0, 0.0] + [1.0] * 98), 3), [0.0])


@pytest.mark.parametrize("x", [np.full(5, 2.0), np.full(3, np.nan), np.empty(0)])
def test_a_feature_that_does_not_vary_has_no_candidates(x: np.ndarray) -> None:
    assert len(candidate_thresholds(x, 4)) == 0


def test_candidates_refuse_infinities_and_no_thresholds() -> None:
    with pytest.raises(InvalidInputError) as error:
        candidate_thresholds(np.array([1.0, np.inf]), 0)
    assert len(error.value.faults) == 2


def test_posterior_counts_every_threshold() -> None:
    posterior = ThetaPosterior(np.array([1.0, 2.0, 3.0]), 2, (0.5, 1.5))
    for value, group in [(2.5, 0), (0.0, 0), (2.0, 1), (np.nan, 1)]:
        posterior.update(value, group)
    np.testing.assert_array_equal(posterior.ones, [[1, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(posterior.zeros, [[1, 1, 2], [0, 1, 1]])
    np.testing.assert_allclose(posterior.mean[0], [1.5 / 4, 1.5 / 4, 0.5 / 4])
    with pytest.raises(InvalidInputError):
        posterior.update(1.0, 2)


def test_posterior_draws_are_beta() -> None:
    """Kolmogorov-Smirnov at 1e-6."""
    posterior = ThetaPosterior(np.array([0.0]), 1)
    for value in (1.0, 1.0, -1.0):
        posterior.update(value, 0)
    rng = np.random.default_rng(0)
    draws = [float(posterior.draw(rng, 0)[0]) for _ in range(3000)]
    assert kstest(draws, "beta", (3, 2)).pvalue > 1e-6


def stream(learner: ThresholdLearner, rng: np.random.Generator, rounds: int, **ask: Any) -> list[int]:
    """Two groups; feature 0 is noise, feature 1 is cut best at 0, feature 2 is constant. The features asked for."""
    asked = []
    for _ in range(rounds):
        group = int(rng.integers(2))
        values = np.array([rng.normal(), rng.normal(2.0 if group else -2.0), 1.0])
        for question in learner.ask(W, rng, **ask):
            asked.append(question.feature)
            learner.reward(question)
        learner.learn(values, group)
    return asked


TAU = (np.array([-1.0, 0.0, 1.0]), np.array([-4.0, 0.0, 4.0]), np.empty(0))


@pytest.mark.parametrize("form", ["loss", "mixed", "hedge"])
def test_the_informative_feature_and_its_threshold_are_found(form: str) -> None:
    learner = ThresholdLearner(TAU, 2, options=BanditOptions(form, queries=600))
    asked = stream(learner, np.random.default_rng(1), 600)
    assert np.mean(np.array(asked[300:]) == 1) > 0.8
    assert int(np.argmax(learner.bandits[1].probabilities)) == 1


def test_the_exhaustive_reference_agrees() -> None:
    learner = ThresholdLearner(TAU, 2, choice="exhaustive")
    asked = stream(learner, np.random.default_rng(2), 300)
    assert np.mean(np.array(asked[150:]) == 1) == 1.0
    question = learner.ask(W, np.random.default_rng(3))[0]
    assert (question.feature, question.arm, question.threshold) == (1, 1, 0.0)
    assert learner.bandits[1].queries == 0


def test_the_exhaustive_choice_is_the_best_of_all() -> None:
    learner = ThresholdLearner(TAU, 2, choice="exhaustive")
    stream(learner, np.random.default_rng(4), 20)
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    gains = {i: expected_information(W, learner.posteriors[i].draw(same)) for i in (0, 1)}
    question = learner.ask(W, rng)[0]
    assert question.gain == max(g.max() for g in gains.values())
    assert question.gain == gains[question.feature][question.arm]


def test_only_the_feature_that_was_asked_for_learns() -> None:
    learner = ThresholdLearner(TAU, 2)
    asked = stream(learner, np.random.default_rng(6), 50)
    assert [learner.bandits[i].queries for i in (0, 1)] == [asked.count(0), asked.count(1)]
    assert sum(b.queries for b in learner.bandits.values()) == 50


def test_without_selection_all_learn() -> None:
    learner = ThresholdLearner(TAU, 2)
    asked = stream(learner, np.random.default_rng(7), 50, select=False)
    assert asked == [0, 1] * 50
    assert [learner.bandits[i].queries for i in (0, 1)] == [50, 50]


def test_what_is_missing_is_not_asked_for() -> None:
    learner = ThresholdLearner(TAU, 2)
    rng = np.random.default_rng(8)
    assert {learner.ask(W, rng, available=[0, 2])[0].feature for _ in range(20)} == {0}
    assert learner.ask(W, rng, available=[2]) == ()


def test_beliefs_follow_bayes() -> None:
    learner = ThresholdLearner(TAU, 2)
    stream(learner, np.random.default_rng(9), 100)
    question = next(q for q in learner.ask(W, np.random.default_rng(10), select=False) if q.feature == 1)
    theta = learner.posteriors[1].mean[:, question.arm]
    w = np.array([0.3, 0.7])
    np.testing.assert_allclose(learner.beliefs_after(w, question, answer=True), w * theta / (w @ theta))
    no = w * (1 - theta)
    np.testing.assert_allclose(learner.beliefs_after(w, question, answer=False), no / no.sum())


def test_a_gain_known_from_the_answer_takes_the_place_of_the_expected_one() -> None:
    learner = ThresholdLearner(TAU, 2)
    question = learner.ask(W, np.random.default_rng(11))[0]
    learner.reward(question, gain=0.25)
    bandit = learner.bandits[question.feature]
    assert isinstance(bandit, Exp3)
    assert bandit.S[question.arm] == pytest.approx(1 - 0.75 / question.probability)
    hedge = ThresholdLearner(TAU, 2, options=BanditOptions("hedge"))
    with pytest.raises(InvalidInputError):
        hedge.reward(hedge.ask(W, np.random.default_rng(0))[0], gain=0.25)


@pytest.mark.parametrize("form", ["loss", "hedge"])
def test_the_state_survives_json(form: str) -> None:
    learner = ThresholdLearner(TAU, 2, options=BanditOptions(form))
    stream(learner, np.random.default_rng(12), 40)
    again = ThresholdLearner.from_json(json.loads(json.dumps(learner.to_json())))
    rngs = np.random.default_rng(13), np.random.default_rng(13)
    assert stream(learner, rngs[0], 40) == stream(again, rngs[1], 40)
    assert learner.to_json() == again.to_json()


def test_nothing_to_ask_for_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        ThresholdLearner([np.empty(0)], 2)
    with pytest.raises(InvalidInputError) as error:
        ThetaPosterior(np.empty(0), 0, (0.0, 1.0))
    assert len(error.value.faults) == 3
