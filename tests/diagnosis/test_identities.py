"""Theorems 1 to 4 and the bounds, on trees of any kind."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import entropy

from autoprog.diagnosis import (
    DiagnosisModel,
    ModelOptions,
    Tree,
    build_model,
    cost_bounds,
    expected_cost,
    exponential_cost,
    grow_tree,
    tree_report,
    with_options,
    worst_case_cost,
)
from autoprog.diagnosis.entropy import (
    entropy_order,
    expected_cost_identity,
    exponential_cost_identity,
    log_diversity,
    renyi_entropy,
    shannon_entropy,
)
from tests.diagnosis.models import diversity, random_model, random_tree, scored

TREES = 1200
BASES = (1.0 + 1e-9, 1.001, 1.5, 2.0, 10.0, 1e3, 1e8, 1e300)


def _models_and_trees(seed: int, count: int) -> list[tuple[DiagnosisModel, Tree]]:
    """Objects and groups; greedy, random and broken off; priors with and without ties; costs."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        M, N = (int(n) for n in rng.integers(1, 13, size=2))
        K = None if rng.random() < 0.4 else int(rng.integers(1, 5))
        costs = (0.2 + 2 * rng.random(N)).tolist() if rng.random() < 0.3 else None
        model = random_model(rng, M, N, K=K, uniform=rng.random() < 0.3, costs=costs)
        if number % 3 == 0:
            base = float(rng.choice([1.0, 1.5, 3.0, 1e4]))
            found.append((model, grow_tree(with_options(model, ModelOptions(exponential_cost_base=base)))))
        else:
            found.append((model, random_tree(model, rng, early=0.0 if number % 3 == 1 else 0.2)))
    return found


def test_theorems_1_and_2_hold_on_every_tree() -> None:
    trees = _models_and_trees(1, TREES)
    worst = max(expected_cost_identity(tree).error for _, tree in trees)
    assert worst < 1e-9
    # the trees are of all kinds: whole and with leaves of several targets
    mixed = sum(len(tree.ambiguous) > 0 for _, tree in trees)
    assert 200 < mixed < TREES - 200


def test_theorems_3_and_4_hold_on_every_tree() -> None:
    for number, (_, tree) in enumerate(_models_and_trees(2, TREES)):
        identity = exponential_cost_identity(tree, BASES[number % len(BASES)])
        assert identity.error < 1e-9
        assert max(identity.cost, identity.bound) == pytest.approx(1.0)


def test_the_sums_are_those_of_the_theorems() -> None:
    rng = np.random.default_rng(3)
    for K in (None, 3):
        model = random_model(rng, 14, 10, K=K)
        tree = random_tree(model, rng, early=0.1)
        base = 3.0
        alpha = entropy_order(base)
        first = second = 0.0
        for a in tree.internal:
            objects, query = tree.objects_of(int(a)), int(tree.query[a])
            sides = [tree.objects_of(int(child)) for child in (tree.no[a], tree.yes[a])]
            score = scored(model, objects, query, "ggbs", 1.0)
            assert score is not None
            first += float(tree.mass[a]) * score
            second += (base - 1) * base ** float(tree.depth[a]) * float(tree.mass[a])
            second -= float(tree.mass[a]) * diversity(model, objects, alpha)
            second += sum(float(model.prior[side].sum()) * diversity(model, side, alpha) for side in sides)
        assert expected_cost_identity(tree).excess == pytest.approx(first, abs=1e-12)
        identity = exponential_cost_identity(tree, base)
        unit = max(base ** exponential_cost(tree, base), diversity(model, np.arange(14), alpha))
        assert identity.excess * unit == pytest.approx(second, abs=1e-10)
        assert identity.bound * unit == pytest.approx(diversity(model, np.arange(14), alpha), rel=1e-12)


def test_what_choices_add_is_never_negative() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        model = random_model(rng, int(rng.integers(1, 13)), int(rng.integers(1, 12)), K=3)
        tree = random_tree(model, rng)
        assert expected_cost_identity(tree).excess > -1e-12
        if not len(tree.ambiguous):
            assert exponential_cost_identity(tree, 3.0).excess > -1e-12


