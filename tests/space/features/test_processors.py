"""What holds for every processor: it fits whatever a fold may hold, and transforms one patient as it does many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import skops.io

from autoprog.model import dump_estimator, load_estimator
from autoprog.space import Algorithm, Choice, Parameter
from autoprog.space.features import FEATURES
from tests.space.features.tables import Table, edge_tables, shape_of

# Hyperparameters per processor, as Table 1 of the source prints them.
TABLE_1 = {
    "agglomeration": 4,
    "kernel_pca": 5,
    "polynomial": 3,
    "fast_ica": 4,
    "pca": 2,
    "random_kitchen_sinks": 2,
    "nystroem": 5,
    "linear_svm_selection": 3,
    "select_rates": 3,
    "none": 0,
}
PROCESSORS = [algorithm for algorithm in FEATURES if algorithm.name != "none"]
TABLES = edge_tables()

each_processor = pytest.mark.parametrize("algorithm", PROCESSORS, ids=lambda a: a.name)
# Independent components that are not found in 200 sweeps, weights of a machine that separates the outcomes.
may_not_converge = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def settings(algorithm: Algorithm) -> Iterator[dict[str, Parameter]]:
    """Every combination of choices with each number at one end of its axis, every choice with either end."""
    choices = [h.choices if isinstance(h, Choice) else (None,) for h in algorithm.hyperparameters]
    rng = np.random.default_rng(2)
    for combination in product(*choices):
        units = rng.integers(0, 2, len(combination)).astype(float)
        for ends in (units, 1 - units):
            yield {
                h.name: h.from_unit(end) if choice is None else choice
                for h, choice, end in zip(algorithm.hyperparameters, combination, ends, strict=True)
            }


def test_hyperparameter_counts_are_those_of_table_1() -> None:
    assert {algorithm.name: len(algorithm.hyperparameters) for algorithm in FEATURES} == TABLE_1


def test_only_handing_on_takes_missing_cells_and_codes() -> None:
    takers = {a.name for a in FEATURES if a.takes & {"missing", "categories"}}
    assert takers == {"none"}
    assert all(a.takes >= {"negative", "collinear"} for a in FEATURES)


@may_not_converge
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@each_processor
def test_every_choice_fits_and_shows_no_rounding(algorithm: Algorithm, table: Table) -> None:
    X, y = table
    if algorithm.max_columns is not None and X.shape[1] > algorithm.max_columns:
        pytest.skip("never built for tables as wide")
    for parameters in settings(algorithm):
        # A training fold, and an inner fold of the calibration stage in it.
        for n in (len(X), 2 * len(X) // 3):
            fitted = algorithm.build(parameters, shape_of(X), 0).fit(X[:n], y[:n])  # type: ignore[union-attr]
            Z = fitted.transform(X)
            assert Z.shape[0] == len(X), parameters
            assert Z.shape[1] >= 1, parameters
            assert np.isfinite(Z).all(), parameters
            # Relative to a column's spread, since learners standardise: a column of rounding would show.
            spread = Z[:n].std(axis=0)
            # StandardScaler leaves columns alone whose spread is rounding of their mean.
            spread[spread <= n * np.finfo(float).eps * np.abs(Z[:n].mean(axis=0))] = 1.0
            alone = np.vstack([fitted.transform(X[[row]]) for row in (0, len(X) - 1)])
            assert (np.abs(alone - Z[[0, -1]]) / spread).max() < 1e-6, parameters


@each_processor
def test_same_seed_same_features(algorithm: Algorithm) -> None:
    X, y = TABLES["dummies, twice, and rare ones"]
    parameters = dict(algorithm.default_step().parameters)
    first, second = (algorithm.build(parameters, shape_of(X), 5).fit(X, y).transform(X) for _ in range(2))  # type: ignore[union-attr]
    np.testing.assert_array_equal(first, second)


@may_not_converge
@each_processor
def test_stored_and_read_again_with_the_declared_types(algorithm: Algorithm) -> None:
    X, y = TABLES["narrow"]
    found: set[str] = set()
    for parameters in settings(algorithm):
        fitted = algorithm.build(parameters, shape_of(X), 0).fit(X, y)  # type: ignore[union-attr]
        found |= set(skops.io.get_untrusted_types(data=skops.io.dumps(fitted)))
        loaded = load_estimator(dump_estimator(fitted))
        np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X), err_msg=str(parameters))
    assert found - {"numpy.dtype"} == set(algorithm.stored_types)


@each_processor
def test_says_what_a_fit_costs_and_where_it_comes_from(algorithm: Algorithm) -> None:
    assert 0.0005 < algorithm.cost.at(1000, 20) < 1.0
    assert algorithm.reference
