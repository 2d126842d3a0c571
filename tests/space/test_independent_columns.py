from __future__ import annotations

import numpy as np
import pytest

from autoprog.space.independent_columns import IndependentColumns


@pytest.mark.parametrize("seed", range(20))
def test_keeps_a_basis_from_left_to_right(seed: int) -> None:
    """Against ranks computed column by column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4)) @ rng.integers(-2, 3, size=(4, 9)) * 10.0 ** rng.integers(-3, 4, 9) + 5
    X[:, rng.integers(9)] = 3.25
    centred = X - X.mean(axis=0)
    scaled = centred / np.where(centred.std(axis=0) > 1e-12, centred.std(axis=0), 1)
    expected = [
        j
        for j in range(9)
        if np.linalg.matrix_rank(scaled[:, : j + 1], tol=1e-6) > np.linalg.matrix_rank(scaled[:, :j], tol=1e-6)
    ]
    columns = IndependentColumns().fit(X)
    assert columns.kept_.tolist() == expected
    assert sorted([*columns.kept_, *columns.constant_, *columns.determined_]) == list(range(9))
    np.testing.assert_array_equal(columns.transform(X[:2]), X[:2, expected])


def test_dummies_of_all_levels_lose_the_last_one() -> None:
    dummies = np.eye(3)[np.random.default_rng(0).integers(0, 3, 50)]
    columns = IndependentColumns().fit(dummies)
    assert columns.kept_.tolist() == [0, 1]
    assert columns.determined_.tolist() == [2]


def test_one_column_stays_where_all_are_constant() -> None:
    columns = IndependentColumns().fit(np.ones((5, 3)))
    assert columns.kept_.tolist() == [0]
    assert columns.constant_.tolist() == [0, 1, 2]


def test_units_do_not_make_a_column_constant() -> None:
    X = np.random.default_rng(0).normal(size=(50, 2)) * [3e-12, 1e9]
    assert IndependentColumns().fit(X).kept_.tolist() == [0, 1]
