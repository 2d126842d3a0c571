"""The map from margins to risks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC

from autoprog.space.prediction.platt import PlattScaled, _logistic_map
from tests.space.prediction.learners import patients, standardised


def _likeliest(m: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and intercept by a general optimiser, with the library's unit penalty on the slope of m / sd(m)."""
    spread = m.std()

    def loss(parameters: np.ndarray) -> float:
        odds = parameters[0] * m / spread + parameters[1]
        return float(np.logaddexp(0, odds).sum() - odds[y == 1].sum() + parameters[0] ** 2 / 2)

    slope, intercept = minimize(loss, [0.0, 0.0], tol=1e-10).x
    return slope / spread, intercept


def test_the_map_is_the_likeliest_of_cross_fitted_margins() -> None:
    X, y = patients(120, 4)
    Z = standardised(X)
    svm = LinearSVC(C=0.1, random_state=0)
    model = PlattScaled(svm, folds=3, seed=5).fit(Z, y)
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    m = cross_val_predict(svm, Z, y, cv=folds, method="decision_function")
    np.testing.assert_allclose((model.slope_, model.intercept_), _likeliest(m, y), rtol=1e-3)
    np.testing.assert_allclose(model.decision_function(Z), svm.fit(Z, y).decision_function(Z))


def test_risks_never_rank_patients_against_the_margin() -> None:
    """Without signal the library's map has the wrong sign in half of the cohorts: 12 without one have p < 1e-3."""
    turned = 0
    for seed in range(12):
        X, y = patients(60, 8, seed=seed, signal=0.0)
        Z = standardised(X)
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        library = CalibratedClassifierCV(LinearSVC(C=0.1), cv=folds, ensemble=False).fit(Z, y)
        turned += library.calibrated_classifiers_[0].calibrators[0].a_ > 0
        model = PlattScaled(LinearSVC(C=0.1), folds=3, seed=seed).fit(Z, y)
        order = np.argsort(model.decision_function(Z))
        assert np.diff(model.predict_proba(Z)[order, 1]).min() >= 0
    assert turned > 0


class Opposed(ClassifierMixin, BaseEstimator):
    """Margins that fall with the first column, whatever the outcome."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Opposed:
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return -X[:, 0]


def test_opposed_margins_give_all_patients_the_share_of_events() -> None:
    X, y = patients(90, 2, signal=3.0)
    model = PlattScaled(Opposed()).fit(X, y)
    assert model.slope_ == 0
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean())


def test_an_integer_weight_is_as_many_copies() -> None:
    rng = np.random.default_rng(1)
    m = rng.normal(size=50)
    event = (rng.random(50) < 1 / (1 + np.exp(-2 * m))).astype(float)
    copies = rng.integers(0, 4, 50)
    weighted = _logistic_map(m, event, copies.astype(float))
    repeated = _logistic_map(np.repeat(m, copies), np.repeat(event, copies), np.ones(copies.sum()))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-4)


def test_constant_margins_have_no_slope() -> None:
    slope, intercept = _logistic_map(np.full(4, 2.0), np.array([1.0, 0, 0, 0]), np.ones(4))
    assert slope == 0
    assert 1 / (1 + np.exp(-intercept)) == pytest.approx(0.25)


def test_a_class_smaller_than_the_folds_is_named() -> None:
    X, y = np.zeros((20, 1)), np.array([1, 1] + [0] * 18)
    with pytest.raises(ValueError, match=r"3 folds .* rarer one has 2"):
        PlattScaled(LinearSVC(), folds=3).fit(X, y)
