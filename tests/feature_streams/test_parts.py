from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from autoprog.errors import InvalidInputError
from autoprog.feature_streams import (
    GivenMoments,
    OnlinePerformance,
    Perceptron,
    RunningMoments,
    StreamOptions,
    ThompsonSelector,
    TwoUnitMLP,
    default_subset_size,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("d", "M"), [(1, 1), (4, 1), (5, 1), (54, 5), (57, 6), (123, 12), (300, 30)])
def test_subset_sizes(d: int, M: int) -> None:
    assert default_subset_size(d) == M
    assert max(1, int(0.1 * d + 0.5)) == M


def test_running_moments_are_those_of_what_was_seen() -> None:
    X = RNG.normal(5, 3, (60, 4)) * [1, 10, 0, 1]
    moments, seen_of = RunningMoments(4), [[] for _ in range(4)]
    for row in X:
        seen = np.sort(RNG.permutation(4)[: RNG.integers(0, 5)])
        moments.learn(seen, row[seen])
        for j in seen:
            seen_of[j].append(row[j])
        z = moments.apply(seen, row[seen])
        for value, j in zip(z, seen, strict=True):
            sd = np.std(seen_of[j])
            expected = (row[j] - np.mean(seen_of[j])) / sd if sd > 1e-9 else 0.0
            assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-60, 1e-13, 1.0, 1e60])
def test_features_are_standardised_whatever_their_unit(unit: float) -> None:
    x = np.array([1.0, 2.0, 4.0]) * unit
    both, moments = np.arange(2), RunningMoments(2)
    for value in x:
        row = np.array([value, x[2]])  # the second feature is constant
        moments.learn(both, row)
    for standardisation in (moments, GivenMoments.of(np.column_stack([x, np.full(3, x[2])]))):
        z = standardisation.apply(both, np.array([x[2], x[2]]))
        np.testing.assert_allclose(z, [(4 - 7 / 3) / np.std([1, 2, 4]), 0.0], rtol=1e-9)


def test_given_moments() -> None:
    X = np.array([[1.0, 7.0], [3.0, 7.0], [np.nan, 7.0]])
    moments = GivenMoments.of(X)
    both = np.arange(2)
    moments.learn(both, np.array([100.0, 100.0]))
    np.testing.assert_allclose(moments.apply(both, np.array([3.0, 9.0])), [1.0, 0.0])
    with pytest.raises(InvalidInputError) as error:
        GivenMoments(np.array([np.nan]), np.array([-1.0, 1.0]))
    assert len(error.value.faults) == 3
    with pytest.raises(InvalidInputError, match="0 or above 1e-100"):
        GivenMoments(np.zeros(2), np.array([0.0, 1e-300]))


def test_the_perceptron_learns_from_mistakes_alone() -> None:
    perceptron = Perceptron(2, 0.2)
    v = np.array([1.0, -2.0])
    perceptron.update(v, 1)  # a score of 0 predicts 1
    np.testing.assert_array_equal(perceptron.w, 0.0)
    perceptron.update(v, -1)
    np.testing.assert_allclose(perceptron.w, [-0.2, 0.4])
    perceptron.update(v, -1)
    np.testing.assert_allclose(perceptron.w, [-0.2, 0.4])


def test_the_network_takes_a_step_down_the_gradient() -> None:
    """Against central differences of (o - c)^2 / 2 in every weight."""
    v, c = RNG.normal(size=5), -1
    mlp = TwoUnitMLP(5, 0.2, np.random.default_rng(1))
    mlp.b, mlp.a = RNG.normal(size=2), 0.3
    before = TwoUnitMLP.from_json(mlp.to_json())
    mlp.update(v, c)

    def loss() -> float:
        return (before.score(v) - c) ** 2 / 2

    for name in ("W", "u", "b"):
        weights, moved = getattr(before, name), getattr(mlp, name)
        for place in np.ndindex(weights.shape):
            original = weights[place]
            weights[place] = original + 1e-6
            high = loss()
            weights[place] = original - 1e-6
            low = loss()
            weights[place] = original
            assert moved[place] == pytest.approx(original - 0.2 * (high - low) / 2e-6, abs=1e-8)
    before.a += 1e-6
    high = loss()
    before.a -= 2e-6
    assert mlp.a == pytest.approx(0.3 - 0.2 * (high - loss()) / 2e-6, abs=1e-8)


