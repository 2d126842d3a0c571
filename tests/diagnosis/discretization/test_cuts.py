from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import beta, kstest

from autoprog.diagnosis.discretization import (
    BanditOptions,
    CutFeature,
    CutLearner,
    CutOptions,
    ThetaPosterior,
    Updates,
    expected_information,
)
from autoprog.errors import InvalidInputError

FEATURES = (CutFeature("noise", (-1.0, 0.0, 1.0)), CutFeature("glucose", (-2.0, 0.0, 2.0, 4.0)))


def case(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """The first feature says nothing; the second is N(-1, 1) of label 0 and N(1, 1) of label 1: cut best at 0."""
    label = int(rng.integers(2))
    return np.array([rng.normal(), rng.normal(2.0 * label - 1.0)]), label


def taught(options: CutOptions, n: int, seed: int = 0) -> CutLearner:
    learner, rng = CutLearner(FEATURES, ["well", "ill"], options), np.random.default_rng(seed)
    for _ in range(n):
        learner.study(*case(rng))
    return learner


def h(p: float) -> float:
    return 0.0 if p in {0.0, 1.0} else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


class Naive:
    """Algorithm 1 of the note written out: printed gains, no floor, counts in dictionaries."""

    def __init__(self, updates: Updates, eta: float, seed: int) -> None:
        self.updates, self.eta, self.seed = updates, eta, seed
        self.S = [[0.0] * len(f.thresholds) for f in FEATURES]
        self.ones = [[[0, 0] for _ in f.thresholds] for f in FEATURES]
        self.zeros = [[[0, 0] for _ in f.thresholds] for f in FEATURES]
        self.counts = [0, 0]

    def study(self, values: np.ndarray, label: int) -> tuple[int, int, int]:
        n = sum(self.counts)
        rng = np.random.default_rng([self.seed, 0, n])
        w = [(1 + c) / (2 + n) for c in self.counts]
        drawn = []
        for i, feature in enumerate(FEATURES):
            weights = [math.exp(self.eta * s) for s in self.S[i]]
            P = [weight / sum(weights) for weight in weights]
            u, k = rng.random(), 0
            while u >= sum(P[: k + 1]) and k < len(P) - 1:
                k += 1
            theta = [rng.beta(1 + self.ones[i][k][j], 1 + self.zeros[i][k][j]) for j in range(2)]
            gain = h(w[0] * theta[0] + w[1] * theta[1]) - w[0] * h(theta[0]) - w[1] * h(theta[1])
            drawn.append((gain, i, k, P[k], feature.thresholds[k]))
        best = max(drawn, key=lambda each: each[0])
        _, i, k, _, threshold = best
        mean = [(1 + self.ones[i][k][j]) / (2 + self.ones[i][k][j] + self.zeros[i][k][j]) for j in range(2)]
        yes = values[i] > threshold
        after = [w[j] * (mean[j] if yes else 1 - mean[j]) for j in range(2)]
        learnt = drawn if self.updates == "shared" else [best]
        for gain, feature, arm, probability, _ in learnt:
            self.S[feature][arm] += gain / probability
            for other, tau in enumerate(FEATURES[feature].thresholds):
                (self.ones if values[feature] > tau else self.zeros)[feature][other][label] += 1
        self.counts[label] += 1
        return i, k, int(after[1] > after[0])


@pytest.mark.parametrize("updates", ["queried", "shared"])
def test_both_forms_are_their_definitions(updates: Updates) -> None:
    """400 cases: what is queried, what is predicted, all scores and all counts."""
    bandit = BanditOptions("gain", rate=0.05)
    learner = CutLearner(FEATURES, ["well", "ill"], CutOptions(updates, bandit=bandit, seed=3))
    naive, rng = Naive(updates, 0.05, 3), np.random.default_rng(1)
    for _ in range(400):
        values, label = case(rng)
        i, k, predicted = naive.study(values, label)
        done = learner.study(values, label)
        assert (done.feature, done.threshold, done.predicted) == (i, FEATURES[i].thresholds[k], predicted)
    for i in range(2):
        posterior = learner.learner.posteriors[i]
        np.testing.assert_allclose(learner.learner.bandits[i].S, naive.S[i])
        np.testing.assert_array_equal(posterior.ones, np.array(naive.ones[i]).T)
        np.testing.assert_array_equal(posterior.zeros, np.array(naive.zeros[i]).T)


def test_only_the_queried_feature_is_updated_and_its_value_alone_read() -> None:
    learner = taught(CutOptions("queried", seed=1), 60)
    queries = [bandit.queries for bandit in learner.learner.bandits.values()]
    assert sum(queries) == 60
    assert [cut.n_cases for cut in learner.cuts(10)] == queries
    alone = CutLearner.from_json(learner.to_json())
    feature = learner.question().feature
    values = np.array([0.3, -0.2])
    only = np.where(np.arange(2) == feature, values, np.nan)
    assert alone.study(only, 1) == learner.study(values, 1)
    assert alone.to_json() == learner.to_json()
    shared = taught(CutOptions("shared", seed=1), 60)
    assert [bandit.queries for bandit in shared.learner.bandits.values()] == [60, 60]
    assert [cut.n_cases for cut in shared.cuts(10)] == [60, 60]


@pytest.mark.parametrize("updates", ["queried", "shared"])
@pytest.mark.parametrize("form", ["loss", "mixed", "hedge"])
def test_the_planted_cut_is_found_and_known_to_be(updates: Updates, form: str) -> None:
    learner = taught(CutOptions(updates, bandit=BanditOptions(form), seed=2), 800)  # type: ignore[arg-type]
    assert learner.question().feature == 1
    cut = learner.cuts()[1]
    assert (cut.threshold, cut.lower, cut.upper) == (0.0, 0.0, 0.0)
    assert cut.probability > 0.99
    if updates == "shared":  # where the queried one alone learns, a threshold that tells little is seldom seen to
        assert int(np.argmax(cut.drawn)) == 1
    theta = np.array([beta_share(-1.0), beta_share(1.0)])
    truth = float(expected_information(np.array([0.5, 0.5]), theta))
    half = (cut.information_upper - cut.information_lower) / 2
    assert abs(cut.information - truth) < 3 * half  # six standard errors, near enough
    np.testing.assert_allclose(cut.above, theta, atol=0.08)


def beta_share(mean: float) -> float:
    """P(N(mean, 1) > 0)."""
    return 0.5 * math.erfc(-mean / math.sqrt(2))


def test_the_interval_holds_the_best_threshold() -> None:
    """Of 200 streams drawn from the prior, 95 % at least must: fewer than 180 has probability below 1e-3 at 95 %."""
    rng, tau = np.random.default_rng(4), (1.0, 2.0, 3.0, 4.0)
    held = 0
    for seed in range(200):
        bins = rng.dirichlet([2 / 5] * 5, size=2)
        theta = bins[:, ::-1].cumsum(axis=1)[:, -2::-1]
        learner = CutLearner([CutFeature("x", tau)], ["a", "b"], CutOptions("shared", seed=seed))
        for _ in range(40):
            label = int(rng.integers(2))
            learner.study(np.array([rng.choice(5, p=bins[label]) + 0.5]), label)
        (cut,) = learner.cuts(400)
        best = tau[int(expected_information(np.array([0.5, 0.5]), theta).argmax())]
        held += cut.lower <= best <= cut.upper
    assert held >= 180


def test_draws_together_fall_along_the_thresholds_and_have_their_marginals() -> None:
    """Kolmogorov-Smirnov at 1e-6, against the Beta law that a sum of Dirichlet shares has."""
    posterior = ThetaPosterior(np.array([0.0, 1.0, 2.0]), 2, (1.0, 1.0))
    for value in (-1.0, 0.5, 0.6, 1.5, 5.0):
        posterior.update(value, 0)
    theta = posterior.draw_together(np.random.default_rng(0), 4000)
    assert theta.shape == (4000, 2, 3)
    assert (np.diff(theta, axis=2) <= 1e-12).all()
    for k, (above, below) in enumerate([(4, 1), (2, 3), (1, 4)]):
        law = beta(above + 2 * (3 - k) / 4, below + 2 * (k + 1) / 4)
        assert kstest(theta[:, 0, k], law.cdf).pvalue > 1e-6
        assert kstest(theta[:, 1, k], beta(2 * (3 - k) / 4, 2 * (k + 1) / 4).cdf).pvalue > 1e-6


def test_nothing_learnt_is_nothing_known() -> None:
    cut = CutLearner(FEATURES, ["well", "ill"]).cuts()[1]
    assert (cut.lower, cut.upper, cut.n_cases) == (-2.0, 4.0, 0)
    assert cut.probability < 0.5
    assert cut.probabilities.sum() == pytest.approx(1.0)


def test_a_case_without_measurements_counts_for_its_label() -> None:
    learner = CutLearner(FEATURES, ["well", "ill"])
    done = learner.study(np.full(2, np.nan), 1)
    assert (done.feature, done.threshold, done.answer, done.predicted, done.certainty) == (None, None, None, 0, 0.5)
    assert learner.counts.tolist() == [0, 1]
    assert [cut.n_cases for cut in learner.cuts(10)] == [0, 0]


@pytest.mark.parametrize("options", [CutOptions(), CutOptions("queried", "exhaustive", prior=(0.5, 2.0), seed=5)])
def test_the_state_survives_json(options: CutOptions) -> None:
    learner = taught(options, 50)
    again = CutLearner.from_json(json.loads(json.dumps(learner.to_json())))
    assert again.options == options
    values, label = case(np.random.default_rng(6))
    assert again.study(values, label) == learner.study(values, label)
    assert again.to_json() == learner.to_json()
    np.testing.assert_array_equal(again.cuts(50)[1].probabilities, learner.cuts(50)[1].probabilities)


@pytest.mark.parametrize("prior", [(1e17, 1.0), (1.0, 1e17), (1e-100, 1e100), (1e100, 1e-100)])
@pytest.mark.parametrize("value", [-9.0, 9.0])
def test_an_answer_against_a_strong_prior_leaves_beliefs_that_sum_to_1(
    prior: tuple[float, float], value: float
) -> None:
    learner = CutLearner(FEATURES, ["well", "ill"], CutOptions(prior=prior))
    for label in (0, 1, 1):
        assert 0.5 <= learner.study(np.full(2, value), label).certainty <= 1.0
    assert all(np.isfinite([cut.information, *cut.above]).all() for cut in learner.cuts(10))


def test_every_fault_is_named_at_once() -> None:
    features = [CutFeature("a", (1.0, 1.0)), CutFeature("a", ()), CutFeature("b", (math.inf,))]
    with pytest.raises(InvalidInputError, match="from 1e-100 to 1e"):
        CutLearner(FEATURES, ["well", "ill"], CutOptions(prior=(1e308, 1e308)))
    with pytest.raises(InvalidInputError) as error:
        CutLearner(features, ["x", "x", "y"], CutOptions("some", "best", prior=(0.0, 1.0)))  # type: ignore[arg-type]
    assert [fault.pointer for fault in error.value.faults] == [
        "/features/1/name", "/labels/1", "/features/0/thresholds", "/features/1/thresholds", "/features/2/thresholds",
        "/updates", "/choice", "/prior",
    ]  # fmt: skip
    with pytest.raises(InvalidInputError) as error:
        CutLearner([], ["x"])
    assert [fault.pointer for fault in error.value.faults] == ["/features", "/labels"]
    learner = CutLearner(FEATURES, ["well", "ill"])
    with pytest.raises(InvalidInputError) as error:
        learner.study(np.array([np.inf, 0.0]), 2)
    assert [fault.pointer for fault in error.value.faults] == ["/values", "/label"]
    assert learner.n_cases == 0
