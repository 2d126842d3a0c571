from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from autoprog.feature_streams import (
    EpsilonGreedyPerceptron,
    OnlineFeatureSelection,
    StreamOptions,
    make_algorithm,
)

RNG = np.random.default_rng(0)


def test_the_guess_of_ofs_is_unbiased() -> None:
    """E[v'] = v, enumerated over the coin and all subsets."""
    d, M, eps = 5, 2, 0.3
    options = StreamOptions("ofs", subset_size=M, epsilon=eps, step=1.0, cap=1e9)
    v = RNG.normal(size=d)
    w = np.array([0.0, 0.4, 0.0, -0.2, 0.0])
    subsets = [np.array(s) for s in combinations(range(d), M)]
    cases = [(eps / len(subsets), s) for s in subsets] + [(1 - eps, np.flatnonzero(w))]
    mean = np.zeros(d)
    for probability, seen in cases:
        algorithm = OnlineFeatureSelection(d, d, options)  # M = d: nothing is cut off, so that the step can be read
        algorithm._M = d
        algorithm.w = w.copy()
        masked = np.zeros(d)
        masked[seen] = v[seen]
        c = -1 if algorithm.score(masked) >= 0 else 1  # a mistake, so that every case moves the weights
        guess = masked[seen] / (M / d * eps + (1 - eps) * (w[seen] != 0))
        algorithm._M = M
        algorithm._kept = lambda weights: weights  # type: ignore[method-assign]
        algorithm.update(masked, seen, c, RNG)
        step = (algorithm.w - w) * c
        np.testing.assert_allclose(step[seen], guess)
        mean += probability * step
    np.testing.assert_allclose(mean, v, atol=1e-12)


def test_ofs_is_capped_and_cut_off() -> None:
    options = StreamOptions("ofs", subset_size=2, epsilon=0.5)
    algorithm = OnlineFeatureSelection(4, 2, options)
    v = np.array([1.0, 0.0, -3.0, 2.0])
    algorithm.update(v, np.array([0, 2, 3]), 1, RNG)  # a score of 0 is an update
    w = 0.2 * v / (0.5 * 0.5)
    w *= 0.1 / np.linalg.norm(w)
    w[0] = 0.0
    np.testing.assert_allclose(algorithm.w, w)
    assert algorithm.best().tolist() == [2, 3]
    before = algorithm.w.copy()
    algorithm.update(v, np.array([0, 2, 3]), 1, RNG)
    np.testing.assert_array_equal(algorithm.w, before)


def test_ofs_sees_nothing_until_it_explores() -> None:
    algorithm = OnlineFeatureSelection(10, 2, StreamOptions("ofs", epsilon=1e-9))
    assert algorithm.select(RNG).tolist() == []


@pytest.mark.parametrize("truncate", [False, True])
def test_epsilon_greedy(truncate: bool) -> None:
    algorithm = EpsilonGreedyPerceptron(4, 2, StreamOptions("epsilon_greedy", truncate=truncate, epsilon=0.0))
    assert algorithm.select(RNG).tolist() == [0, 1]
    v = np.array([1.0, -2.0, 3.0, 0.0])
    algorithm.update(v, np.array([0, 1, 2]), 1, RNG)  # 0 predicts 1, which is right
    assert not algorithm.w.any()
    algorithm.update(v, np.array([0, 1, 2]), -1, RNG)
    np.testing.assert_allclose(algorithm.w, [0.0, 0.4, -0.6, 0.0] if truncate else [-0.2, 0.4, -0.6, 0.0])
    assert algorithm.select(RNG).tolist() == [1, 2]


def test_epsilon_greedy_keeps_all_weights_unless_asked() -> None:
    assert StreamOptions("epsilon_greedy") == StreamOptions("epsilon_greedy", truncate=False)


@pytest.mark.parametrize("algorithm", ["ofs", "epsilon_greedy"])
def test_random_rounds_come_as_often_as_epsilon_says(algorithm: str) -> None:
    """A binomial of 4,000 within 5 standard deviations (6e-7)."""
    learner = make_algorithm([str(j) for j in range(30)], StreamOptions(algorithm, epsilon=0.3, subset_size=3), RNG)
    learner.w[:2] = [5.0, 4.0]
    greedy = learner.best().tolist()
    explored = sum(learner.select(RNG).tolist() != greedy for _ in range(4000))
    chance = 0.3 * (1 - (0 if algorithm == "ofs" else 1 / 4060))
    assert abs(explored - 4000 * chance) < 5 * np.sqrt(4000 * chance * (1 - chance))
