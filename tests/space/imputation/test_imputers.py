"""What every imputer of the space keeps to."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from autoprog.model import dump_estimator, load_estimator
from autoprog.space import Algorithm, TableShape
from autoprog.space.design_matrix import DesignMatrix, n_columns
from autoprog.space.imputation import IMPUTATION
from tests.cohorts import cleveland_cohort

IMPUTERS = tuple(a for a in IMPUTATION if a.name != "none")
MODELS = tuple(a for a in IMPUTERS if a.name in {"mice", "em", "matrix_completion", "miss_forest"})

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # MICE's few rounds


def _build(algorithm: Algorithm, X: np.ndarray) -> BaseEstimator:
    shape = TableShape(n_patients=len(X), n_columns=X.shape[1], n_minority=len(X) // 3, has_missing=True)
    return algorithm.build(dict(algorithm.default_step().parameters), shape, 0)


def _incomplete(seed: int, n: int = 40, d: int = 6, missing: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = 5 + rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.4 * rng.normal(size=(n, d))
    X[rng.random((n, d)) < missing] = np.nan
    return X


def _with(X: np.ndarray, column: int, values: np.ndarray | float) -> np.ndarray:
    changed = X.copy()
    changed[:, column] = values
    return changed


TABLES = {
    "ordinary": _incomplete(0),
    "complete": _incomplete(1, missing=0.0),
    "constant column": _with(_incomplete(2), 1, np.where(np.arange(40) % 3, 7.1, np.nan)),
    "column never observed": _with(_incomplete(3), 2, np.nan),
    "column observed once": _with(_incomplete(4), 2, np.where(np.arange(40) == 5, 2.0, np.nan)),
    "column twice": _with(_incomplete(5), 4, 2 * _incomplete(5)[:, 0] + 3),
    "patient never observed": np.vstack([_incomplete(6), np.full((1, 6), np.nan)]),
    "fewer patients than columns": _incomplete(7, n=10, d=40),
    "one column": _incomplete(8, d=1),
    "one patient": _incomplete(9, n=1),
    "large offset": 1e9 + 1e4 * _incomplete(10),
    "column-major": np.asfortranarray(_with(_incomplete(3), 2, np.nan)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("algorithm", IMPUTERS, ids=lambda a: a.name)
def test_keeps_all_columns_and_observed_cells_and_treats_each_patient_by_himself(
    algorithm: Algorithm, table: str
) -> None:
    X = TABLES[table]
    before = X.copy()
    imputer = _build(algorithm, X).fit(X)
    np.testing.assert_array_equal(X, before)
    new = np.vstack([_incomplete(11, n=6, d=X.shape[1], missing=0.5), np.full((1, X.shape[1]), np.nan), X])
    imputed = imputer.transform(new)
    assert imputed.dtype == np.float64
    assert imputed.shape == new.shape
    assert np.isfinite(imputed).all()
    observed = ~np.isnan(new)
    np.testing.assert_array_equal(imputed[observed], new[observed])
    rows = range(0, len(new), 3)
    alone = np.vstack([imputer.transform(new[[row]]) for row in rows])
    np.testing.assert_allclose(alone, imputed[::3], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(imputer.transform(new[::-1])[::-1], imputed, rtol=1e-10, atol=1e-10)
    empty = np.isnan(X).all(axis=0)
    assert (imputed[:, empty][np.isnan(new[:, empty])] == 0).all()


@pytest.mark.parametrize("algorithm", IMPUTERS, ids=lambda a: a.name)
def test_training_patients_get_what_new_ones_would(algorithm: Algorithm) -> None:
    X = TABLES["ordinary"]
    imputer = _build(algorithm, X)
    at_once = imputer.fit_transform(X)
    np.testing.assert_allclose(clone(imputer).fit(X).transform(X), at_once, rtol=1e-10)


@pytest.mark.parametrize("algorithm", IMPUTERS, ids=lambda a: a.name)
def test_survives_storage(algorithm: Algorithm) -> None:
    X = TABLES["column never observed"]
    imputer = _build(algorithm, X).fit(X)
    content = dump_estimator(imputer)
    loaded = load_estimator(content)
    assert dump_estimator(loaded) == content
    np.testing.assert_array_equal(loaded.transform(X), imputer.transform(X))


def _error(imputed: np.ndarray, truth: np.ndarray, gaps: np.ndarray) -> float:
    """Root mean square error of the imputed cells in standard deviations of their columns."""
    return float(np.sqrt(np.mean((((imputed - truth) / truth.std(axis=0))[gaps]) ** 2)))


@pytest.mark.parametrize("algorithm", MODELS, ids=lambda a: a.name)
def test_beats_the_column_means_where_columns_are_correlated(algorithm: Algorithm) -> None:
    """Cells of new patients; the columns share two factors, which leave 0.4 deviations of about 1.2 unexplained."""
    rng = np.random.default_rng(12)
    loadings = rng.normal(size=(2, 10))
    truth = rng.normal(size=(600, 2)) @ loadings + 0.4 * rng.normal(size=(600, 10))
    X = np.where(rng.random(truth.shape) < 0.15, np.nan, truth)
    imputer = _build(algorithm, X[:400]).fit(X[:400])
    new, truth = X[400:], truth[400:]
    gaps = np.isnan(new)
    means = np.broadcast_to(np.nanmean(X[:400], axis=0), new.shape)
    assert _error(imputer.transform(new), truth, gaps) < 0.75 * _error(means, truth, gaps)


@pytest.mark.parametrize("algorithm", MODELS, ids=lambda a: a.name)
def test_beats_the_column_means_in_a_cohort_that_misses_at_random(algorithm: Algorithm) -> None:
    """Cleveland: exercise test results are missing more often the older a patient is, whose age is known."""
    cohort = cleveland_cohort()
    complete = cohort.X[~np.isnan(cohort.X).any(axis=1)]
    truth = DesignMatrix.for_features(cohort.features).fit_transform(complete)
    feature_of = np.repeat([f.name for f in cohort.features], [n_columns(f) for f in cohort.features])
    age = truth[:, feature_of == "age"]
    exercise = np.flatnonzero(np.isin(feature_of, ["thalach", "exang", "oldpeak", "slope"]))
    gaps = np.zeros(truth.shape, dtype=bool)
    rng = np.random.default_rng(13)
    gaps[:, exercise] = rng.random((len(truth), len(exercise))) < 1 / (1 + np.exp(-(age - 60) / 4))
    X = np.where(gaps, np.nan, truth)
    imputed = _build(algorithm, X).fit_transform(X)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    assert _error(imputed, truth, gaps) < 0.95 * _error(means, truth, gaps)
