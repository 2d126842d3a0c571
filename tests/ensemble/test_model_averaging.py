from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from autoprog.ensemble import WEIGHING_RULES, Candidates, Ensemble, RevisedWeights, best_probabilities
from autoprog.ensemble.model_averaging import MAX_MEMBERS, MIN_WEIGHT, thinned
from autoprog.evaluation import History
from autoprog.optimizer import Decomposition, OptimizerOptions, Posterior, make_optimizer
from autoprog.optimizer.observations import Observations
from autoprog.space import Space
from tests.ensemble.labels import endpoint_of
from tests.optimizer.toys import SHAPE, draw, history_of, toy_space

SPACE = toy_space(((0,), (1,), (1, 2), (0,)))


def posterior_of(means: np.ndarray, covariances: np.ndarray, numbers: tuple[int, ...]) -> Posterior:
    keys = tuple(a.key for a in SPACE.algorithms)
    decomposition = Decomposition.from_labels(keys, np.zeros(len(keys), dtype=np.int64))
    nothing = Observations((), np.zeros(0), 0.0, np.zeros(0), 1.0)
    smoothers = np.zeros((*means.shape, 0))
    return Posterior(
        numbers, means, covariances, (decomposition,) * len(means), decomposition, keys, nothing, smoothers
    )


def history(scores: list[float | None]) -> History:
    return history_of(draw(SPACE, len(scores), np.random.default_rng(0)), scores.__getitem__)


def average_models(scored: History, posterior: Posterior, rng: np.random.Generator) -> Ensemble:
    """By the rule of the table, which asks for no outcomes."""
    candidates = Candidates(scored, posterior, endpoint_of(np.zeros(0, dtype=np.int8)))
    return WEIGHING_RULES["model_averaging"].weigh(candidates, rng)


def test_twins_share_their_weight() -> None:
    """Against quadrature: of twins that correlate by .999 each has a quarter, the independent third a half."""
    covariance = np.array([[1.0, 0.999, 0.0], [0.999, 1.0, 0.0], [0.0, 0.0, 1.0]])
    twins = multivariate_normal([0.0, 0.0], covariance[:2, :2])
    third, _ = quad(lambda f: norm.pdf(f) * twins.cdf([f, f]), -8.0, 8.0)
    expected = [(1.0 - third) / 2.0, (1.0 - third) / 2.0, third]
    np.testing.assert_allclose(expected, [0.25, 0.25, 0.5], atol=1e-2)
    weights = best_probabilities(np.zeros((1, 3)), covariance[None], np.random.default_rng(0))
    # Three standard errors of 20,000 draws.
    np.testing.assert_allclose(weights, expected, atol=0.0106)


def test_independent_gains_are_weighed_as_quadrature_says() -> None:
    mean, sd = np.array([0.0, 0.5, -0.3, 0.2]), np.array([1.0, 0.5, 2.0, 0.1])

    def wins(i: int) -> float:
        others = [j for j in range(4) if j != i]
        density = lambda f: norm.pdf(f, mean[i], sd[i]) * np.prod([norm.cdf(f, mean[j], sd[j]) for j in others])  # noqa: E731
        return float(quad(density, mean[i] - 10 * sd[i], mean[i] + 10 * sd[i], points=[float(mean[i])], limit=200)[0])

    expected = [wins(i) for i in range(4)]
    assert sum(expected) == pytest.approx(1.0, abs=1e-6)
    weights = best_probabilities(mean[None], np.diag(sd**2)[None], np.random.default_rng(1))
    np.testing.assert_allclose(weights, expected, atol=0.0106)


def test_decompositions_are_averaged() -> None:
    means = np.array([[9.0, 0.0], [0.0, 9.0], [0.0, 9.0], [0.0, 9.0]])
    weights = best_probabilities(means, np.tile(np.eye(2) * 1e-4, (4, 1, 1)), np.random.default_rng(0))
    assert weights.tolist() == [0.25, 0.75]


