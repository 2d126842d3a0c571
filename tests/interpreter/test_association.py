"""The Bayesian association against sequential prediction, scipy and enumeration."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats

from autoprog.interpreter.association import STRENGTH, log_bayes_factors, log_prior, posterior
from autoprog.interpreter.mining import MAX_LENGTH


@pytest.mark.parametrize(("n_A", "n_Ar", "q_r"), [(0, 0, 0.3), (7, 7, 0.3), (40, 3, 0.1), (25, 12, 0.5)])
def test_the_marginal_likelihood_is_the_product_of_one_step_predictions(n_A: int, n_Ar: int, q_r: float) -> None:
    outcomes = [1] * n_Ar + [0] * (n_A - n_Ar)
    a, b, log_own = STRENGTH * q_r, STRENGTH * (1 - q_r), 0.0
    for outcome in outcomes:
        log_own += np.log((a if outcome else b) / (a + b))
        a, b = a + outcome, b + 1 - outcome
    log_base = n_Ar * np.log(q_r) + (n_A - n_Ar) * np.log(1 - q_r)
    factor = log_bayes_factors(np.array([n_A]), np.array([n_Ar]), q_r)[0]
    assert factor == pytest.approx(log_own - log_base, abs=1e-10)


def test_the_base_rate_itself_speaks_against_a_rate_of_its_own() -> None:
    factors = log_bayes_factors(np.array([300, 300, 300]), np.array([100, 160, 40]), 1 / 3)
    assert factors[0] < 0 < min(factors[1], factors[2])


@pytest.mark.parametrize("n_conditions", [3, 10, 40])
def test_the_prior_over_all_conjunctions_sums_to_one(n_conditions: int) -> None:
    lengths = np.arange(1, MAX_LENGTH + 1)
    total = sum(
        comb(n_conditions, int(ell)) * np.exp(p)
        for ell, p in zip(lengths, log_prior(lengths, n_conditions), strict=True)
    )
    assert total == pytest.approx(1)


def test_the_posterior_is_the_beta_of_the_sheet() -> None:
    expected = stats.beta(STRENGTH * 0.2 + 30, STRENGTH * 0.8 + 10)
    p = posterior(40, 30, 0.2)
    assert p.mean == pytest.approx(expected.mean())
    assert (p.lower, p.upper) == pytest.approx(expected.interval(0.9))
