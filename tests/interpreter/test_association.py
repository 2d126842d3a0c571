"""The Bayesian association against sequential prediction, scipy and enumeration."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats

from autoprog.interpreter.mining import STRENGTH, Evidence, log_prior, posterior, raises_odds
from autoprog.interpreter.rules import MAX_LENGTH


def _log_predictions(n_A: int, n_Ar: int, q: float) -> float:
    """Log probability of patients one after the other, each predicted from those before him."""
    a, b, total = STRENGTH * q, STRENGTH * (1 - q), 0.0
    for in_stratum in [1] * n_Ar + [0] * (n_A - n_Ar):
        total += np.log((a if in_stratum else b) / (a + b))
        a, b = a + in_stratum, b + 1 - in_stratum
    return total


@pytest.mark.parametrize(("n_A", "n_Ar"), [(0, 0), (7, 7), (40, 13), (60, 24), (25, 12)])
def test_the_evidence_is_the_ratio_of_one_step_predictions(n_A: int, n_Ar: int) -> None:
    n, n_r = 60, 24
    apart = _log_predictions(n_A, n_Ar, n_r / n) + _log_predictions(n - n_A, n_r - n_Ar, n_r / n)
    expected = apart - _log_predictions(n, n_r, n_r / n)
    assert float(Evidence(n, n_r)(n_A, n_Ar)) == pytest.approx(expected, abs=1e-9)


def test_the_base_rate_itself_speaks_against_a_rate_of_its_own() -> None:
    evidence = Evidence(900, 300)(np.array([300, 300, 300]), np.array([100, 160, 40]))
    assert evidence[0] < 0 < min(evidence[1], evidence[2])


@pytest.mark.parametrize("n_conditions", [4, 10, 40])
def test_the_prior_over_all_conjunctions_sums_to_one(n_conditions: int) -> None:
    prior = log_prior(n_conditions)
    assert sum(comb(n_conditions, ell) * np.exp(prior[ell]) for ell in range(1, MAX_LENGTH + 1)) == pytest.approx(1)
    assert prior[0] == 0


def test_the_posterior_is_the_beta_of_the_sheet() -> None:
    expected = stats.beta(STRENGTH * 0.2 + 30, STRENGTH * 0.8 + 10)
    p = posterior(40, 30, 0.2)
    assert p.mean == pytest.approx(expected.mean())
    assert (p.lower, p.upper) == pytest.approx(expected.interval(0.9))


@pytest.mark.parametrize(("probability", "strength"), [(0.9, 1.0), (0.9, 100.0), (0.1, 25.0)])
def test_prior_knowledge_moves_the_posterior_as_that_many_patients_would(probability: float, strength: float) -> None:
    expected = stats.beta(strength * probability + 30, strength * (1 - probability) + 10)
    p = posterior(40, 30, probability, strength)
    assert p.mean == pytest.approx((strength * probability + 30) / (strength + 40), rel=1e-14)
    assert (p.lower, p.upper) == pytest.approx(expected.interval(0.9))


def test_odds_are_those_of_the_posterior_mean() -> None:
    n_A, n_Ar, q = np.array([50, 50, 50, 3]), np.array([10, 17, 30, 3]), 0.2
    odds = [(m := posterior(int(n), int(k), q).mean) / (1 - m) for n, k in zip(n_A, n_Ar, strict=True)]
    assert raises_odds(n_A, n_Ar, q, 2.0).tolist() == [o >= 2 * q / (1 - q) for o in odds] == [False, False, True, True]
