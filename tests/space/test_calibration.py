from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from autoprog.space import TableShape
from autoprog.space.calibration import CALIBRATION, Calibrated


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_learner_that_knows_something_is_calibrated_as_by_scikit_learn(method: str) -> None:
    X, y = make_classification(300, random_state=0)
    arguments = {"method": method, "cv": StratifiedKFold(3, shuffle=True, random_state=0), "ensemble": False}
    ours, theirs = (kind(LogisticRegression(), **arguments).fit(X, y) for kind in (Calibrated, CalibratedClassifierCV))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_no_calibration_turns_a_ranking_round(method: str) -> None:
    """Useless columns, where held-out scores are often opposed to the outcomes."""
    reversed_by_scikit_learn = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 10)), np.arange(60) % 2
        arguments = {"method": method, "cv": StratifiedKFold(3, shuffle=True, random_state=0), "ensemble": False}
        plain = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
        risks = Calibrated(LogisticRegression(), **arguments).fit(X, y).predict_proba(X)[:, 1]
        order = np.argsort(plain)
        assert (np.diff(risks[order]) >= -1e-12).all()
        theirs = CalibratedClassifierCV(LogisticRegression(), **arguments).fit(X, y).predict_proba(X)[:, 1]
        reversed_by_scikit_learn += roc_auc_score(y, theirs) < 0.5
        if method == "sigmoid" and np.ptp(risks) == 0:
            assert risks[0] == pytest.approx(0.5)
    assert (reversed_by_scikit_learn > 0) == (method == "sigmoid")


@pytest.mark.parametrize(
    ("n_patients", "n_minority", "folds"), [(200, 50, 3), (200, 2, 2), (50_000, 9_000, 3), (50_001, 9_000, 2)]
)
def test_many_patients_are_held_out_in_two_halves(n_patients: int, n_minority: int, folds: int) -> None:
    shape = TableShape(n_patients, 10, n_minority, has_missing=False)
    assert CALIBRATION[0].build({}, shape, 0).cv.n_splits == folds
