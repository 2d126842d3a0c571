from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from autoprog.space import TableShape, calibration
from autoprog.space.calibration import CALIBRATION, CalibratedRisk


def test_margins_are_calibrated_as_by_scikit_learn() -> None:
    """Log odds of a logistic regression are its margins, which scikit-learn maps in the same way."""
    X, y = make_classification(300, random_state=0)
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    for method, tolerance in (("sigmoid", 1e-4), ("isotonic", 1e-12), ("temperature", 1e-4)):
        ours = CalibratedRisk(LogisticRegression(), method, inner).fit(X, y)
        theirs = CalibratedClassifierCV(LogisticRegression(), method=method, cv=inner, ensemble=False).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=tolerance)


class Distorted(LogisticRegression):  # type: ignore[misc]
    """Log odds four times too large."""

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        risks = expit(4 * self.decision_function(X))
        return np.column_stack([1 - risks, risks])


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature", "ensemble_temperature"])
def test_what_is_too_sure_is_drawn_back(method: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 3))
    y = (rng.random(6000) < expit(X.sum(axis=1))).astype(int)
    risks = CalibratedRisk(Distorted(), method, 3).fit(X[:3000], y[:3000]).predict_proba(X[3000:])[:, 1]
    truth = expit(X[3000:].sum(axis=1))
    assert np.abs(risks - truth).mean() < 0.03
    assert np.abs(Distorted().fit(X[:3000], y[:3000]).predict_proba(X[3000:])[:, 1] - truth).mean() > 0.1


def test_the_mixture_is_the_likeliest() -> None:
    """Of temperature, no change and an even chance, against a grid of weights."""
    rng = np.random.default_rng(2)
    z = rng.normal(0, 3, 2000)
    y = (rng.random(2000) < 0.7 * expit(z / 2) + 0.3 * 0.5).astype(float)
    w, _, b = calibration._ensemble_temperature(z, y).T
    assert w.sum() == pytest.approx(1)

    def loss(weights: np.ndarray) -> float:
        return -float(np.log(expit(np.where(y == 1, z, -z)[:, None] * b) @ weights).mean())

    steps = np.linspace(0, 1, 41)
    grid = [np.array([p, q, 1 - p - q]) for p in steps for q in steps if p + q <= 1]
    assert loss(w) <= min(map(loss, grid)) + 1e-6


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature", "ensemble_temperature"])
def test_no_calibration_turns_a_ranking_round(method: str) -> None:
    """Useless columns, where held-out scores are often opposed to the outcomes."""
    reversed_by_scikit_learn = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 10)), np.arange(60) % 2
        inner = StratifiedKFold(3, shuffle=True, random_state=0)
        plain = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
        risks = CalibratedRisk(LogisticRegression(), method, inner).fit(X, y).predict_proba(X)[:, 1]
        order = np.argsort(plain)
        assert (np.diff(risks[order]) >= -1e-12).all()
        sigmoid = CalibratedClassifierCV(LogisticRegression(), cv=inner, ensemble=False).fit(X, y)
        reversed_by_scikit_learn += roc_auc_score(y, sigmoid.predict_proba(X)[:, 1]) < 0.5
        if method == "sigmoid" and np.ptp(risks) == 0:
            assert risks[0] == pytest.approx(0.5)
    assert reversed_by_scikit_learn > 0


@pytest.mark.parametrize(
    ("n_patients", "n_minority", "folds"), [(200, 50, 3), (200, 2, 2), (50_000, 9_000, 3), (50_001, 9_000, 2)]
)
def test_many_patients_are_held_out_in_two_halves(n_patients: int, n_minority: int, folds: int) -> None:
    shape = TableShape(n_patients, 10, n_minority, has_missing=False)
    assert CALIBRATION[0].build({}, shape, 0).cv.n_splits == folds