def test_building_blocks() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        tree = random_tree(random_model(rng, int(rng.integers(2, 12)), 8), rng, early=0.1)
        inner, leaves = tree.internal, tree.leaves
        assert expected_cost(tree) == pytest.approx(tree.mass[inner].sum(), abs=1e-12)
        base = float(rng.choice([1.5, 4.0, 50.0]))
        powers = base ** tree.depth.astype(float)
        left = tree.mass[leaves] @ powers[leaves]
        assert left == pytest.approx(1 + (base - 1) * (powers[inner] @ tree.mass[inner]), rel=1e-12)
        assert exponential_cost(tree, base) == pytest.approx(math.log(left, base), rel=1e-12)


def test_costs_are_ordered_and_go_to_their_limits() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        tree = random_tree(random_model(rng, int(rng.integers(2, 12)), 9), rng)
        bases = (1.0, 1.0 + 1e-7, 1.01, 1.5, 2.0, 8.0, 1e3, 1e6, math.inf)
        costs = [exponential_cost(tree, base) for base in bases]
        assert all(a <= b + 1e-9 for a, b in itertools.pairwise(costs))
        assert costs[0] == expected_cost(tree)
        assert costs[1] == pytest.approx(costs[0], abs=1e-5)
        assert costs[-1] == worst_case_cost(tree)
        least = tree.mass[tree.leaves].min()
        assert exponential_cost(tree, 1e300) >= costs[-1] + math.log(least, 1e300) - 1e-9


def test_no_tree_is_below_its_bounds() -> None:
    rng = np.random.default_rng(7)
    for number in range(400):
        M, N = int(rng.integers(1, 12)), int(rng.integers(1, 9))
        base = float(rng.choice([1.0, 1.2, 2.0, 100.0, math.inf]))
        costs = (0.3 + rng.random(N)).tolist() if number % 2 else None
        model = random_model(rng, M, N, K=None if number % 3 else 3, costs=costs)
        base_given = "inf" if math.isinf(base) else base
        model = with_options(model, ModelOptions(exponential_cost_base=base_given))
        for tree in (grow_tree(model), random_tree(model, rng)):
            bounds, report = cost_bounds(model), tree_report(tree)
            assert report.expected_cost >= bounds.expected - 1e-9
            assert report.exponential_cost >= bounds.exponential - 1e-9
            assert report.worst_case >= bounds.worst_case - 1e-9
            assert report.identity_error < 1e-9


def test_bound_is_attained_by_halving() -> None:
    matrix = [[i >> bit & 1 for bit in range(4)] for i in range(16)]
    model = build_model(matrix)
    assert expected_cost(grow_tree(model)) == cost_bounds(model).expected == 4


@pytest.mark.parametrize("base", [1 + 1e-15, 1 + 1e-12, 1 + 1e-7, 1 + 1e-5, 1.01])
@pytest.mark.parametrize("cost", [1e-9, 1.0])
def test_the_exponential_bound_of_bases_next_to_1_is_attained_by_halving(base: float, cost: float) -> None:
    model = build_model([[0, 0], [0, 1], [1, 0], [1, 1]], costs=[cost, cost])
    tree = grow_tree(with_options(model, ModelOptions(exponential_cost_base=base)))
    assert cost_bounds(tree.model).exponential == pytest.approx(2 * cost, rel=1e-14)
    assert exponential_cost(tree, base) == pytest.approx(2 * cost, rel=1e-14)


def test_entropies_against_scipy_and_their_limits() -> None:
    p = np.random.default_rng(8).dirichlet(np.ones(30))
    assert shannon_entropy(p) == pytest.approx(entropy(p, base=2), rel=1e-12)
    assert renyi_entropy(p, 1 - 1e-7) == pytest.approx(shannon_entropy(p), abs=1e-5)
    assert renyi_entropy(p, 0.0) == pytest.approx(math.log2(30), rel=1e-12)
    for base in (1.5, 2.0, 50.0):
        alpha = entropy_order(base)
        # lambda^H_alpha = (sum P^alpha)^(1 / alpha)
        assert renyi_entropy(p, alpha) * math.log(base) == pytest.approx(log_diversity(p, alpha), rel=1e-12)
    with pytest.raises(ValueError, match="at least 1"):
        exponential_cost(random_tree(random_model(np.random.default_rng(0), 4, 4), np.random.default_rng(0)), 0.5)
