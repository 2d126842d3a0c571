"""Who is held out, Fisher's test and the control of the false-discovery rate, against scipy and by their laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from autoprog.interpreter.selection import SHARE, adjusted, hold_out, p_values


@pytest.mark.parametrize("n", [8, 303, 1000])
def test_a_quarter_is_held_out_from_every_range_of_risks(n: int) -> None:
    risks = np.random.default_rng(n).random(n)
    chosen = hold_out(risks, None, np.random.default_rng(0))
    assert abs(chosen.sum() - SHARE * n) <= 2
    in_order = chosen[np.argsort(risks)]
    for start in range(0, n - 7, 8):
        assert in_order[start : start + 8].sum() == 2


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 40, 300)
    chosen = hold_out(rng.random(300), groups, rng)
    shares = np.array([chosen[groups == g].mean() for g in np.unique(groups)])
    assert set(shares.tolist()) == {0.0, 1.0}
    assert np.sum(shares == 1) == SHARE * 40


def test_every_patient_is_held_out_as_often_as_any_other() -> None:
    # 400 draws: the largest of 64 shares lies 4.5 standard errors off with probability below 64 x 7e-6 = 5e-4.
    risks = np.linspace(0, 1, 64)
    shares = np.mean([hold_out(risks, None, np.random.default_rng(seed)) for seed in range(400)], axis=0)
    assert np.abs(shares - SHARE).max() <= 4.5 * (SHARE * (1 - SHARE) / 400) ** 0.5


def test_the_test_is_fishers() -> None:
    n_A, n_Ar, n, n_r = np.array([10, 30, 5]), np.array([7, 10, 0]), 80, np.array([25, 25, 60])
    for p, a, k, r in zip(p_values(n_A, n_Ar, n, n_r), n_A, n_Ar, n_r, strict=True):
        table = [[k, a - k], [r - k, n - a - r + k]]
        assert p == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue)


def test_a_rule_that_tells_nothing_is_significant_no_more_often_than_stated() -> None:
    # Exact: P(p <= level) is at most the level, whatever the margins.
    n, n_r, n_A = 60, 20, 15
    k = np.arange(n_A + 1)
    p = p_values(np.full(n_A + 1, n_A), k, n, np.full(n_A + 1, n_r))
    weights = stats.hypergeom.pmf(k, n, n_r, n_A)
    for level in (0.01, 0.05, 0.1, 0.5):
        assert weights[p <= level].sum() <= level


def test_adjusting_is_benjamini_and_yekutielis() -> None:
    p = np.random.default_rng(3).random(23) ** 3
    np.testing.assert_allclose(adjusted(p), stats.false_discovery_control(p, method="by"))
    assert adjusted(np.array([])).shape == (0,)
    assert adjusted(np.array([0.03])).tolist() == [0.03]


@pytest.mark.parametrize("n_groups", range(2, 8))
def test_of_few_groups_some_are_held_out_and_some_are_not(n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    groups = np.arange(200) % n_groups
    out = set()
    for seed in range(60):
        chosen = hold_out(rng.random(200), groups, np.random.default_rng(seed))
        held = {int(g) for g in groups[chosen]}
        assert len(held) == (1 if n_groups < 6 else 2)
        assert held.isdisjoint(groups[~chosen].tolist())
        out |= held
    assert out == set(range(n_groups))
    assert not hold_out(rng.random(200), np.zeros(200, dtype=int), rng).any()
