"""Weights by log scores, and the likeliest average, against their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from autoprog.cohort import Binary, TimeToEvent
from autoprog.cohort.event_array import event_times
from autoprog.ensemble.pseudo_bma import PseudoBma, prior_weights, temperature
from autoprog.ensemble.weights import likeliest, pooled_weights

TAU = 8.0


def log_scores(n: int = 400, t: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.1, 0.9, n)
    y = rng.random(n) < truth
    p = np.clip(truth + rng.normal(0, np.linspace(0.02, 0.3, t)[:, None], (t, n)), 0.02, 0.98)
    return np.log(np.where(y, p, 1 - p))


def test_weights_are_those_of_a_bayesian_bootstrap() -> None:
    l = log_scores()  # noqa: E741
    found = PseudoBma(l, np.random.default_rng(0), TAU)(np.ones(400))
    draws = np.random.default_rng(1).dirichlet(np.ones(400), size=20_000) @ l.T * 400 / TAU
    weights = np.exp(draws - draws.max(axis=1, keepdims=True))
    expected = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_copies_of_a_patient_count_as_often() -> None:
    l, c = log_scores(), np.random.default_rng(3).integers(0, 4, 400)  # noqa: E741
    drawn = np.repeat(np.arange(400), c)
    of_counts = PseudoBma(l, np.random.default_rng(0), TAU)(c.astype(float))
    of_copies = PseudoBma(l[:, drawn], np.random.default_rng(0), TAU)(np.ones(len(drawn)))
    np.testing.assert_allclose(of_counts, of_copies, atol=1e-10)


def test_the_pool_is_the_best_of_a_fine_grid() -> None:
    q = np.exp(log_scores(t=3, seed=5))
    c = np.random.default_rng(0).integers(0, 3, 400).astype(float)

    def value(w: np.ndarray) -> float:
        return float(c @ np.log(w @ q))

    w = pooled_weights(q, c)
    assert w.sum() == pytest.approx(1)
    assert w.min() >= 0
    steps = np.linspace(0, 1, 51)
    grid = [np.array([a, b, 1 - a - b]) for a, b in product(steps, steps) if a + b <= 1]
    assert value(w) >= max(map(value, grid)) - 1e-9


def test_the_optimum_meets_the_conditions_of_kuhn_and_tucker() -> None:
    q = np.exp(log_scores(t=6, seed=7))
    w = pooled_weights(q, np.ones(400))
    gradient = (q / (w @ q)).mean(axis=1)
    np.testing.assert_allclose(gradient[w > 1e-6], 1, atol=1e-4)
    assert gradient.max() <= 1 + 1e-4


def test_the_likeliest_are_the_best_by_log_score() -> None:
    q = np.exp(log_scores(t=5))
    assert likeliest(q, np.ones(400), 2).tolist() == np.argsort(-np.log(q).sum(axis=1))[:2].tolist()


def test_probabilities_of_what_became_of_the_patients() -> None:
    p = np.array([[0.2, 0.7, 1.0]])
    np.testing.assert_allclose(Binary("y", "1", "0").probabilities(p, np.array([0, 1, 0])), [[0.8, 0.7, 1e-4]])


def test_probabilities_of_event_times_are_those_of_the_interval_or_of_none_so_far() -> None:
    """Event in the second interval; censored in it; another event; event after the last time."""
    F = np.tile([0.1, 0.3, 0.6], (1, 4, 1))
    y = event_times(np.array([1, 0, 2, 1]), np.array([1.5, 1.5, 0.5, 9.0]))
    found = TimeToEvent("time", "event", "1", (3.0,)).probabilities(F, y, (1.0, 2.0, 3.0))
    np.testing.assert_allclose(found, [[0.2, 0.9, 0.4, 0.4]])


def test_what_was_looked_for_afterwards_must_be_as_good_as_the_middle_of_what_was_there() -> None:
    m = np.array([-10.0, -20.0, -30.0, -19.0, -21.0])
    before = np.array([True, True, True, False, False])
    np.testing.assert_allclose(prior_weights(m, before), [0.25, 0.25, 0.25, 0.25, 0.0])
    np.testing.assert_allclose(prior_weights(m, before[::-1]), [0.25 / 2, 0.25 / 2, 0.25, 0.25, 0.25])
    np.testing.assert_allclose(prior_weights(np.array([-10.0, -20.0]), np.array([True, False])), [1, 0])
    np.testing.assert_allclose(prior_weights(m, np.zeros(5, dtype=bool)), 0.2)


def test_the_fewer_patients_the_more_alike_are_the_weights() -> None:
    assert temperature(10) > temperature(100) > temperature(10_000) > 8
