from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, norm

from autoprog.errors import InvalidInputError
from autoprog.feature_streams import (
    Family,
    FeatureGroup,
    FeatureStream,
    GaussianThompsonSelector,
    StreamOptions,
)

NAMES = [f"f{j}" for j in range(8)]
PANEL = FeatureGroup("blood", ("f1", "f2", "f5"), 4.0)
ECG = FeatureGroup("ECG", ("f6",), 2.5)


def members(family: Family, size: int | None) -> list[tuple[frozenset[str], float]]:
    """All members with their costs, from the definition: subsets of the powerset that split no group."""
    groups = [*family.groups]
    grouped = {name for group in groups for name in group.features}
    groups += [FeatureGroup(name, (name,), 0.0) for name in NAMES if name not in grouped]
    cost_of = {
        frozenset(n for g in some for n in g.features): sum(g.cost for g in some)
        for k in range(1, len(groups) + 1)
        for some in combinations(groups, k)
    }
    if family.subsets is not None:
        cost_of = {frozenset(subset): cost_of[frozenset(subset)] for subset in family.subsets}
    budget = np.inf if family.budget is None else family.budget + 1e-9
    return [(s, cost) for s, cost in cost_of.items() if cost <= budget and (size is None or len(s) <= size)]


FAMILIES: list[tuple[Family, int | None]] = [
    (Family((PANEL, ECG)), 4),
    (Family((PANEL, ECG), budget=5.0), None),
    (Family((PANEL, ECG), budget=5.0), 2),
    (Family((PANEL, ECG), trade_off=0.2), 5),
    (Family((PANEL, ECG), budget=6.5, trade_off=0.5), None),
    (Family(tuple(map(FeatureGroup, NAMES, ((n,) for n in NAMES), (3, 1, 4, 1, 5, 9, 2, 6))), budget=10.0), 4),
    (Family(subsets=(("f0", "f1"), ("f1", "f2", "f3"), ("f7",))), None),
    (Family((PANEL, ECG), (("f1", "f2", "f5"), ("f0", "f6"), ("f3", "f4", "f7")), 4.0, 0.3), None),
    (Family(tuple(FeatureGroup(n, (n,), 0.1) for n in NAMES), budget=0.3), None),
]  # fmt: skip