def test_initial_weights_have_their_variances() -> None:
    """Sample variances of 40,000 and 20,000 normals: 6 standard errors."""
    mlp = TwoUnitMLP(20_000, 0.2, np.random.default_rng(2))
    assert abs(mlp.W.var() * 20_000 - 1) < 6 * np.sqrt(2 / 40_000)
    u = np.concatenate([TwoUnitMLP(1, 0.2, np.random.default_rng(s)).u for s in range(2000)])
    assert abs(u.var() * 2 - 1) < 6 * np.sqrt(2 / 4000)
    assert not mlp.b.any()


def test_thompson_plays_the_largest_draws() -> None:
    """Two features of which one has the larger theta with a known probability: chi-square at 1e-6."""
    selector = ThompsonSelector(2, 1, (1.0, 1.0))
    selector.reward(np.array([0]), 1.0, RNG)
    played = np.bincount([int(selector.select(RNG)[0]) for _ in range(6000)], minlength=2)
    # Beta(2, 1) above a uniform draw: 2/3.
    assert chisquare(played, [4000, 2000]).pvalue > 1e-6


def test_all_played_features_share_the_reward() -> None:
    selector = ThompsonSelector(4, 2, (1.0, 1.0))
    selector.reward(np.array([0, 2]), 1.0, RNG)
    selector.reward(np.array([2, 3]), 0.0, RNG)
    assert selector.n.tolist() == [1, 0, 2, 1]
    assert selector.r.tolist() == [1, 0, 1, 0]
    assert selector.best().tolist() == [0, 1]


def test_a_prior_next_to_nothing_can_still_be_drawn_from() -> None:
    selector = ThompsonSelector(2, 1, (1e-320, 1e-320))
    for _ in range(3):
        selector.reward(np.array([0, 1]), 1.0, RNG)
    assert len(selector.select(np.random.default_rng(0))) == 1


def test_rewards_between_0_and_1_are_tossed() -> None:
    """A binomial of 3,000 within 5 standard deviations (6e-7)."""
    selector = ThompsonSelector(1, 1, (1.0, 1.0))
    for _ in range(3000):
        selector.reward(np.array([0]), 0.3, RNG)
    assert abs(selector.r[0] - 900) < 5 * np.sqrt(3000 * 0.21)
    selector.reward(np.array([0]), 7.0, RNG)
    assert selector.n[0] == 3001


def test_a_family_of_subsets_is_obeyed() -> None:
    """Neighbouring pairs only: the draw's best pair, found by enumeration."""
    pairs = [np.array([k, k + 1]) for k in range(4)]
    selector = ThompsonSelector(5, 2, (1.0, 1.0), lambda theta: max(pairs, key=lambda pair: theta[pair].sum()))
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(50):
        theta = same.beta(1 + selector.r, 1 + selector.n - selector.r)
        subset = selector.select(rng)
        feasible = [list(s) for s in combinations(range(5), 2) if s[1] == s[0] + 1]
        assert subset.tolist() == max(feasible, key=lambda s: theta[s].sum())
        selector.reward(subset, float(subset[0] == 2), rng)
    assert selector.best().tolist() == [2, 3]


def test_performance() -> None:
    performance = OnlinePerformance()
    assert performance.online_mistake_rate is performance.majority_rate is performance.balanced_error is None
    for label, prediction in [(1, 1), (1, 0), (1, 1), (0, 1)]:
        performance = performance.after(label, prediction)
    assert performance.online_mistake_rate == 0.5
    assert performance.majority_rate == 0.25
    assert performance.balanced_error == pytest.approx((1 / 3 + 1) / 2)
    assert OnlinePerformance.from_json(performance.to_json()) == performance


def test_every_fault_of_the_options_is_named() -> None:
    options = StreamOptions(
        "best",  # type: ignore[arg-type]
        "forest",  # type: ignore[arg-type]
        subset_size=9,
        step=0.0,
        epsilon=1.5,
        cap=float("nan"),
        prior=(0.0, 1.0),
    )
    pointers = {fault.pointer for fault in options.faults(4)}
    assert pointers == {"/algorithm", "/classifier", "/subset_size", "/step", "/cap", "/epsilon", "/prior"}
    assert [fault.detail for fault in StreamOptions().faults(0)] == ["at least one feature is needed"]
    assert [fault.pointer for fault in StreamOptions(prior=(1e308, 1e308)).faults(4)] == ["/prior"]
    assert "above 0 for ofs" in next(StreamOptions("ofs", epsilon=0.0).faults(4)).detail
    assert [fault.pointer for fault in StreamOptions(subset_size=0, step=-1.0).faults(None)] == [
        "/subset_size",
        "/step",
    ]
