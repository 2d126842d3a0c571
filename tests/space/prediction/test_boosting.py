"""Boosting: the first step by hand, and levels that stay codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from autoprog.cohort import Feature
from autoprog.model import dump_estimator, load_estimator
from autoprog.space import Algorithm, Configuration, HeldOut, Step, TableShape, build_pipeline
from autoprog.space.prediction.boosting import ADA_BOOST, GRADIENT_BOOSTING, LIGHTGBM, STOCHASTIC_BOOSTING, XGBOOST
from tests.space.prediction.learners import Table, fitted, patients, shape_of

NATIVE = [XGBOOST, LIGHTGBM]
RISKY = [1, 4, 6, 9, 10]
N_LEVELS = 12


def _levels(n: int, seed: int = 0) -> tuple[Table, np.ndarray]:
    """A column of noise and one of levels, of which those in RISKY carry nine in ten events."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, N_LEVELS, n).astype(float)
    y = (np.isin(code, RISKY) ^ (rng.random(n) < 0.1)).astype(np.int8)
    return np.column_stack([rng.normal(size=n), code]), y


def _one_of_each() -> Table:
    return np.column_stack([np.zeros(N_LEVELS), np.arange(N_LEVELS)])


def test_the_first_step_of_gradient_boosting_is_newton_s_in_each_leaf() -> None:
    X, y = patients(80, 1)
    model = fitted(GRADIENT_BOOSTING, X, y, trees=1, max_depth=1, subsample=1.0, max_features=1.0, min_leaf=1)
    prior = y.mean()
    residual = y - prior

    def squares(left: np.ndarray) -> float:
        return sum(((residual[side] - residual[side].mean()) ** 2).sum() for side in (left, ~left))

    left = min((X[:, 0] <= cut for cut in np.sort(X[:, 0])[:-1]), key=squares)
    step = [residual[side].mean() / (prior * (1 - prior)) for side in (left, ~left)]
    expected = expit(logit(prior) + 0.1 * np.where(left, *step))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-6)


def test_ada_boost_of_one_stump_votes_with_it() -> None:
    X, y = patients(80, 2, signal=3.0)
    model = fitted(ADA_BOOST, X, y, trees=1, learning_rate=1.0)
    stump = model.estimators_[0].predict(X)
    error = (stump != y).mean()
    # A vote for a class is one against the other.
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(np.where(stump == 1, 2.0, -2.0)))
    assert model.estimator_errors_[0] == pytest.approx(error)


@pytest.mark.parametrize("algorithm", NATIVE, ids=lambda a: a.name)
@pytest.mark.parametrize("n", [150, 800])
def test_risky_levels_are_found_wherever_their_codes_lie(algorithm: Algorithm, n: int) -> None:
    X, y = _levels(n)
    model = fitted(algorithm, X, y, shape=shape_of(X, y, (1,)))
    risks = model.predict_proba(_one_of_each())[:, 1]
    assert min(risks[RISKY]) > 0.5
    assert max(np.delete(risks, RISKY)) < 0.5


@pytest.mark.parametrize("algorithm", NATIVE, ids=lambda a: a.name)
def test_one_split_tells_levels_apart_that_no_threshold_does(algorithm: Algorithm) -> None:
    X, y = _levels(800)
    few = {"trees": 5, "max_depth": 1} if algorithm is XGBOOST else {"trees": 5, "leaves": 2}
    auc = {
        categorical: roc_auc_score(
            y, fitted(algorithm, X, y, shape=shape_of(X, y, categorical), **few).predict_proba(X)[:, 1]
        )
        for categorical in ((), (1,))
    }
    assert auc[()] < 0.8
    assert auc[1,] > 0.85


@pytest.mark.parametrize("algorithm", NATIVE, ids=lambda a: a.name)
def test_the_numbering_of_levels_does_not_matter(algorithm: Algorithm) -> None:
    X, y = _levels(800)
    renumbered = X.copy()
    renumbered[:, 1] = np.random.default_rng(1).permutation(N_LEVELS)[X[:, 1].astype(int)]
    shape = shape_of(X, y, (1,))
    # Deeper trees of XGBoost hold this less exactly.
    settings = {"max_depth": 1, "subsample": 1.0} if algorithm is XGBOOST else {}
    first, second = (
        fitted(algorithm, table, y, shape=shape, **settings).predict_proba(table)[:, 1] for table in (X, renumbered)
    )
    np.testing.assert_allclose(first, second, atol=1e-4)


@pytest.mark.parametrize("algorithm", NATIVE, ids=lambda a: a.name)
def test_missing_and_unknown_levels_get_a_risk(algorithm: Algorithm) -> None:
    X, y = _levels(400)
    X[::9, 1] = np.nan
    model = fitted(algorithm, X, y, shape=shape_of(X, y, (1,)))
    risks = model.predict_proba(np.array([[0.0, np.nan], [0.0, N_LEVELS], [0.0, 1000.0]]))[:, 1]
    assert ((risks > 0) & (risks < 1)).all()
    assert abs(risks[0] - y.mean()) < 0.25


