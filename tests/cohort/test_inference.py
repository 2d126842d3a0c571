from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from autoprog.cohort import CohortReadResult, Feature
from tests.cohort.tables import find_faults, read, the_fault, twenty


def feature_of(intake: CohortReadResult, name: str) -> Feature:
    return next(feature for feature in intake.cohort.features if feature.name == name)


def column_of(intake: CohortReadResult, name: str) -> list[float]:
    names = [feature.name for feature in intake.cohort.features]
    column: list[float] = intake.cohort.X[:, names.index(name)].tolist()
    return column


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        ([1.5, 2, 3, 4, 5], "numeric", ()),
        ([1, 2, 3, 4, 1], "numeric", ()),
        ([10, 9, 10, 9.0, 10], "binary", ("9", "10")),
        (["yes", "no", "no", "yes", "no"], "binary", ("no", "yes")),
        (["TRUE", "false", "true", "False", "true"], "binary", ("false", "true")),
        (["b", "a", "C", "a", "b"], "categorical", ("C", "a", "b")),
        (["10", "9", "x", "y", "z"], "categorical", ("10", "9", "x", "y", "z")),
    ],
)
def test_kinds_are_inferred(values: Sequence[object], kind: str, levels: tuple[str, ...]) -> None:
    feature = feature_of(read(twenty(x=[*values] * 4)), "x")
    assert (feature.kind, feature.levels) == (kind, levels)


def test_codes_are_places_among_the_levels_and_missing_is_nan() -> None:
    intake = read(twenty(x=["b", "", "c", "a", "b"] * 4))
    assert column_of(intake, "x")[0] == 1
    np.testing.assert_array_equal(column_of(intake, "x")[:5], [1, np.nan, 2, 0, 1])
    assert feature_of(intake, "x").missing_fraction == pytest.approx(0.2)


def test_a_numeric_feature_knows_its_range() -> None:
    feature = feature_of(read(twenty()), "age")
    assert (feature.minimum, feature.maximum) == (40.5, 80)
    assert feature.missing_fraction == 0


def test_declared_kinds_override() -> None:
    intake = read(
        twenty(pain=[1, 2, 3, 4, 10] * 4, grade=["low", "high", "mid", "low", "?"] * 4, flag=[0, 1] * 10),
        features={
            "pain": {"kind": "categorical", "unit": "code"},
            "grade": {"kind": "ordinal", "levels": ["low", "mid", "high", "highest"], "meta_group": "symptoms"},
            "flag": {"kind": "numeric"},
        },
    )
    assert feature_of(intake, "pain") == Feature("pain", "categorical", ("1", "2", "3", "4", "10"), unit="code")
    assert feature_of(intake, "grade").levels == ("low", "mid", "high", "highest")
    np.testing.assert_array_equal(column_of(intake, "grade")[:5], [0, 2, 1, 0, np.nan])
    assert feature_of(intake, "flag").kind == "numeric"


def test_numbers_declared_ordinal_need_no_levels() -> None:
    intake = read(twenty(slope=[3, 1, 2, 10, 1] * 4), features={"slope": {"kind": "ordinal"}})
    assert feature_of(intake, "slope").levels == ("1", "2", "3", "10")


@pytest.mark.parametrize(
    ("values", "declared", "pointer", "words"),
    [
        (
            ["a", "b", "1", "2", "3"],
            {"kind": "numeric"},
            "/file/columns/x",
            "8 cells are no numbers: rows 2, 3, 7, 8, 12 and 3 more;",
        ),
        (
            ["a", "b", "c", "a", "b"],
            {"kind": "binary"},
            "/spec/features/x/kind",
            "this one has 3 values, first in rows 2, 3, 4",
        ),
        ([""] * 5, {"kind": "binary"}, "/spec/features/x/kind", "has no value"),
        ([""] * 5, {"kind": "categorical"}, "/spec/features/x/kind", "has no value"),
        (["a", "b", "c", "a", "b"], {"kind": "ordinal"}, "/spec/features/x/levels", "needs its levels in order"),
        (
            ["a", "b", "c", "d", "b"],
            {"kind": "ordinal", "levels": ["b", "a"]},
            "/spec/features/x/levels",
            "do not name 2 values, first in rows 4, 5",
        ),
    ],
)
def test_kinds_that_cannot_hold_are_faults(
    values: Sequence[object], declared: dict[str, object], pointer: str, words: str
) -> None:
    assert words in the_fault(twenty(x=[*values] * 4), pointer, features={"x": declared})


def test_words_among_numbers_are_named_with_their_rows() -> None:
    values: list[object] = [1.5 * i for i in range(20)]
    values[3], values[11], values[12] = "n.d.", "?", "12 mg"
    detail = the_fault(twenty(x=values), "/file/columns/x")
    assert detail.startswith("2 cells are no numbers: rows 5, 14;")
    intake = read(twenty(x=values), na_values=["n.d.", "12 mg"])
    assert np.flatnonzero(np.isnan(column_of(intake, "x"))).tolist() == [3, 11, 12]


def test_thousands_of_words_are_counted() -> None:
    n = 20_000
    columns = {"died": [0, 1] * (n // 2), "x": [*range(n - 4_000), *["bad"] * 4_000]}
    detail = the_fault(columns, "/file/columns/x")
    assert detail.startswith("4,000 cells are no numbers: rows 16002,")
    assert "and 3,995 more" in detail


def test_words_and_infinite_numbers_come_at_once() -> None:
    values: list[object] = [1.5 * i for i in range(20)]
    values[3], values[4], values[5], values[6] = "bad", "inf", "-Infinity", "-2e155"
    details = [fault.detail for fault in find_faults(twenty(x=values))]
    assert len(details) == 2
    assert details[1] == "3 cells are infinite or beyond 1e+100: rows 6, 7, 8"


def test_inf_is_a_word_where_words_are_expected() -> None:
    intake = read(twenty(site=["inf", "ant", "lat", "ant", "inf"] * 4))
    assert feature_of(intake, "site").levels == ("ant", "inf", "lat")