def test_small_weights_are_dropped_and_the_rest_sums_to_one() -> None:
    scored = history([0.7, 0.8, 0.6])
    ensemble = average_models(
        scored,
        posterior_of(np.array([[0.0, 0.5, -9.0]]), np.eye(3)[None], (0, 1, 2)),
        np.random.default_rng(0),
    )
    assert [m.number for m in ensemble.members] == [1, 0]
    assert sum(m.weight for m in ensemble.members) == pytest.approx(1.0, abs=1e-12)
    assert [m.score for m in ensemble.members] == [0.8, 0.7]
    assert ensemble.members[0].configuration == scored.evaluations[1].configuration


def test_the_largest_members_are_kept() -> None:
    scored = history([0.7] * 30)
    posterior = posterior_of(np.linspace(0.0, 1.0, 30)[None], np.eye(30)[None], tuple(range(30)))
    ensemble = average_models(scored, posterior, np.random.default_rng(0))
    w = best_probabilities(posterior.means, posterior.covariances, np.random.default_rng(0))
    assert [m.number for m in ensemble.members] == np.argsort(-w, kind="stable")[:MAX_MEMBERS].tolist()
    weights = [m.weight for m in ensemble.members]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0, abs=1e-12)
    everything, five = thinned(w, most=30), thinned(w, most=5)
    assert np.flatnonzero(five).tolist() == sorted(np.argsort(-w, kind="stable")[:5].tolist())
    assert five.sum() == pytest.approx(1.0, abs=1e-12)
    assert everything[everything > 0].min() >= MIN_WEIGHT


def test_the_members_are_the_probabilities_thinned_the_heaviest_and_among_equals_the_earliest_first() -> None:
    """By the definition, on a history with evaluations that failed and others that gained alike."""
    scored, posterior = learnt([None if i % 5 == 3 else 0.6 + 0.02 * (i % 3) for i in range(40)])
    ensemble = average_models(scored, posterior, np.random.default_rng(5))
    w = best_probabilities(posterior.means, posterior.covariances, np.random.default_rng(5))
    order = sorted(range(len(w)), key=lambda i: (-w[i], i))[:MAX_MEMBERS]
    kept = [i for i in order if w[i] >= MIN_WEIGHT]
    assert 2 <= len(kept) < len(w)
    evaluations = [scored.evaluations[posterior.numbers[i]] for i in kept]
    assert [(m.number, m.configuration, m.score) for m in ensemble.members] == [
        (e.number, e.configuration, e.score) for e in evaluations
    ]
    np.testing.assert_allclose([m.weight for m in ensemble.members], w[kept] / w[kept].sum(), rtol=1e-14)
    assert ensemble.scale == "risk"


def test_failed_evaluations_never_enter() -> None:
    configurations = draw(SPACE, 20, np.random.default_rng(1))
    scored = history_of(configurations, lambda i: None if i % 3 == 0 else 0.6 + 0.01 * i)
    optimizer = make_optimizer(SPACE, SHAPE, OptimizerOptions(subspaces=3))
    posterior = optimizer.posterior(scored, np.random.default_rng(0), {})
    ensemble = average_models(scored, posterior, np.random.default_rng(0))
    assert all(m.number % 3 for m in ensemble.members)
    assert sum(m.weight for m in ensemble.members) == pytest.approx(1.0, abs=1e-12)
    # The late evaluations score best by far.
    assert np.average([m.number for m in ensemble.members], weights=[m.weight for m in ensemble.members]) > 12


def test_a_single_evaluation_is_the_whole_ensemble() -> None:
    space = Space.full()
    scored = history_of(draw(space, 1, np.random.default_rng(0)), lambda _: 0.7)
    posterior = make_optimizer(space, SHAPE, OptimizerOptions()).posterior(scored, np.random.default_rng(0), {})
    assert [m.weight for m in average_models(scored, posterior, np.random.default_rng(0)).members] == [1.0]


