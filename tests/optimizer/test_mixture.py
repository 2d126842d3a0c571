from __future__ import annotations

import numpy as np
import pytest

from autoprog.optimizer.decomposition import draw_labels
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.mixture import Mixture
from autoprog.optimizer.observations import observe
from autoprog.optimizer.options import OptimizerOptions
from autoprog.optimizer.surrogate_state import SurrogateState
from tests.optimizer.toys import draw, history_of, toy_score, toy_space


@pytest.fixture(scope="module")
def belief() -> SurrogateState:
    encoding = Encoding(toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0))))
    rng = np.random.default_rng(3)
    configurations = draw(encoding.space, 30, rng)
    score = toy_score(encoding)
    observations = observe(history_of(configurations, lambda i: score(configurations[i])))
    assert observations is not None
    options = OptimizerOptions.of("default", {"subspaces": 4, "family_strength": 0.0})
    belief = SurrogateState.learn(encoding, options, observations, {}, rng)
    belief.sweep(6, 4)
    return belief


def test_moments_are_those_of_the_mixture(belief: SurrogateState) -> None:
    """Mean and variance of the equal mixture of normals, decompositions that were visited twice counted twice."""
    samples = [*belief.samples, belief.samples[0]]
    points = belief.encoding.encode(draw(belief.encoding.space, 12, np.random.default_rng(1)))
    moments = [belief.surrogate(labels).joint(points) for labels in samples]
    means = np.array([mean for mean, _ in moments])
    second = np.array([np.diag(covariance) + mean**2 for mean, covariance in moments]).mean(axis=0)
    mean, sd = Mixture(belief, samples).marginal(points)
    np.testing.assert_allclose(mean, means.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(sd**2, second - means.mean(axis=0) ** 2, atol=1e-9)


def test_draws_from_the_prior_count_by_their_marginal_likelihood(belief: SurrogateState) -> None:
    rng = np.random.default_rng(5)
    drawn = [draw_labels(belief.encoding.n_algorithms, 4, 1.0, rng) for _ in range(6)]
    points = belief.encoding.encode(draw(belief.encoding.space, 12, rng))
    surrogates = [belief.surrogate(labels) for labels in drawn]
    w = np.exp([s.log_likelihood - surrogates[0].log_likelihood for s in surrogates])
    expected = w @ [s.joint(points)[0] for s in surrogates] / w.sum()
    np.testing.assert_allclose(Mixture(belief, drawn, by_likelihood=True).marginal(points)[0], expected, atol=1e-9)
    assert 1.05 < w.sum() ** 2 / (w @ w) < 5.9  # neither one alone nor all alike


def test_belief_leaves_the_mean_where_it_is_and_takes_the_doubt_away(belief: SurrogateState) -> None:
    points = belief.encoding.encode(draw(belief.encoding.space, 12, np.random.default_rng(1)))
    mixture = Mixture(belief, belief.samples[:1])
    before, doubt = mixture.marginal(points)
    chosen = np.arange(12) == int(np.argmax(doubt))
    mixture.believe(points[chosen])
    after, left = mixture.marginal(points)
    np.testing.assert_allclose(after, before, atol=1e-8)
    assert left[chosen][0] < 0.8 * doubt[chosen][0]
    assert (left <= doubt + 1e-9).all()


def test_a_trend_is_the_prior_mean(belief: SurrogateState) -> None:
    """Against Gaussian process regression with a mean function, written out; believing keeps to it."""
    options = OptimizerOptions.of("default", {"subspaces": 4, "family_strength": 0.0})
    offsets = {"prediction/prediction1": 0.7, "features/features0": -0.4}
    other = SurrogateState.learn(belief.encoding, options, belief.observations, {}, np.random.default_rng(0), offsets)
    other.sweep(1, 1)
    points = other.encoding.encode(draw(other.encoding.space, 12, np.random.default_rng(1)))
    surrogate, y = other.surrogate(other.samples[0]), other.observations.y
    K = surrogate.covariance(other.points, other.points) + other.parameters.noise * np.eye(len(y))
    weights = np.linalg.solve(K, y - other.trend.at(other.points))
    expected = other.trend.at(points) + surrogate.covariance(points, other.points) @ weights
    mixture = Mixture(other, other.samples)
    np.testing.assert_allclose(mixture.marginal(points)[0], expected, atol=1e-9)
    assert np.ptp(other.trend.at(points)) > 0.1
    mixture.believe(points)
    np.testing.assert_allclose(mixture.marginal(points)[0], expected, atol=1e-7)


def test_a_belief_goes_on_where_its_state_was_written(belief: SurrogateState) -> None:
    options = OptimizerOptions.of("default", {"subspaces": 4, "family_strength": 0.0})
    rng = np.random.default_rng(0)
    again = SurrogateState.learn(belief.encoding, options, belief.observations, belief.state, rng)
    np.testing.assert_array_equal(again.chain.labels, belief.chain.labels)
    np.testing.assert_array_equal(again.samples, belief.samples)
