"""Sizes of a validation against the authors' pmvalsampsize, and against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, norm
from sklearn.linear_model import LogisticRegression

from autoprog.cohort.sample_size import (
    concordance,
    max_cox_snell_r2,
    normal_predictor,
    patients_by_c,
    patients_by_expected_observed,
    patients_by_slope,
    validation_minimum,
    validation_minimum_of_times,
)

EVENLY = (np.arange(100_000) + 0.5) / 100_000
EVEN = np.full(100_000, 1e-5)


# pmvalsampsize 0.1.0 at 1,000,000 simulated patients; it rounds standard errors to a ten thousandth and takes .051 for
# .05102. The first is its help's example (mechanical heart valves), the second that of BMJ 2024;384:e074821 (COVID-19).
@pytest.mark.parametrize(
    ("phi", "width", "c", "eta", "by_ratio", "by_slope", "by_c"),
    [
        (0.018, 1.0, 0.8, norm(-5, 2.5).ppf(EVENLY), 905, 4544, 4252),
        (0.43, 0.2, 0.8, logit(beta(1.33, 1.75).ppf(EVENLY)), 510, 2136, 308),
        (0.1, 0.2, 0.75, norm(-2.6, 1.0).ppf(EVENLY), 3461, 5940, 1008),
    ],
)
def test_sizes_are_those_of_the_authors(
    phi: float, width: float, c: float, eta: np.ndarray, by_ratio: int, by_slope: int, by_c: int
) -> None:
    assert patients_by_expected_observed(phi, width) == pytest.approx(by_ratio, rel=3e-3)
    assert patients_by_slope(eta, EVEN) == pytest.approx(by_slope, rel=5e-3)
    assert patients_by_c(phi, c) == by_c


def test_the_minimum_is_the_largest_of_the_three() -> None:
    eta, weight = normal_predictor(0.2, 0.1)
    parts = (
        patients_by_expected_observed(0.2),
        patients_by_slope(eta, weight),
        patients_by_c(0.2, concordance(eta, weight)),
    )
    assert validation_minimum(eta, weight) == max(parts)


@pytest.mark.parametrize("phi", [0.03, 0.3])
def test_a_normal_predictor_has_the_share_and_the_strength_that_were_asked_for(phi: float) -> None:
    """By a large simulated sample: R^2 of its likelihood, C by its pairs."""
    r2 = 0.15 * max_cox_snell_r2(phi)
    eta, weight = normal_predictor(phi, r2)
    rng = np.random.default_rng(0)
    drawn = rng.choice(eta, 400_000, p=weight)
    y = rng.random(len(drawn)) < expit(drawn)
    assert y.mean() == pytest.approx(phi, rel=0.02)
    likelihood = np.mean(np.where(y, np.log(expit(drawn)), np.log(expit(-drawn))))
    nothing = phi * math.log(phi) + (1 - phi) * math.log(1 - phi)
    assert 1 - math.exp(2 * (nothing - likelihood)) == pytest.approx(r2, rel=0.1)
    c = np.mean(rng.choice(drawn[y], 400_000) > rng.choice(drawn[~y], 400_000))
    assert concordance(eta, weight) == pytest.approx(c, abs=0.005)


def test_validations_of_that_size_have_slopes_as_certain() -> None:
    """Standard deviation of the slope over validations: .051, with a relative error of 1 / sqrt(2 * 150)."""
    eta, weight = normal_predictor(0.3, 0.2)
    n, rng = patients_by_slope(eta, weight), np.random.default_rng(1)
    slopes = []
    for _ in range(150):
        x = rng.choice(eta, n, p=weight)
        y = rng.random(n) < expit(x)
        slopes.append(LogisticRegression(C=np.inf).fit(x[:, None], y).coef_[0, 0])
    assert np.std(slopes) == pytest.approx(0.0510, rel=0.18)
    assert np.mean(slopes) == pytest.approx(1.0, abs=0.02)


def test_of_times_the_unit_does_not_matter_and_rare_events_ask_for_more() -> None:
    years = validation_minimum_of_times(0.1, 0.05, 4.0, [1.0, 5.0])
    assert validation_minimum_of_times(0.1, 0.05 / 365, 4.0 * 365, [365.0, 5 * 365.0]) == years
    assert validation_minimum_of_times(0.1, 0.005, 4.0, [1.0, 5.0]) > 5 * years
    # No one is without the event: the slope decides.
    by_slope = math.ceil(1 / (-math.log(0.9) * (0.1 / 1.96) ** 2))
    assert validation_minimum_of_times(0.1, 50.0, 0.02, [40.0]) == by_slope


def test_of_times_observed_over_expected_is_as_certain_as_asked() -> None:
    """Of exponential times with a common end of follow-up, by the maximum likelihood of the rate."""
    rate, end, h = 0.05, 4.0, 2.0
    mean = (1 - math.exp(-rate * end)) / rate
    n = validation_minimum_of_times(0.9, rate, mean, [h])
    rng = np.random.default_rng(0)
    time = rng.exponential(1 / rate, (2_000, n))
    estimate = (time < end).sum(axis=1) / np.minimum(time, end).sum(axis=1)
    ratio = -np.expm1(-estimate * h) / -math.expm1(-rate * h)
    lower, upper = np.quantile(ratio, [0.025, 0.975])
    assert upper - lower == pytest.approx(0.2, rel=0.06)