@pytest.mark.parametrize("solved", [False, True], ids=["enumerated", "solved"])
@pytest.mark.parametrize(("family", "size"), FAMILIES)
def test_the_best_member_is_that_of_the_powerset(
    family: Family, size: int | None, solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws of both signs, by comparing all members and as an integer program."""
    if solved:
        monkeypatch.setattr("autoprog.feature_streams.family._ENUMERATED", 0)
    assert family.faults(NAMES, size) == []
    best = family.constraint(NAMES, size)
    rng = np.random.default_rng(0)
    every = members(family, size)
    units = family.units(NAMES)
    names = [frozenset(NAMES[j] for j in unit) for unit in units]
    assert sorted(j for unit in units for j in unit) == list(range(8))
    for k in range(60):
        theta = rng.random(len(units)) if k % 2 else rng.normal(size=len(units))
        value = {
            s: sum(t for t, unit in zip(theta, names, strict=True) if unit <= s) - family.trade_off * cost
            for s, cost in every
        }
        chosen = frozenset().union(*(names[u] for u in best(theta)))
        assert chosen in value
        assert value[chosen] == pytest.approx(max(value.values()), abs=1e-9)


def test_what_is_measured_together_is_one_arm() -> None:
    """A panel of three counts once: it is not preferred because it has more features."""
    stream = FeatureStream(NAMES, StreamOptions(family=Family((PANEL,), (("f1", "f2", "f5"), ("f0",)))))
    selector = stream._algorithm.selector  # type: ignore[attr-defined]
    rng = np.random.default_rng(7)
    played = [tuple(selector.select(rng)) for _ in range(2000)]
    assert set(played) == {(1, 2, 5), (0,)}
    assert np.mean([len(subset) == 1 for subset in played]) == pytest.approx(0.5, abs=0.067)  # 6 standard errors
    selector.reward(np.array([1, 2, 5]), 1.0, rng)
    assert selector.to_json() == {"n": [0, 1, 0, 0, 0, 0], "r": [0, 1, 0, 0, 0, 0]}


def test_costs_that_have_too_many_sums_are_refused() -> None:
    names = [f"x{j}" for j in range(50)]
    family = Family(tuple(FeatureGroup(n, (n,), 1 + j / 1e7) for j, n in enumerate(names)), budget=20.0)
    (fault,) = family.faults(names, None)
    assert (fault.pointer, "round the costs" in fault.detail) == ("/budget", True)


def test_costs_that_have_more_sums_than_fit_a_number_are_refused() -> None:
    names = [f"x{j}" for j in range(14)]
    costs = [37 / 3000, 40.39, *[1.0] * 11]
    family = Family(tuple(FeatureGroup(n, (n,), c) for n, c in zip(names, costs, strict=False)), budget=41.0)
    (fault,) = family.faults(names, None)
    assert (fault.pointer, "round the costs" in fault.detail) == ("/budget", True)
    with pytest.raises(InvalidInputError, match="round the costs"):
        FeatureStream(names, StreamOptions(family=family))


def test_three_hundred_features_keep_to_a_budget() -> None:
    """Against the fractional bound of the knapsack, which no subset can exceed and the best misses by one item."""
    rng = np.random.default_rng(1)
    names = [f"x{j}" for j in range(300)]
    costs = rng.uniform(1, 20, 300).round(2)
    family = Family(tuple(FeatureGroup(n, (n,), float(c)) for n, c in zip(names, costs, strict=True)), budget=100.0)
    best = family.constraint(names, None)
    for _ in range(5):
        theta = rng.random(300)
        chosen = best(theta)
        assert costs[chosen].sum() <= 100 + 1e-9
        order = np.argsort(-theta / costs)
        inside = costs[order].cumsum() <= 100
        greedy = theta[order][inside].sum()
        assert greedy <= theta[chosen].sum() + 1e-9
        assert theta[chosen].sum() <= greedy + theta[order][~inside][0] + 1e-9


def test_groups_are_ordered_and_paid_for_as_wholes() -> None:
    family = Family((PANEL, ECG))
    assert family.order(NAMES, ["f1", "f2", "f5", "f6", "f7"]) == (("blood", "ECG", "f7"), 6.5)
    assert family.order(NAMES, ["f0"]) == (("f0",), 0.0)


BAD: list[tuple[Family, int | None, list[str]]] = [
    (
        Family(
            (FeatureGroup("f0", ("f1", "x"), -1.0), FeatureGroup("g", ("f1",)), FeatureGroup("g", ())), (), -1, np.nan
        ),
        None,
        ["/groups/0/name", "/groups/0/cost", "/groups/0/features/1", "/groups/1/features/0", "/groups/2/name",
         "/groups/2/features", "/budget", "/trade_off", "/subsets"],
    ),
    (
        Family((PANEL,), (("f1", "f2"), ("f0", "f0"), (), ("x",))),
        None,
        ["/subsets/0", "/subsets/1", "/subsets/2", "/subsets/3/0"],
    ),
    (Family((PANEL,), (("f1", "f2", "f5"), ("f0", "f3", "f4")), 3.0), 2, ["/subsets/0", "/subsets/0", "/subsets/1"]),
    (Family(tuple(FeatureGroup(n, (n,), 2.0) for n in NAMES), budget=1.0), None, ["/budget"]),
]  # fmt: skip


@pytest.mark.parametrize(("family", "size", "expected"), BAD)
def test_every_fault_is_named(family: Family, size: int | None, expected: list[str]) -> None:
    assert [fault.pointer for fault in family.faults(NAMES, size)] == expected
    with pytest.raises(InvalidInputError) as error:
        FeatureStream(NAMES, StreamOptions(subset_size=size, family=family))
    assert [fault.pointer for fault in error.value.faults] == expected


def test_a_family_is_thompsons_and_not_beside_a_function() -> None:
    with pytest.raises(InvalidInputError, match="only thompson keeps to groups"):
        FeatureStream(NAMES, StreamOptions("random", family=Family((PANEL,))))
    with pytest.raises(InvalidInputError, match="by a family or a function"):
        FeatureStream(NAMES, StreamOptions(family=Family((PANEL,))), constraint=np.flatnonzero)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_a_stream_with_a_family_survives_json_and_keeps_to_it(likelihood: Any) -> None:
    family = Family((PANEL, ECG), budget=5.0, trade_off=0.01)
    stream = FeatureStream(NAMES, StreamOptions(family=family, likelihood=likelihood, prior=(0.5, 0.7), seed=3))
    allowed = {s for s, _ in members(family, None)}
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 8))
    y = (X[:, 0] + X[:, 6] > 0).astype(int)
    for row, label in zip(X, y.tolist(), strict=True):
        stream = FeatureStream.from_json(json.loads(json.dumps(stream.to_json())))
        _, subset = stream.select()
        assert frozenset(NAMES[j] for j in subset) in allowed
        reward = None if label else 0.25
        stream.observe(subset, {NAMES[j]: row[j] for j in subset}, label, reward)
    assert stream.options.family == family


def test_the_gaussian_posterior_is_the_normal_one() -> None:
    """Draws against prior times likelihood on a grid, by Kolmogorov-Smirnov at 1e-6; a mean beside an integral."""
    rng = np.random.default_rng(5)
    selector = GaussianThompsonSelector(2, 1, (0.3, 0.8), 0.6)
    rewards = [-0.4, 1.7, 2.2]
    for r in rewards:
        selector.reward(np.array([1]), r, rng)
    grid = np.linspace(-4, 5, 20_001)
    density = norm.pdf(grid, 0.3, 0.8) * np.prod([norm.pdf(r, grid, 0.6) for r in rewards], axis=0)
    share = density.cumsum() / density.sum()
    draws = np.array([selector._draw(rng) for _ in range(4000)])
    assert kstest(draws[:, 1], lambda x: np.interp(x, grid, share)).pvalue > 1e-6
    assert kstest(draws[:, 0], norm(0.3, 0.8).cdf).pvalue > 1e-6
    assert selector._means()[1] == pytest.approx((grid * density).sum() / density.sum(), abs=1e-4)


def test_real_rewards_find_the_best_subset_where_a_coin_cannot_tell() -> None:
    """Additive rewards far above 1: a coin clips all of them to 1."""
    worth = np.array([3.0, 1.0, 2.0, 0.5])
    rng = np.random.default_rng(6)
    ends, equal = {}, {}
    for likelihood, noise in (("bernoulli", 0.5), ("gaussian", 1.0)):
        options = StreamOptions(likelihood=likelihood, noise=noise, prior=(4.0, 4.0), subset_size=2)  # type: ignore[arg-type]
        stream = FeatureStream(["a", "b", "c", "d"], options)
        selector = stream._algorithm.selector  # type: ignore[attr-defined]
        for _ in range(600):
            _, subset = stream.select()
            selector.reward(subset, float(worth[subset].sum() + 0.05 * rng.normal()), rng)
        ends[likelihood], equal[likelihood] = stream.best_features, bool((selector.n == selector.r).all())
    assert ends["gaussian"] == ("a", "c")
    assert equal == {"bernoulli": True, "gaussian": False}


@pytest.mark.parametrize(
    ("options", "reward", "fault"),
    [
        (StreamOptions(), 1.5, "must lie in"),
        (StreamOptions(), "much", "must be a finite number"),
        (StreamOptions(likelihood="gaussian"), np.inf, "must be a finite number"),
        (StreamOptions("ofs"), 0.5, "only thompson learns from rewards"),
    ],
)
def test_a_reward_that_cannot_be_learnt(options: StreamOptions, reward: object, fault: str) -> None:
    stream = FeatureStream(NAMES, options)
    _, subset = stream.select()
    with pytest.raises(InvalidInputError, match=fault):
        stream.observe(subset, {NAMES[j]: 1.0 for j in subset}, 1, reward)
    assert stream.performance.rounds == 0


def test_a_prior_of_its_likelihood() -> None:
    assert not list(StreamOptions(likelihood="gaussian", prior=(-1.0, 2.0)).faults(8))
    pointers = [f.pointer for f in StreamOptions(likelihood="gaussian", prior=(1.0, 0.0), noise=0.0).faults(8)]
    assert pointers == ["/noise", "/prior"]
    assert [f.pointer for f in StreamOptions(prior=(-1.0, 2.0)).faults(8)] == ["/prior"]
    for prior, noise, expected in (
        ((0.0, 1e160), 0.5, ["/prior"]),
        ((0.0, 1e-170), 0.5, ["/prior"]),
        ((-1e160, 1.0), 0.5, ["/prior"]),
        ((0.0, float("nan")), 0.5, ["/prior"]),
        ((0.0, 1.0), 1e-170, ["/noise"]),
        ((-9e99, 2e-100), 2e-100, []),
        ((9e99, 9e99), 9e99, []),
    ):
        options = StreamOptions(likelihood="gaussian", prior=prior, noise=noise)
        assert [f.pointer for f in options.faults(8)] == expected
        if not expected:
            stream = FeatureStream(NAMES, options)
            _, subset = stream.select()
            stream.observe(subset, {NAMES[j]: 1.0 for j in subset}, 1, 1.0)
            assert len(stream.select()[1])
    assert [f.pointer for f in StreamOptions(likelihood="poisson").faults(8)] == ["/likelihood"]  # type: ignore[arg-type]