def test_out_of_fold_risks_are_the_weighted_mean() -> None:
    scored = history([0.7, 0.8, None])
    ensemble = average_models(scored, posterior_of(np.zeros((1, 2)), np.eye(2)[None], (0, 1)), np.random.default_rng(0))
    expected = sum(m.weight * np.asarray(scored.evaluations[m.number].risks, dtype=float) for m in ensemble.members)
    np.testing.assert_allclose(ensemble.out_of_fold_risks(scored), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"evaluations \[0\]"):
        Ensemble(ensemble.members).out_of_fold_risks(History(scored.metric, scored.evaluations[1:]))


def test_without_some_members_the_others_keep_their_proportions() -> None:
    scored = history([0.7, 0.8, 0.6])
    posterior = posterior_of(np.zeros((1, 3)), np.eye(3)[None], (0, 1, 2))
    ensemble = average_models(scored, posterior, np.random.default_rng(0))
    first, second, third = ensemble.members
    rest = ensemble.without({second.number})
    assert [m.number for m in rest.members] == [first.number, third.number]
    assert sum(m.weight for m in rest.members) == pytest.approx(1.0, abs=1e-12)
    assert rest.members[0].weight / rest.members[1].weight == pytest.approx(first.weight / third.weight)
    with pytest.raises(ValueError, match="no member is left"):
        ensemble.without({0, 1, 2})


def learnt(scores: list[float | None]) -> tuple[History, Posterior]:
    """Configurations of a toy space with these scores, and what the structured optimizer makes of them."""
    scored = history_of(draw(SPACE, len(scores), np.random.default_rng(1)), scores.__getitem__)
    optimizer = make_optimizer(SPACE, SHAPE, OptimizerOptions(subspaces=3))
    return scored, optimizer.posterior(scored, np.random.default_rng(0), {})


def test_revised_weights_are_those_of_the_posterior_given_the_gains() -> None:
    _, posterior = learnt([None if i % 4 == 3 else 0.6 + 0.01 * (i % 7) for i in range(16)])
    gains = 0.7 + 0.05 * np.random.default_rng(2).random((3, len(posterior.numbers)))
    revised = RevisedWeights(posterior, np.random.default_rng(3), most=12, draws=40_000)(gains)
    np.testing.assert_allclose(revised.sum(axis=1), 1, rtol=1e-12)
    for weights, means in zip(revised, posterior.means_given(gains), strict=True):
        expected = best_probabilities(means, posterior.covariances, np.random.default_rng(4), draws=40_000)
        # Three standard errors of the difference, and what the small weights that are dropped give to the others.
        np.testing.assert_allclose(weights, expected, atol=3 * 0.5 * np.sqrt(2 / 40_000) + 0.005)


def test_revised_by_nothing_the_weights_are_the_ensembles() -> None:
    scored, posterior = learnt([0.6 + 0.01 * (i % 7) for i in range(12)])
    ensemble = average_models(scored, posterior, np.random.default_rng(0))
    gains = scored.gains()[None]
    weights = RevisedWeights(posterior, np.random.default_rng(1), draws=20_000)(gains)[0]
    delivered = {m.number: m.weight for m in ensemble.members}
    expected = [delivered.get(number, 0.0) for number in posterior.numbers]
    np.testing.assert_allclose(weights, expected, atol=3 * 0.5 * np.sqrt(2 / 20_000) + 0.005)


def test_revised_weights_follow_the_gains_and_keep_few_members() -> None:
    _, posterior = learnt([0.7 + 0.001 * i for i in range(12)])
    gains = np.full((2, 12), 0.5)
    gains[0, 3], gains[1, 8] = 0.9, 0.9
    reweigh = RevisedWeights(posterior, np.random.default_rng(0), most=4)
    weights = reweigh(gains)
    assert weights.argmax(axis=1).tolist() == [3, 8]
    assert (np.count_nonzero(weights, axis=1) <= 4).all()
    np.testing.assert_array_equal(reweigh(gains), weights)
    np.testing.assert_array_equal(reweigh(gains[1:]), weights[1:])
