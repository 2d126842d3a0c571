"""scikit-learn's own tools on patients of numbers, texts and categories."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.metrics import RocCurveDisplay, accuracy_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sksurv.util import Surv

from autoprog import AutoPrognosis, Survival
from tests.estimator.support import QUICK, followed, patients

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::autoprog.ExtrapolationWarning")

ONE = {**QUICK, "budget": {"evaluations": 1}}


def quick(**parameters: object) -> AutoPrognosis:
    return AutoPrognosis(time_budget_s=120, random_state=0, settings=ONE, **parameters)


def test_default_score_is_the_auc(fitted: AutoPrognosis) -> None:
    X, y = patients()
    assert fitted.score(X, y) == roc_auc_score(y == "yes", fitted.predict_risk(X))
    weights = np.linspace(0, 1, len(X))
    assert fitted.score(X, y, weights) == roc_auc_score(y == "yes", fitted.predict_risk(X), sample_weight=weights)
    assert make_scorer(accuracy_score)(fitted, X, y) == (fitted.predict(X) == y).mean()


def test_positive_is_the_class_whose_risk_is_predicted() -> None:
    X, y = patients()
    model = quick(positive="no").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 0], model.predict_risk(X))
    assert model.predict_risk(X)[y == "no"].mean() > model.predict_risk(X)[y == "yes"].mean()
    assert ((model.predict(X) == "no") == (model.predict_risk(X) >= 0.5)).all()
    assert model.score(X, y) > 0.6


def test_grid_search_over_a_pipeline() -> None:
    X, y = patients()
    grid = {"autoprognosis__settings": [ONE, {**ONE, "ensemble": "best"}]}
    search = GridSearchCV(make_pipeline(FunctionTransformer(), quick()), grid, cv=2).fit(X, y)
    assert search.best_estimator_.predict_proba(X).shape == (len(X), 2)
    assert (search.cv_results_["mean_test_score"] > 0.5).all()


def test_cross_validation() -> None:
    X, y = patients()
    assert (cross_val_score(quick(), X, y, cv=2) > 0.5).all()
    p = cross_val_predict(quick(), X, y, cv=2, method="predict_proba")
    assert roc_auc_score(y, p[:, 1]) > 0.55


@pytest.mark.parametrize("form", [Survival, lambda time, event: Surv.from_arrays(event, time)])
def test_cross_validation_of_event_times(form: object) -> None:
    X, time, event = followed()
    y = form((time + 0.5).to_numpy(), (event == 1).to_numpy())  # type: ignore[operator]
    model = quick(mode="survival", horizons=[120])
    scores = cross_val_score(model, X, y, cv=2)
    assert ((scores > 0.5) & (scores < 1)).all()


def test_importance_by_permutation(fitted: AutoPrognosis) -> None:
    X, y = patients()
    found = permutation_importance(fitted, X, y, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() in (0, 1)  # age or stage


def test_displays(fitted: AutoPrognosis) -> None:
    X, y = patients()
    assert CalibrationDisplay.from_estimator(fitted, X, y, pos_label="yes").y_prob.tolist() == pytest.approx(
        fitted.predict_risk(X).tolist()
    )
    assert RocCurveDisplay.from_estimator(fitted, X, y).roc_auc == pytest.approx(fitted.score(X, y))
    known = X.assign(age=X["age"].fillna(60))
    PartialDependenceDisplay.from_estimator(fitted, known, ["age"], grid_resolution=5)


def test_pickled_in_another_process_it_predicts_the_same(fitted: AutoPrognosis, tmp_path: object) -> None:
    X, _ = patients()
    code = (
        "import pickle, sys; m, X = pickle.load(sys.stdin.buffer); pickle.dump(m.predict_proba(X), sys.stdout.buffer)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps((fitted, X)), capture_output=True, check=True
    )
    np.testing.assert_array_equal(pickle.loads(told.stdout), fitted.predict_proba(X))  # noqa: S301  our own
