"""Intervals of patients' risks against known variances, the delta method, and the true risks of simulated patients."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from autoprog.cohort import Feature
from autoprog.performance import bootstrap_rows, compute_logit
from autoprog.validation import (
    IDENTITY,
    INTERVAL_LEVEL,
    MIN_REFITS,
    PatientIntervals,
    Recalibration,
    Refit,
    fit_patient_intervals,
    fit_recalibration,
    mixture_bounds,
    recalibration_covariance,
    shares_of_variance,
)
from autoprog.validation.patient_intervals import WIDENING

FEATURES = tuple(Feature(f"x{j}", "numeric") for j in range(4))
FOLDS = 5
Z = 1.6448536269514722  # of level .9


def draws(sd: np.ndarray, p: np.ndarray, n: int = 40, seed: int = 0) -> list[Refit]:
    """Refits whose risks are off by normal deviations of log odds, of each patient in a third of them."""
    rng = np.random.default_rng(seed)
    inflated = sd * np.sqrt(1 + 1 / (FOLDS - 1))  # as out-of-fold risks are
    refits = []
    for _ in range(n):
        risks = p + p * (1 - p) * inflated * rng.normal(size=len(p))
        refits.append(Refit(np.where(rng.random(len(p)) < 0.37, risks, np.nan), p))
    return refits


def patients(n: int = 3000, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, expit(X @ [0.8, -0.5, 0.3, 0.0] - 0.5)


def fitted(X: np.ndarray, p: np.ndarray, refits: list[Refit], **changes: object) -> PatientIntervals:
    arguments = {"folds": FOLDS, "covariance": np.zeros((2, 2)), "lack_of_fit": 0.1, **changes}
    return fit_patient_intervals(FEATURES, X, p[None], np.ones(1), p, refits, **arguments)


def plain(intervals: PatientIntervals) -> PatientIntervals:
    """The spread of the refits alone."""
    return replace(intervals, widening=1.0, lack_of_fit=0.0)


def interval_ends(
    intervals: PatientIntervals,
    X: np.ndarray,
    p: np.ndarray,
    w: np.ndarray,
    averaged: np.ndarray,
    recalibration: Recalibration,
) -> np.ndarray:
    centre = compute_logit(recalibration.apply(averaged))
    return mixture_bounds(centre[None], intervals.spread(X, p, w, averaged, recalibration)[None])


def test_a_variance_that_is_the_same_for_all_is_found() -> None:
    X, p = patients()
    found = plain(fitted(X, p, draws(np.full(len(p), 0.3), p))).spread(X, p[None], np.ones(1), p, IDENTITY)
    # 40 refits of 3,000 patients are 44,000 squares: a standard error of the variance of .7 %.
    assert np.median(found) == pytest.approx(0.3, rel=0.03)
    assert np.quantile(found, [0.01, 0.99]) == pytest.approx(0.3, rel=0.15)


def test_a_variance_that_grows_with_leverage_is_found() -> None:
    X, p = patients()
    sd = 0.2 * np.sqrt(1 + (X**2).sum(axis=1))
    found = plain(fitted(X, p, draws(sd, p))).spread(X, p[None], np.ones(1), p, IDENTITY)
    assert np.corrcoef(np.log(found), np.log(sd))[0, 1] > 0.95
    assert np.median(found / sd) == pytest.approx(1, rel=0.05)


def test_refits_are_compared_with_the_same_members() -> None:
    """What else the model averages, which was not refitted, is no deviation."""
    X, p = patients()
    refits = [replace(r, risks=r.risks + 0.1, own=r.own + 0.1) for r in draws(np.full(len(p), 0.3), p)]
    found = plain(fitted(X, p, refits)).spread(X, p[None], np.ones(1), p, IDENTITY)
    assert np.median(found) == pytest.approx(0.3, rel=0.03)


def test_what_no_refit_shows_widens_it() -> None:
    X, p = patients(400)
    intervals = fitted(X, p, draws(np.full(len(p), 0.2), p))
    recalibration = Recalibration(0.1, 1.5)
    bare = plain(intervals).spread(X, p[None], np.ones(1), p, recalibration)
    widened = intervals.spread(X, p[None], np.ones(1), p, recalibration)
    np.testing.assert_allclose(widened**2, 1.5**2 * 0.1 + WIDENING**2 * bare**2, rtol=1e-9)


def test_a_model_from_before_keeps_its_intervals() -> None:
    """There the members' disagreement counted in full, and 1.5 times the rest."""
    X, p = patients(400)
    apart = np.array([expit(logit(p) - 0.5), expit(logit(p) + 0.5)])
    w = np.array([0.5, 0.5])
    q = w @ apart
    intervals = fit_patient_intervals(
        FEATURES,
        X,
        apart,
        w,
        q,
        draws(np.full(len(p), 0.1), q),
        folds=FOLDS,
        covariance=np.zeros((2, 2)),
        lack_of_fit=0.1,
    )
    document = intervals.to_json()
    for name in ("widening", "lack_of_fit", "disagreement"):
        del document[name]
    former = PatientIntervals.from_json(document).spread(X, apart, w, q, IDENTITY)
    between = w @ (apart - q) ** 2 / (q * (1 - q)) ** 2
    bare = plain(intervals).spread(X, apart, w, q, IDENTITY)
    np.testing.assert_allclose(former**2, between + 1.5**2 * bare**2, rtol=1e-9)


