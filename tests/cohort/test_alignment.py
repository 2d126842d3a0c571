from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort import Binary, Cohort, Feature, align, parse_spec, read_cohort
from autoprog.errors import InvalidInputError

LEFT_OUT = "which the model needs; if its column was left out, as all patients are alike in it, declare it in features"
MODEL = (
    Feature("age", "numeric", unit="years"),
    Feature("sex", "binary", ("f", "m")),
    Feature("grade", "ordinal", ("1", "2", "3")),
    Feature("dose", "numeric"),
)


def cohort(features: tuple[Feature, ...], X: list[list[float]]) -> Cohort:
    return Cohort("other", Binary("y", "1", "0"), features, np.array(X, dtype=float), np.arange(len(X)) % 2)


def test_columns_and_codes_become_the_models() -> None:
    """Other order, other codes, more columns; a grade that was read as a number and a dose that was read as levels."""
    other = cohort(
        (
            Feature("dose", "ordinal", ("0.5", "2")),
            Feature("site", "categorical", ("a", "b")),
            Feature("grade", "numeric"),
            Feature("sex", "binary", ("m", "f")),
            Feature("age", "numeric"),
        ),
        [[0, 1, 3, 0, 50], [1, 0, 1, 1, 61], [np.nan, 0, np.nan, np.nan, np.nan]],
    )
    expected = [[50, 1, 2, 0.5], [61, 0, 0, 2.0], [np.nan] * 4]
    np.testing.assert_array_equal(align(MODEL, other.features, other.X, "/cohort_id"), expected)


def test_codes_with_underscores_are_no_numbers() -> None:
    """Python reads 1_0 as ten."""
    with pytest.raises(InvalidInputError, match="of its 2 categories here 2 write no number"):
        align(MODEL[3:], (Feature("dose", "categorical", ("1_0", "2_5")),), np.zeros((3, 1)), "/cohort_id")


def test_one_value_of_a_binary_feature_is_enough_if_it_is_declared() -> None:
    """Nobody on dialysis in another hospital."""
    spec = parse_spec({"name": "c", "outcome": {"column": "y", "positive": 1}, "features": {"sex": {"kind": "binary"}}})
    content = "age,sex,y\n" + "".join(f"{30 + i % 40},f,{i % 2}\n" for i in range(60))
    other = read_cohort(content.encode(), spec).cohort
    aligned = align(MODEL[:2], other.features, other.X, "/cohort_id")
    np.testing.assert_array_equal(aligned[:, 1], np.zeros(60))


@pytest.mark.parametrize(
    ("levels", "others"), [(("0", "1"), ("false", "true")), (("false", "true"), ("0", "1")), (("0", "1"), ("true",))]
)
def test_true_and_false_are_the_one_and_zero_of_a_binary_feature(
    levels: tuple[str, ...], others: tuple[str, ...]
) -> None:
    features, X = (Feature("smoker", "binary", levels),), np.zeros((3, 1))
    aligned = align(features, (Feature("smoker", "binary", others),), X, "/cohort_id")
    np.testing.assert_array_equal(aligned, X + ("true" in others[0]))
    with pytest.raises(InvalidInputError, match="the model has never seen"):
        align((Feature("smoker", "categorical", levels),), (Feature("smoker", "binary", others),), X, "/cohort_id")


def test_every_difference_is_named_at_once() -> None:
    other = cohort(
        (
            Feature("age", "numeric", unit="months"),
            Feature("sex", "categorical", ("f", "m", "x")),
            Feature("dose", "categorical", ("high", "low")),
        ),
        [[600, 2, 0], [700, 2, 1], [800, 0, 0]],
    )
    with pytest.raises(InvalidInputError) as caught:
        align(MODEL, other.features, other.X, "/cohort_id")
    assert {f.pointer for f in caught.value.faults} == {"/cohort_id"}
    details = [f.detail for f in caught.value.faults]
    assert details == [
        "age is in months here and in years in the model",
        "sex has 1 value (2 patients) that the model has never seen; compare with the 2 levels that the model shows",
        f"the cohort has no feature 'grade', {LEFT_OUT}",
        "dose is a number in the model; of its 2 categories here 2 write no number",
    ]
