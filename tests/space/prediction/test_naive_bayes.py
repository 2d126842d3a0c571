"""Naive Bayes against the products of its likelihoods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from autoprog.space.prediction.naive_bayes import BERNOULLI_NB, GAUSSIAN_NB, MULTINOMIAL_NB
from tests.space.prediction.learners import Table, fitted, patients, standardised

X, y = patients(120, 5)


def _posterior(log_likelihoods: list[Table], priors: tuple[float, float]) -> Table:
    no, yes = log_likelihoods
    return expit(yes - no + np.log(priors[1] / priors[0]))


def _observed() -> tuple[float, float]:
    return float((y == 0).mean()), float((y == 1).mean())


@pytest.mark.parametrize(("alpha", "threshold"), [(1.0, 0.0), (0.01, -0.7), (50.0, 0.9)])
def test_bernoulli_counts_what_exceeds_the_threshold_in_standard_deviations(alpha: float, threshold: float) -> None:
    B = (standardised(X) > threshold).astype(float)
    log_likelihoods = []
    for c in (0, 1):
        p = (B[y == c].sum(axis=0) + alpha) / ((y == c).sum() + 2 * alpha)
        log_likelihoods.append(B @ np.log(p) + (1 - B) @ np.log(1 - p))
    model = fitted(BERNOULLI_NB, X, y, alpha=alpha, threshold=threshold)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], _posterior(log_likelihoods, _observed()), rtol=1e-8)


def test_gaussian_multiplies_the_columns_densities() -> None:
    """Of standardised columns, each variance a hundredth above the observed one."""
    Z = standardised(X)
    log_likelihoods = []
    for c in (0, 1):
        sd = np.sqrt(Z[y == c].var(axis=0) + 0.01)
        log_likelihoods.append(norm.logpdf(Z, Z[y == c].mean(axis=0), sd).sum(axis=1))
    risks = fitted(GAUSSIAN_NB, X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(risks, _posterior(log_likelihoods, _observed()), rtol=1e-6)


def test_a_column_of_large_values_does_not_blur_the_others() -> None:
    scaled = X * np.array([1.0, 1.0, 1.0, 1.0, 1e9])
    first, second = (fitted(GAUSSIAN_NB, table, y).predict_proba(table)[:, 1] for table in (X, scaled))
    np.testing.assert_allclose(first, second, rtol=1e-6)


@pytest.mark.parametrize("priors", ["observed", "equal"])
def test_multinomial_weighs_the_shares_of_the_columns(priors: str) -> None:
    U = np.clip(standardised(X) / 6 + 0.5, 0, 1)
    alpha = 0.3
    log_likelihoods = []
    for c in (0, 1):
        totals = U[y == c].sum(axis=0) + alpha
        log_likelihoods.append(U @ np.log(totals / totals.sum()))
    expected = _posterior(log_likelihoods, _observed() if priors == "observed" else (0.5, 0.5))
    risks = fitted(MULTINOMIAL_NB, U, y, alpha=alpha, priors=priors).predict_proba(U)[:, 1]
    np.testing.assert_allclose(risks, expected, rtol=1e-8)