def test_the_interval_has_its_quantiles_on_the_scale_of_log_odds_around_the_risk() -> None:
    X, p = patients(500)
    recalibration = Recalibration(0.3, 1.4)
    intervals = fitted(X, p, draws(np.full(len(p), 0.2), p), covariance=np.array([[0.04, 0.01], [0.01, 0.02]]))
    spread = intervals.spread(X, p[None], np.ones(1), p, recalibration)
    bounds = interval_ends(intervals, X, p[None], np.ones(1), p, recalibration)
    centre = 0.3 + 1.4 * logit(p)
    assert INTERVAL_LEVEL == 0.9
    np.testing.assert_allclose(logit(bounds[:, 0]), centre - Z * spread, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(logit(bounds[:, 1]), centre + Z * spread, rtol=1e-6, atol=1e-6)
    without = replace(intervals, covariance=np.zeros((2, 2))).spread(X, p[None], np.ones(1), p, recalibration)
    of_the_recalibration = 0.04 + 2 * 0.01 * logit(p) + 0.02 * logit(p) ** 2
    np.testing.assert_allclose(spread**2 - without**2, WIDENING**2 * of_the_recalibration, rtol=1e-6)


def test_a_second_recalibration_moves_the_interval_as_the_delta_method_says() -> None:
    X, p = patients(200)
    former, step = Recalibration(0.2, 1.3), Recalibration(-0.5, 0.7)
    both = Recalibration(step.intercept + step.slope * former.intercept, step.slope * former.slope)
    first, second = np.array([[0.03, 0.01], [0.01, 0.02]]), np.array([[0.05, -0.01], [-0.01, 0.04]])
    intervals = fitted(X, p, draws(np.full(len(p), 0.2), p), covariance=first)
    moved = plain(intervals.recalibrated(former, step, second)).spread(X, p[None], np.ones(1), p, both)
    before = plain(intervals).spread(X, p[None], np.ones(1), p, former)
    x = former.intercept + former.slope * logit(p)
    of_the_step = second[0, 0] + 2 * second[0, 1] * x + second[1, 1] * x**2
    np.testing.assert_allclose(moved**2, step.slope**2 * before**2 + of_the_step, rtol=1e-9)


def test_nobody_is_surer_of_the_unusual_and_risks_of_0_and_1_are_borne() -> None:
    X, p = patients()
    sd = 0.5 / np.sqrt(1 + (X**2).sum(axis=1))  # falls with leverage
    intervals = fitted(X, p, draws(sd, p))
    far = np.vstack([np.zeros(4), np.full(4, 1e6)])
    same = np.array([0.4, 0.4])
    near, odd = intervals.spread(far, same[None], np.ones(1), same, IDENTITY)
    assert odd == pytest.approx(near, rel=1e-9)
    certain = np.array([0.0, 1.0])
    bounds = interval_ends(intervals, far, certain[None], np.ones(1), certain, IDENTITY)
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] < bounds[:, 1]).all()


