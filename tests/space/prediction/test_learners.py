"""What every learner of Table 1 for a binary outcome promises, whatever it is."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.model import dump_estimator, load_estimator
from autoprog.space import Algorithm, Choice, TableShape
from autoprog.space.prediction.boosting import ADA_BOOST, GRADIENT_BOOSTING, LIGHTGBM, XGBOOST
from autoprog.space.prediction.linear import LDA, LINEAR_SVM, LOGISTIC_REGRESSION, RIDGE
from autoprog.space.prediction.naive_bayes import BERNOULLI_NB, GAUSSIAN_NB, MULTINOMIAL_NB
from autoprog.space.prediction.neighbours import K_NEAREST_NEIGHBOURS
from autoprog.space.prediction.trees import BAGGING, DECISION_TREE, EXTRA_TREES, RANDOM_FOREST
from tests.cohorts import cleveland_cohort
from tests.space.prediction.learners import Table, fitted, patients, shape_of, standardised

COUNTS = {
    LOGISTIC_REGRESSION: 0,
    RIDGE: 1,
    LDA: 4,
    LINEAR_SVM: 4,
    BERNOULLI_NB: 2,
    GAUSSIAN_NB: 0,
    MULTINOMIAL_NB: 2,
    K_NEAREST_NEIGHBOURS: 1,
    DECISION_TREE: 4,
    RANDOM_FOREST: 5,
    EXTRA_TREES: 5,
    BAGGING: 4,
    ADA_BOOST: 4,
    GRADIENT_BOOSTING: 6,
    XGBOOST: 5,
    LIGHTGBM: 5,
}
LEARNERS = tuple(COUNTS)
# Learners that draw no random numbers at these settings, at which a patient's copies count as his weight does: a leaf
# of one patient is one of any number of his copies, and LightGBM, which guesses how many patients a leaf has from their
# weights, finds enough in each of two.
WITHOUT_CHANCE = {
    LOGISTIC_REGRESSION: {},
    RIDGE: {},
    BERNOULLI_NB: {},
    GAUSSIAN_NB: {},
    MULTINOMIAL_NB: {},
    DECISION_TREE: {"min_leaf": 1, "max_depth": 3},
    ADA_BOOST: {"min_leaf": 1, "trees": 25},
    GRADIENT_BOOSTING: {"min_leaf": 1, "subsample": 1.0, "max_features": 1.0, "trees": 25},
    XGBOOST: {"subsample": 1.0, "trees": 25},
    LIGHTGBM: {"min_leaf": 1, "leaves": 2, "trees": 25},
}
BY_CHANCE = tuple(a for a in LEARNERS if "weights" in a.takes and a not in WITHOUT_CHANCE)

ONE_CLASS = (MULTINOMIAL_NB, DECISION_TREE, RANDOM_FOREST, EXTRA_TREES, BAGGING, ADA_BOOST)

each = pytest.mark.parametrize("algorithm", LEARNERS, ids=lambda a: a.name)


def each_that_takes(what: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("algorithm", [a for a in LEARNERS if what in a.takes], ids=lambda a: a.name)


def _scaled(algorithm: Algorithm, X: Table) -> Table:
    """In [0, 1] for a learner that takes no negative values, as the pipeline does it."""
    if "negative" in algorithm.takes:
        return X
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def _cleveland() -> tuple[Table, np.ndarray]:
    cohort = cleveland_cohort()
    return np.where(np.isnan(cohort.X), np.nanmedian(cohort.X, axis=0), cohort.X), cohort.y


def _check(risks: Table, n: int) -> None:
    assert risks.shape == (n, 2)
    assert np.isfinite(risks).all()
    assert risks.min() >= 0
    assert risks.max() <= 1
    np.testing.assert_allclose(risks.sum(axis=1), 1, atol=1e-6)


@each
def test_has_as_many_hyperparameters_as_table_1_says(algorithm: Algorithm) -> None:
    assert len(algorithm.hyperparameters) == COUNTS[algorithm]
    for axis in algorithm.hyperparameters:
        assert axis.default in axis.choices if isinstance(axis, Choice) else axis.low <= axis.default <= axis.high


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # recorded by the evaluation
@each
def test_fits_at_the_corners_of_its_ranges_and_between(algorithm: Algorithm) -> None:
    X, y = _cleveland()
    X = _scaled(algorithm, X)
    rng = np.random.default_rng(11)
    for units in (np.zeros(6), np.ones(6), rng.random(6)):
        step = algorithm.step_from_unit({h.name: units[i] for i, h in enumerate(algorithm.hyperparameters)})
        parameters = dict(step.parameters)
        if "trees" in parameters:
            parameters["trees"] = min(int(parameters["trees"]), 50)
        _check(fitted(algorithm, X, y, **parameters).predict_proba(X), len(X))


@each
def test_learns_cleveland(algorithm: Algorithm) -> None:
    X, y = _cleveland()
    X = _scaled(algorithm, X)
    risks = fitted(algorithm, X[::2], y[::2]).predict_proba(X[1::2])[:, 1]
    events, others = risks[y[1::2] == 1], risks[y[1::2] == 0]
    auc = (events[:, None] > others).mean() + (events[:, None] == others).mean() / 2
    assert auc > 0.75


@each
def test_fits_an_inner_fold_of_forty_patients_of_whom_four_have_the_event(algorithm: Algorithm) -> None:
    X, _ = patients(40, 6)
    y = np.zeros(40, dtype=np.int8)
    y[:4] = 1
    X = _scaled(algorithm, X)
    _check(fitted(algorithm, X, y, shape=TableShape(60, 6, 6, has_missing=False)).predict_proba(X), 40)


@each
def test_fits_one_column(algorithm: Algorithm) -> None:
    X, y = patients(60, 2, signal=4.0)
    X = _scaled(algorithm, X[:, :1])
    _check(fitted(algorithm, X, y).predict_proba(X), 60)


@each
@pytest.mark.parametrize("only", [0, 1])
def test_one_class_is_refused_or_is_the_only_column(algorithm: Algorithm, only: int) -> None:
    """Never a risk of 0 where all had the event."""
    X, _ = patients(30, 2)
    y = np.full(30, only, dtype=np.int8)
    estimator = algorithm.build(dict(algorithm.default_step().parameters), TableShape(30, 2, 15, has_missing=False), 0)
    if algorithm in ONE_CLASS:
        risks = estimator.fit(_scaled(algorithm, X), y).predict_proba(_scaled(algorithm, X))
        np.testing.assert_array_equal(estimator.classes_, [only])
        np.testing.assert_array_equal(risks, np.ones((30, 1)))
    else:
        with pytest.raises(ValueError, match="class"):
            estimator.fit(X, y)


@each
def test_says_truly_whether_it_takes_missing_cells(algorithm: Algorithm) -> None:
    X, y = patients(80, 3)
    X = _scaled(algorithm, X)
    X[::7, 1] = np.nan
    if "missing" in algorithm.takes:
        _check(fitted(algorithm, X, y).predict_proba(X), 80)
    else:
        with pytest.raises(ValueError, match="NaN"):
            fitted(algorithm, X, y)


@each
def test_says_truly_whether_it_takes_negative_values(algorithm: Algorithm) -> None:
    X, y = patients(80, 3)
    if "negative" in algorithm.takes:
        _check(fitted(algorithm, X - 100, y).predict_proba(X - 100), 80)
    else:
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            fitted(algorithm, X - 100, y)


@each_that_takes("collinear")
def test_takes_columns_that_depend_on_others_where_it_says_so(algorithm: Algorithm) -> None:
    X, y = patients(80, 3)
    X = _scaled(algorithm, X)
    X = np.column_stack([X, X.sum(axis=1), X[:, 0], np.ones(80)])
    _check(fitted(algorithm, X, y).predict_proba(X), 80)


@each
def test_says_truly_whether_it_takes_weights(algorithm: Algorithm) -> None:
    X, y = patients(80, 3)
    X, weights = _scaled(algorithm, X), np.where(y == 1, 5.0, 1.0)
    if "weights" in algorithm.takes:
        plain, weighted = (fitted(algorithm, X, y, w).predict_proba(X)[:, 1].mean() for w in (None, weights))
        assert weighted > plain
    else:
        with pytest.raises(TypeError, match="sample_weight"):
            fitted(algorithm, X, y, weights)


@pytest.mark.parametrize("algorithm", WITHOUT_CHANCE, ids=lambda a: a.name)
def test_an_integer_weight_is_as_many_copies(algorithm: Algorithm) -> None:
    X, y = patients(90, 3)
    X = _scaled(algorithm, np.clip(np.round(standardised(X)), -1, 1))  # three values, which no histogram merges
    copies = np.random.default_rng(4).integers(1, 4, 90)
    settings = WITHOUT_CHANCE[algorithm]
    repeated = fitted(algorithm, np.repeat(X, copies, axis=0), np.repeat(y, copies), **settings)
    weighted = fitted(algorithm, X, y, copies.astype(float), shape=shape_of(X, y), **settings)
    # lbfgs stops at a gradient of 1e-4; xgboost sums in float32.
    np.testing.assert_allclose(repeated.predict_proba(X)[:, 1], weighted.predict_proba(X)[:, 1], atol=1e-3)


@each
def test_predicts_the_same_after_storage(algorithm: Algorithm) -> None:
    X, y = patients(80, 3)
    X = _scaled(algorithm, X)
    choices = [h for h in algorithm.hyperparameters if isinstance(h, Choice)]
    fewer = {h.name: 25 for h in algorithm.hyperparameters if h.name == "trees"}
    settings = [{}, *({h.name: choice} for h in choices for choice in h.choices if choice != h.default)]
    for setting in settings:
        model = fitted(algorithm, X, y, **fewer, **setting)
        content = dump_estimator(model)
        loaded = load_estimator(content)
        assert dump_estimator(loaded) == content
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@each
def test_the_same_seed_gives_the_same_risks(algorithm: Algorithm) -> None:
    X, y = patients(80, 3)
    X = _scaled(algorithm, X)
    first, second = (fitted(algorithm, X, y, seed=9).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
