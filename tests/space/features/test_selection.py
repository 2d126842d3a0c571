from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from autoprog.space.features.linear_svm_selection import SparseSVMSelection
from tests.space.features.tables import built

RNG = np.random.default_rng(9)
X = RNG.normal(size=(200, 6)) * [1, 10, 0.1, 100, 1, 1] + 3.0
Z = StandardScaler().fit_transform(X)
Y = (Z[:, 3] + 0.3 * RNG.normal(size=200) > 0.4).astype(np.int8)
ONE = np.array([False, False, False, True, False, False])


def support(fitted: object) -> np.ndarray:
    return np.array(fitted.steps[-1][1].get_support())  # type: ignore[attr-defined]


@pytest.mark.parametrize("class_weight", ["none", "balanced"])
def test_support_vectors_find_the_one_informative_column(class_weight: str) -> None:
    selection = built("linear_svm_selection", X, C=3.0, class_weight=class_weight).fit(X, Y)
    np.testing.assert_array_equal(support(selection), ONE)
    np.testing.assert_allclose(selection.transform(X), Z[:, [3]], atol=1e-12)


@pytest.mark.parametrize(("mode", "score"), [*product(["fpr", "fdr", "fwe"], ["f_classif", "chi2"])])
def test_tests_find_the_one_informative_column(mode: str, score: str) -> None:
    np.testing.assert_array_equal(support(built("select_rates", X, alpha=0.001, mode=mode, score=score).fit(X, Y)), ONE)


@pytest.mark.parametrize(("mode", "score"), [*product(["fpr", "fdr", "fwe"], ["f_classif", "chi2"])])
def test_the_most_significant_column_stays_where_none_passes(mode: str, score: str) -> None:
    noise = np.random.default_rng(10).integers(0, 2, size=(60, 4)).astype(float)
    y = np.tile([0, 1], 30)
    fitted = built("select_rates", noise, alpha=1e-12, mode=mode, score=score).fit(noise, y)
    kept = support(fitted)
    assert kept.sum() == 1
    assert kept[fitted.steps[-1][1].pvalues_.argmin()]


def test_constant_columns_are_not_tested() -> None:
    with_constant = np.column_stack([np.full(200, 7.0), X])
    chosen = built("select_rates", with_constant, alpha=0.001).fit(with_constant, Y)  # a warning is an error here
    np.testing.assert_allclose(
        chosen.transform(with_constant), built("select_rates", X, alpha=0.001).fit_transform(X, Y)
    )


@pytest.mark.parametrize("events", [5, 100])
def test_one_column_stays_below_the_least_loss_that_gives_weight(events: int) -> None:
    y = np.repeat([1, 0], [events, 200 - events])
    columns = StandardScaler().fit_transform(Z + 0.5 * y[:, None] * [0, 0, 1, 0, 0, 0])
    least = l1_min_c(columns, y, loss="squared_hinge") * 200
    fitted = SparseSVMSelection(C=0.99 * least, random_state=0).fit(columns, y)
    assert not fitted.weights_.any()
    furthest = np.abs(columns[y == 1].mean(axis=0) - columns[y == 0].mean(axis=0)).argmax()
    np.testing.assert_array_equal(fitted.get_support(indices=True), [furthest])


def test_the_penalty_does_not_depend_on_the_number_of_patients() -> None:
    once = SparseSVMSelection(C=30.0, random_state=0).fit(Z, Y)
    thrice = SparseSVMSelection(C=30.0, random_state=0).fit(np.tile(Z, (3, 1)), np.tile(Y, 3))
    np.testing.assert_allclose(thrice.weights_, once.weights_, atol=1e-3)  # liblinear's tolerance


def test_more_weight_on_the_loss_and_a_lower_threshold_keep_more_columns() -> None:
    kept = {
        (C, threshold): SparseSVMSelection(C=C, threshold=threshold, random_state=0).fit(Z, Y).get_support().sum()
        for C, threshold in product([3.0, 100.0, 3000.0], [0.001, 0.3])
    }
    assert kept[3.0, 0.001] == 1
    assert kept[3.0, 0.001] < kept[100.0, 0.001] <= kept[3000.0, 0.001]
    assert kept[3000.0, 0.3] < kept[3000.0, 0.001]