def test_too_few_refits_are_refused() -> None:
    X, p = patients(100)
    with pytest.raises(ValueError, match=f"4 refits are fewer than {MIN_REFITS}"):
        fitted(X, p, draws(np.full(100, 0.2), p, n=4))


def test_storage_changes_nothing() -> None:
    X, p = patients(300)
    intervals = fitted(X, p, draws(np.full(len(p), 0.2), p))
    loaded = PatientIntervals.from_json(json.loads(json.dumps(intervals.to_json(), allow_nan=False)))
    arguments = (X, p[None], np.ones(1), p, Recalibration(0.1, 1.2))
    np.testing.assert_array_equal(interval_ends(loaded, *arguments), interval_ends(intervals, *arguments))


def _cohort_coverage(seed: int) -> tuple[float, float]:
    """Shares of new patients whose true risk lies within the spread's own quantiles, and within the interval."""
    rng = np.random.default_rng(seed)
    X, p = patients(300, seed)
    y = (rng.random(len(p)) < p).astype(np.int8)
    learner = LogisticRegression(C=np.inf)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    oof = cross_val_predict(learner, X, y, cv=folds, method="predict_proba")[:, 1]
    recalibration = fit_recalibration(y, oof)
    refits = []
    for _ in range(20):
        rows = bootstrap_rows(y, None, rng)
        risks = learner.fit(X[rows], y[rows]).predict_proba(X)[:, 1]
        risks[rows] = np.nan
        refits.append(Refit(risks, oof))
    covariance = recalibration_covariance(oof, recalibration)
    intervals = fit_patient_intervals(
        FEATURES, X, oof[None], np.ones(1), oof, refits, folds=FOLDS, covariance=covariance, lack_of_fit=0.1
    )
    new, truth = patients(500, seed + 1000)
    q = learner.fit(X, y).predict_proba(new)[:, 1]
    spread = plain(intervals).spread(new, q[None], np.ones(1), q, recalibration)
    centre = recalibration.intercept + recalibration.slope * logit(q)
    low, high = interval_ends(intervals, new, q[None], np.ones(1), q, recalibration).T
    within = np.abs(logit(truth) - centre) <= Z * spread
    return float(within.mean()), float(((low <= truth) & (truth <= high)).mean())


def test_where_the_model_is_right_the_spread_needs_no_widening() -> None:
    # Means over 40 cohorts whose coverages vary by about .12: standard errors of .02, and four of them to either side.
    bare, widened = np.mean([_cohort_coverage(seed) for seed in range(40)], axis=0)
    assert 0.82 <= bare <= 0.98
    assert widened >= 0.9


def test_the_interval_of_draws_holds_nine_in_ten_of_their_mixture() -> None:
    rng = np.random.default_rng(0)
    centre, spread = rng.normal(0, 1.5, (32, 5)), rng.uniform(0.1, 0.8, (32, 5))
    bounds = mixture_bounds(centre, spread)
    mean = centre.mean(axis=0)
    spread_out = mean + 1.2 * (centre - mean)
    sampled = (spread_out + spread * rng.standard_normal((20_000, 32, 5))).reshape(-1, 5)
    np.testing.assert_allclose(logit(bounds).T, np.quantile(sampled, [0.05, 0.95], axis=0), atol=0.03)


def test_the_share_of_variance_that_a_missing_value_holds_is_found() -> None:
    """Log odds 2 a + b of independent values with variance 1, and .5 that no value tells."""
    rng = np.random.default_rng(1)
    drawn = np.zeros((400, 50, 3))
    drawn[:, :, :2] = rng.standard_normal((400, 50, 2))
    centre = 2 * drawn[:, :, 0] + drawn[:, :, 1]
    shares = shares_of_variance(drawn, centre, np.full((400, 50), np.sqrt(0.5))).mean(axis=0)
    of_a_line = 0.861  # the variance of a normal value between its quarters
    np.testing.assert_allclose(shares, [4 / 5.5 * of_a_line, 1 / 5.5 * of_a_line, 0.0], atol=0.05)
