from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from autoprog.csmd import Arms, disagreements, optimal_arm, policies, weak_dominance
from tests.csmd.naive import cascade, subsets
from tests.csmd.table_1 import ERRORS, INSTANCES, instance, pima_predictions

CASES = list(INSTANCES)


@pytest.mark.parametrize(("dataset", "case"), CASES)
def test_optimal_arms_and_totals_of_table_1(dataset: str, case: int) -> None:
    _, optimal, totals, _ = INSTANCES[dataset, case]
    arms, gamma = instance(dataset, case), np.array(ERRORS[dataset])
    # Totals are printed to four or five digits, rounded or cut off.
    np.testing.assert_allclose(arms.C + gamma, totals, atol=6e-5)
    assert optimal_arm(arms.C, gamma) + 1 == optimal


@pytest.mark.parametrize(("dataset", "case"), CASES)
def test_ranges_of_xi_from_table_1_alone(dataset: str, case: int) -> None:
    """|gamma_i - gamma_j| <= p_ij <= gamma_i + gamma_j."""
    gamma, (lowest, highest) = np.array(ERRORS[dataset]), INSTANCES[dataset, case][3]
    arms = instance(dataset, case)
    least = np.abs(gamma[:, None] - gamma[None, :])
    most = np.minimum(1.0, gamma[:, None] + gamma[None, :])
    assert weak_dominance(arms, gamma, most).xi == pytest.approx(lowest, abs=6e-4)
    assert weak_dominance(arms, gamma, least).xi == pytest.approx(highest, abs=6e-4)


@pytest.mark.parametrize(("case", "xi"), [(1, 0.072), (2, 0.048), (3, 0.092), (4, np.inf), (5, 0.185)])
def test_xi_of_pima_with_measured_disagreements(case: int, xi: float) -> None:
    Y, y = pima_predictions()
    p = disagreements(Y)
    np.testing.assert_allclose([p[0, 1], p[0, 2], p[1, 2]], [0.195, 0.190, 0.010], atol=6e-4)
    gamma = (y[:, None] != Y).mean(axis=0)
    np.testing.assert_allclose(gamma, [0.3138, 0.2331, 0.2279], atol=6e-5)
    dominance = weak_dominance(instance("pima", case), gamma, p)
    assert dominance.xi == pytest.approx(xi, abs=6e-4)
    assert dominance.holds
    assert dominance.optimal + 1 == INSTANCES["pima", case][1]


def test_ties_go_to_the_largest_index() -> None:
    assert optimal_arm(np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])) == 2
    assert optimal_arm(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.1, 0.1])) == 1


def test_weak_dominance_does_not_hold_by_rounding() -> None:
    dominance = weak_dominance(cascade([0.3, 0.1]), np.array([0.2, 0.3]), np.array([[0.0, 0.1], [0.1, 0.0]]))
    assert 0 < dominance.xi < 1e-15
    assert not dominance.holds


@pytest.mark.parametrize("arms", [cascade([0.05, 0.1, 0.07]), subsets([0.1, 0.2, 0.1])])
def test_xi_is_its_definition(arms: Arms) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        Y = rng.integers(0, 2, (30, len(arms)))
        gamma, p = rng.random(len(arms)), disagreements(Y)
        best = max(i for i in range(len(arms)) if arms.C[i] + gamma[i] <= (arms.C + gamma).min() + 1e-12)
        if arms.structure == "cascade":
            later = list(range(best + 1, len(arms)))
        else:
            later = [j for j in range(len(arms)) if j != best and arms.C[j] >= arms.C[best]]
        xi = min((arms.C[j] - arms.C[best] - np.mean(Y[:, j] != Y[:, best]) for j in later), default=np.inf)
        dominance = weak_dominance(arms, gamma, p)
        assert dominance.optimal == best
        assert dominance.xi == pytest.approx(xi)


def test_disagreements_copy_a_part_of_the_table_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = np.random.default_rng(2).integers(0, 2, (50_000, 7), dtype=np.int8)
    monkeypatch.setattr(policies, "_MAX_COPIED", 10_000)
    tracemalloc.start()
    p = disagreements(Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(p, [[np.mean(Y[:, i] != Y[:, j]) for j in range(7)] for i in range(7)])
    assert peak < Y.nbytes


def test_strong_dominance_implies_weak() -> None:
    """Errors nested along the cascade: p_ij = gamma_i - gamma_j, and i* is the only arm of both sets."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        first_right = rng.integers(0, 5, 60)
        wrong = np.arange(4)[None, :] < first_right[:, None]
        gamma = wrong.mean(axis=0)
        p = disagreements(wrong.astype(np.int8))
        np.testing.assert_allclose(p, np.abs(gamma[:, None] - gamma[None, :]), atol=1e-12)
        assert weak_dominance(cascade(rng.random(4).tolist()), gamma, p).xi > -1e-12
