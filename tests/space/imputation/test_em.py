"""EM finds the maximum of the likelihood, or of the posterior under the ridge prior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from autoprog.space.imputation.em import EMImputer


def _moments(imputer: EMImputer) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance in the units of the columns."""
    return imputer.location_, np.linalg.inv(imputer.precision_) * np.outer(imputer.scale_, imputer.scale_)


def _correlated(seed: int, n: int, d: int, missing: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(n, d)) + 3.0
    X[rng.random((n, d)) < missing] = np.nan
    return X


def test_monotone_missing_cells_have_a_closed_form() -> None:
    """Anderson 1957: the likelihood factors into that of the complete column and that of the regression on it."""
    rng = np.random.default_rng(0)
    x = rng.normal(50, 10, 300)
    y = 2 * x + rng.normal(0, 15, 300)
    y[x > 52] = np.nan  # at random given x, and far from completely so
    observed = ~np.isnan(y)
    slope, intercept = np.polyfit(x[observed], y[observed], 1)
    residual = np.var(y[observed] - intercept - slope * x[observed])
    mean = np.array([x.mean(), intercept + slope * x.mean()])
    covariance = np.array([[x.var(), slope * x.var()], [slope * x.var(), residual + slope**2 * x.var()]])

    imputer = EMImputer(0.0, tol=1e-11, max_iter=5000).fit(np.column_stack([x, y]))

    fitted_mean, fitted_covariance = _moments(imputer)
    np.testing.assert_allclose(fitted_mean, mean, rtol=1e-8)
    np.testing.assert_allclose(fitted_covariance, covariance, rtol=1e-8)
    assert abs(np.nanmean(y) - mean[1]) > 10  # the mean of the observed cells is no estimate of it
    new = imputer.transform([[45.0, np.nan], [np.nan, 90.0]])
    np.testing.assert_allclose(new[0, 1], intercept + slope * 45, rtol=1e-8)
    np.testing.assert_allclose(new[1, 0], mean[0] + slope * x.var() / covariance[1, 1] * (90 - mean[1]), rtol=1e-8)


def test_without_missing_cells_correlations_shrink_and_variances_stay() -> None:
    X = _correlated(1, 80, 4, missing=0.0)
    mean, covariance = _moments(EMImputer(0.25, tol=1e-12).fit(X))
    expected = np.cov(X.T, bias=True)
    off_diagonal = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(np.diag(covariance), np.diag(expected))
    np.testing.assert_allclose(covariance[off_diagonal], expected[off_diagonal] / 1.25)


def _log_posterior(ridge: float, Z: np.ndarray, mu: np.ndarray, Sigma: np.ndarray) -> float:
    """Of the observed standardised cells, patient by patient, and the imaginary patients."""
    total = -0.5 * ridge * len(Z) * (np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.inv(Sigma)))
    for row in Z:
        o = ~np.isnan(row)
        if o.any():
            total += multivariate_normal.logpdf(row[o], mu[o], Sigma[np.ix_(o, o)])
    return float(total)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_the_posterior_never_falls_and_ends_at_a_maximum(ridge: float) -> None:
    X = _correlated(2, 60, 4, missing=0.3)
    mean, deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z = (X - mean) / deviation

    def after(iterations: int) -> tuple[np.ndarray, np.ndarray]:
        imputer = EMImputer(ridge, tol=1e-10, max_iter=iterations).fit(X)
        return (imputer.location_ - mean) / deviation, np.linalg.inv(imputer.precision_)

    path = [_log_posterior(ridge, Z, *after(k)) for k in range(1, 12)]
    assert min(np.diff(path)) > -1e-9
    assert path[-1] > path[0] + 0.1

    mu, Sigma = after(3000)
    best = _log_posterior(ridge, Z, mu, Sigma)
    rng = np.random.default_rng(3)
    for _ in range(50):
        step = rng.normal(size=(4, 4)) * 1e-2
        assert _log_posterior(ridge, Z, mu + step[0], Sigma + step + step.T) < best


def test_dummies_of_one_feature_and_fewer_patients_than_columns() -> None:
    """A covariance that has no inverse is no obstacle, and what columns determine is found."""
    rng = np.random.default_rng(4)
    dummies = np.eye(3)[rng.integers(0, 3, 200)]
    X = np.hstack([dummies, rng.normal(size=(200, 1))])
    X[rng.random(X.shape) < 0.1] = np.nan
    imputed = EMImputer(1e-4).fit(X).transform([[0.0, 1.0, np.nan, 0.3], [0.0, 0.0, np.nan, 0.3]])
    np.testing.assert_allclose(imputed[:, 2], [0, 1], atol=0.02)
    wide = _correlated(5, 12, 30, missing=0.2)
    assert np.isfinite(EMImputer(max_iter=5000).fit(wide).transform(wide)).all()


def test_says_when_it_did_not_converge() -> None:
    with pytest.warns(ConvergenceWarning, match="iteration 2"):
        EMImputer(max_iter=2, tol=1e-9).fit(_correlated(6, 40, 3, missing=0.4))
