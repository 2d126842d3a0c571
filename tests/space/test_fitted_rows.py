"""Rows that a fitted stage is given, checked as scikit-learn checks them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

from autoprog.space.complete_columns import CompleteColumns
from autoprog.space.fitted_rows import check_rows

ROWS = np.array([[1.0, 2.0], [3.0, np.nan]])


def fitted() -> CompleteColumns:
    return CompleteColumns().fit(ROWS)


def test_rows_that_need_no_conversion_are_returned_as_they_are() -> None:
    assert check_rows(fitted(), ROWS) is ROWS


@pytest.mark.parametrize(
    "given", [ROWS.tolist(), ROWS.astype(np.float32), np.array([[1, 2]]), ROWS[:, ::-1], np.asfortranarray(ROWS)]
)
def test_other_rows_become_numbers(given: object) -> None:
    rows = check_rows(fitted(), given)
    assert rows.dtype == np.float64
    assert np.array_equal(rows, np.asarray(given, dtype=np.float64), equal_nan=True)


@pytest.mark.parametrize(
    "refused",
    [
        ROWS[:, :1], ROWS[0], ROWS[:0], np.array([[1.0, np.inf]]), np.array([[1.0, -np.inf]]), np.array([[1.0, 1.0j]]),
        [["a", "b"]], csr_matrix([[1.0, 2.0]]),
    ],
    ids=["columns", "one row", "no rows", "infinite", "minus infinite", "complex", "text", "sparse"],
)  # fmt: skip
def test_what_scikit_learn_refuses_is_refused(refused: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        check_rows(fitted(), refused)


def test_missing_cells_are_refused_where_none_may_be_missing() -> None:
    with pytest.raises(ValueError, match="contains NaN"):
        check_rows(fitted(), ROWS, missing=False)
    assert check_rows(fitted(), ROWS[:1], missing=False).tolist() == [[1.0, 2.0]]


def test_an_estimator_that_is_not_fitted_takes_no_rows() -> None:
    with pytest.raises(NotFittedError):
        check_rows(CompleteColumns(), ROWS)


def test_names_that_were_learnt_are_compared() -> None:
    named = CompleteColumns().fit(pd.DataFrame(ROWS, columns=["age", "weight"]))
    with pytest.warns(UserWarning, match="valid feature names"):
        check_rows(named, ROWS)
    with pytest.raises(ValueError, match="feature names"):
        check_rows(named, pd.DataFrame(ROWS, columns=["weight", "age"]))
