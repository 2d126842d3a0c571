from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from autoprog.performance import compute_calibration
from autoprog.validation import (
    Recalibration,
    cross_fitted,
    delivered_slope,
    fit_recalibration,
    recalibration_covariance,
    shrunk_recalibration,
)
from autoprog.validation.recalibration import recalibration_splits
from tests.cohorts import cleveland_cohort


def simulated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes, and the risks that they were drawn with."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(-0.5, 1.2, n))
    return (rng.random(n) < p).astype(np.int8), p


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (0.7, 2.5), (-1.0, 0.4)])
def test_undoes_a_known_distortion(a: float, b: float) -> None:
    y, p = simulated(200_000, seed=1)
    distorted = expit((logit(p) - a) / b)
    found = fit_recalibration(y, distorted)
    # Standard errors are about .006 of the intercept and .008 of the slope, times b.
    assert found.intercept == pytest.approx(a, abs=0.03)
    assert found.slope == pytest.approx(b, rel=0.03)
    np.testing.assert_allclose(found.apply(distorted), p, atol=0.02)


def test_is_the_maximum_likelihood_estimate() -> None:
    y, p = simulated(300, seed=2)
    found = fit_recalibration(y, p**2)
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logit(p**2)[:, None], y)
    assert found.slope == pytest.approx(oracle.coef_[0, 0], rel=1e-4)
    assert found.intercept == pytest.approx(oracle.intercept_[0], rel=1e-4)
    refitted = compute_calibration(y, found.apply(p**2))
    assert refitted.slope is not None
    assert refitted.slope.estimate == pytest.approx(1, abs=1e-6)
    assert refitted.intercept.estimate == pytest.approx(0, abs=1e-6)


def test_keeps_the_ranking() -> None:
    y, p = simulated(500, seed=3)
    moderate = expit(0.3 * logit(p))
    assert roc_auc_score(y, fit_recalibration(y, moderate).apply(moderate)) == roc_auc_score(y, p)


@pytest.mark.parametrize(
    "risks",
    [np.full(6, 0.3), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8]), np.array([0.8, 0.7, 0.3, 0.6, 0.2, 0.1])],
    ids=["constant", "separated", "turned around"],
)
def test_risks_without_a_usable_slope_get_the_right_mean(risks: np.ndarray) -> None:
    y = np.array([0, 0, 0, 1, 1, 1])
    found = fit_recalibration(y, risks)
    assert found.slope == 1
    assert found.apply(risks).mean() == pytest.approx(0.5, abs=1e-6)


def test_zero_and_one_stay_inside() -> None:
    risks = Recalibration(0.5, 3.0).apply(np.array([0.0, 0.5, 1.0]))
    assert (risks > 0).all()
    assert (risks < 1).all()


def test_cross_fitting_does_not_flatter_noise() -> None:
    """Risks that know nothing: recalibrated in sample they beat the base rate, cross-fitted they do not."""
    gains = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = (rng.random(60) < 0.4).astype(np.int8)
        p = rng.uniform(0.2, 0.6, 60)
        risks = cross_fitted(y, p, rng)
        base = y.mean()
        gains.append(np.mean((base - y) ** 2) - np.mean((risks - y) ** 2))
    # The mean gain is negative; its standard error is about .0003.
    assert np.mean(gains) < 0


def test_every_patient_is_recalibrated_by_others() -> None:
    cohort = cleveland_cohort()
    p = np.random.default_rng(0).random(cohort.n_patients)
    risks = cross_fitted(cohort.y, p, np.random.default_rng(1))
    assert np.isfinite(risks).all()
    assert len(np.unique(np.round(logit(risks) - logit(p), 9))) > 10
    np.testing.assert_array_equal(risks, cross_fitted(cohort.y, p, np.random.default_rng(1)))


def test_groups_are_recalibrated_by_other_groups() -> None:
    """Risks of a group do not change with its own outcomes."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 10)
    p = rng.uniform(0.1, 0.9, 300)
    y = (rng.random(300) < p).astype(np.int8)
    splits = recalibration_splits(y, 30, groups, np.random.default_rng(1))
    assert len(splits) == 10
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(300))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
    risks = cross_fitted(y, p, np.random.default_rng(1), groups)
    for train, test in splits:
        np.testing.assert_allclose(risks[test], shrunk_recalibration(y[train], p[train]).apply(p[test]), atol=1e-6)


@pytest.mark.parametrize("true", [0.33, 1.0, 2.0])
@pytest.mark.parametrize("n", [120, 300, 1000])
def test_the_slope_of_the_delivered_model_is_unbiased(true: float, n: int) -> None:
    """Of a model whose risks have a known slope among other patients, recalibrated by n of them."""
    rng, cohorts = np.random.default_rng([n, int(100 * true)]), 200
    errors, held = [], 0
    while len(errors) < cohorts:
        x = rng.normal(-0.5, 1.5 if true < 2 else 0.6, n)
        y = (rng.random(n) < expit(0.2 + true * x)).astype(np.int8)
        recalibration = shrunk_recalibration(y, expit(x))
        slope, of_others = delivered_slope(y, expit(x), recalibration), true / recalibration.slope
        assert slope is not None
        errors.append(slope.estimate - of_others)
        held += slope.lower <= of_others <= slope.upper
    assert abs(np.mean(errors)) < 3 * np.std(errors) / cohorts**0.5
    assert held >= 0.9 * cohorts


def test_a_slope_that_was_not_estimated_is_that_of_the_risks() -> None:
    y, p = simulated(2_000, 3)
    slope, plain = delivered_slope(y, p, Recalibration(0.1, 1.0)), compute_calibration(y, p).slope
    assert slope is not None
    assert plain is not None
    assert slope.estimate == pytest.approx(plain.estimate, abs=0.01)
    assert delivered_slope(np.repeat([0, 1], 5), np.linspace(0.1, 0.9, 10), Recalibration()) is None


def test_copies_of_a_patient_make_a_recalibration_no_more_certain() -> None:
    y, p = simulated(400, 3)
    alone = recalibration_covariance(p, fit_recalibration(y, p))
    copied, risks, patient = np.repeat(y, 10), np.repeat(p, 10), np.repeat(np.arange(400), 10)
    fitted = fit_recalibration(copied, risks)
    naive = recalibration_covariance(risks, fitted)
    by_patient = recalibration_covariance(risks, fitted, residuals=copied - fitted.apply(risks), groups=patient)
    np.testing.assert_allclose(naive, alone / 10, rtol=1e-6)
    np.testing.assert_allclose(by_patient, alone, rtol=0.25)
    fixed = Recalibration(fitted.intercept, 1.0)
    of_intercept = recalibration_covariance(risks, fixed, residuals=copied - fixed.apply(risks), groups=patient)
    assert of_intercept[0, 0] > 0
    assert not of_intercept[1:].any()
    assert not of_intercept[:, 1:].any()