@pytest.mark.parametrize("algorithm", NATIVE, ids=lambda a: a.name)
def test_codes_survive_storage_and_cloning(algorithm: Algorithm) -> None:
    X, y = _levels(300)
    model = fitted(algorithm, X, y, shape=shape_of(X, y, (1,)))
    content = dump_estimator(model)
    loaded = load_estimator(content)
    assert dump_estimator(loaded) == content
    for other in (loaded, clone(model).fit(X, y)):
        np.testing.assert_array_equal(other.predict_proba(_one_of_each()), model.predict_proba(_one_of_each()))


@pytest.mark.parametrize("algorithm", NATIVE, ids=lambda a: a.name)
def test_in_a_pipeline_a_level_without_a_training_patient_counts_as_missing(algorithm: Algorithm) -> None:
    X, y = _levels(400)
    levels = tuple("abcdefghijklm")
    features = (Feature("noise", "numeric"), Feature("site", "categorical", levels))
    steps = {
        "imputation": Step.of("none"),
        "features": Step.of("none"),
        "prediction": algorithm.default_step(),
        "calibration": Step.of("none"),
    }
    pipeline = build_pipeline(Configuration(**steps), features, shape_of(X, y), seed=0).fit(X, y)
    unseen, missing = pipeline.predict_proba(np.array([[0.3, 12.0], [0.3, np.nan]]))
    np.testing.assert_array_equal(unseen, missing)
    risks = pipeline.predict_proba(_one_of_each())[:, 1]
    assert min(risks[RISKY]) > max(np.delete(risks, RISKY))


def test_many_levels_are_told_by_the_outcomes_of_other_patients() -> None:
    """Of 300 levels with four patients each every code is too rare for a split; what they are worth orders them."""
    rng = np.random.default_rng(0)
    worth = rng.normal(0, 1.5, 300)
    code = rng.integers(300, size=2400)
    X = np.column_stack([code.astype(float), rng.normal(size=2400)])
    y = (rng.random(2400) < expit(worth[code])).astype(int)
    shape = TableShape(1200, 2, 500, has_missing=False, categorical=(0,))
    parameters = dict(STOCHASTIC_BOOSTING.default_step().parameters)
    auc = {}
    for levels in ("codes", "outcomes"):
        booster = STOCHASTIC_BOOSTING.build({**parameters, "levels": levels, "trees": 60}, shape, 0)
        booster.fit(X[:1200], y[:1200])
        auc[levels] = roc_auc_score(y[1200:], booster.predict_proba(X[1200:])[:, 1])
    assert auc["outcomes"] > auc["codes"] + 0.02
    unknown = X[1200:].copy()
    unknown[:, 0] = np.nan
    unknown[::2, 0] = 777.0
    assert np.isfinite(booster.predict_proba(unknown)).all()


def test_groups_of_the_fit_are_no_part_of_the_model() -> None:
    X, y = _levels(300)
    groups = np.arange(300) // 3
    parameters = {**dict(STOCHASTIC_BOOSTING.default_step().parameters), "levels": "outcomes", "trees": 20}
    model = STOCHASTIC_BOOSTING.build(parameters, shape_of(X, y, (1,)), 0)
    by_row = model.fit(X, y).predict_proba(X)
    assert np.abs(model.fit(X, y, groups=groups).predict_proba(X) - by_row).max() > 0.001
    assert model.encoder_.cv.get_n_splits() == 5
    assert not isinstance(model.encoder_.cv, list)
    loaded = load_estimator(dump_estimator(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_without_levels_it_is_the_same_booster() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = (rng.random(300) < expit(X[:, 0])).astype(int)
    shape = TableShape(300, 3, 140, has_missing=False)
    parameters = dict(STOCHASTIC_BOOSTING.default_step().parameters)
    one, other = (
        STOCHASTIC_BOOSTING.build({**parameters, "levels": levels}, shape, 0).fit(X, y).predict_proba(X)
        for levels in ("codes", "outcomes")
    )
    np.testing.assert_array_equal(one, other)


def test_a_path_is_watched_on_columns_like_those_of_the_fit() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(5, size=800).astype(float), rng.normal(size=800)])
    y = (rng.random(800) < expit(2.0 * (X[:, 0] == 3) - 1 + X[:, 1])).astype(int)
    shape = TableShape(600, 2, 250, has_missing=False, categorical=(0,))
    parameters = {**dict(STOCHASTIC_BOOSTING.default_step().parameters), "levels": "outcomes", "trees": 100}
    path = STOCHASTIC_BOOSTING.build(parameters, shape, 0).fit_path(X[:600], y[:600], HeldOut(X[600:], y[600:]))
    at = dict(zip(path.values, path.risks_of(X[600:]), strict=True))
    trees = max(at)
    whole = STOCHASTIC_BOOSTING.build({**parameters, "trees": trees}, shape, 0).fit(X[:600], y[:600])
    np.testing.assert_allclose(at[trees], whole.predict_proba(X[600:])[:, 1], atol=1e-6)
