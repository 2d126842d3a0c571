from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from autoprog.cohort import CohortReadResult, Feature, cleveland, read_cohort
from autoprog.cohort.checks import _separation
from tests.cohort.tables import read, twenty


def warning_of(intake: CohortReadResult, name: str) -> str:
    (warning,) = (text for text in intake.warnings if repr(name) in text)
    return warning


def names_of(intake: CohortReadResult) -> list[str]:
    return [feature.name for feature in intake.cohort.features]


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("empty", [""] * 20, "has no value and was left out"),
        ("country", ["D"] * 20, "is constant and was left out"),
        ("country", ["D"] * 19 + [""], "is constant in every row that has a value and was left out"),
        ("hbsag", ["pos"] * 19 + ["-"], "is constant in every row that has a value ('-' read as missing) and was left"),
        ("surname", [f"P{i}" for i in range(20)], "looks like an identifier"),
        ("running", [*range(1_000, 1_020)], "looks like an identifier"),
        ("Patient_ID", [7 * i * i for i in range(20)], "looks like an identifier"),
        ("mrn", [i // 2 for i in range(20)], "its values repeat: name it in groups if they are patients"),
    ],
)
def test_columns_that_are_no_features_are_left_out_with_a_word(name: str, values: Sequence[object], words: str) -> None:
    intake = read(twenty(**{name: values}))
    assert names_of(intake) == ["age"]
    assert words in warning_of(intake, name)
    declared = read(twenty(**{name: values}), features={name: {}})
    assert names_of(declared) == ["age", name]


@pytest.mark.parametrize(
    "name",
    [
        "SUBJID", "USUBJID", "StudyID", "PTID", "RID", "Patient No.", "patientIdentifier", "hospital_number",
        "NHS number", "Case #", "PatNr", "Pat.-Nr", "case_id",
    ],
)  # fmt: skip
def test_usual_names_of_identifiers_are_known(name: str) -> None:
    numbers = np.random.default_rng(0).permutation(9_000)[:20] + 1_000
    assert names_of(read(twenty(**{name: numbers.tolist()}))) == ["age"]


@pytest.mark.parametrize(
    "name",
    [
        "grid", "period", "steroid", "thyroid", "lipid", "uric_acid", "carotid", "covid", "opioid", "case",
        "patients_age", "hospital_days", "number", "pt", "study", "casenote", "cortisol",
    ],
)  # fmt: skip
def test_names_of_measurements_are_none_of_identifiers(name: str) -> None:
    numbers = np.random.default_rng(0).permutation(9_000)[:20] + 1_000
    assert names_of(read(twenty(**{name: numbers.tolist()}))) == ["age", name]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("chol", [200 + 7 * i for i in range(20)]),
        ("bmi", [20 + i / 7 for i in range(20)]),
        ("hospital_id", [1, 2, 3, 4, 5] * 4),
        ("drug", ["a", "b", "c", "d", "e"] * 4),
    ],
)
def test_columns_that_only_resemble_identifiers_stay(name: str, values: Sequence[object]) -> None:
    assert names_of(read(twenty(**{name: values}))) == ["age", name]


def hundred(**columns: Sequence[object]) -> dict[str, Sequence[object]]:
    """A hundred patients, thirty with the outcome, and a feature that says little."""
    return {"died": [1] * 30 + [0] * 70, "age": [*range(40, 60)] * 5, **columns}


GIVEAWAYS: dict[str, Sequence[object]] = {
    "cause": ["cancer", "heart", "other"] * 10 + ["alive", "moved"] * 35,
    "survival_days": [*range(30), *range(300, 370)],
    "falling": [*range(100, 70, -1), *range(70)],
    "date_of_death": [*[2001.5, 2002.5, 2003.5] * 10, *[""] * 70],
    "almost": [*range(29), 310.5, *range(300, 370)],
}


@pytest.mark.parametrize("name", GIVEAWAYS)
def test_columns_that_give_the_outcome_away_stay_and_are_warned_of(name: str) -> None:
    intake = read(hundred(**{name: GIVEAWAYS[name]}))
    assert name in names_of(intake)
    warnings = [text for text in intake.warnings if repr(name) in text]
    assert any("gives the outcome away (AUC" in text or "missing gives the outcome away" in text for text in warnings)


def test_small_cohorts_and_fine_categories_are_not_accused() -> None:
    small = read(twenty(x=[0.5, 1.5] * 10))
    assert not any("gives" in text for text in small.warnings)
    fine = read(hundred(code=[f"c{i // 4}" for i in range(100)]))
    assert not any("gives" in text for text in fine.warnings)
    content, spec = cleveland()
    assert not any("gives" in text for text in read_cohort(content, spec).warnings)


@pytest.mark.parametrize("seed", range(5))
def test_separation_is_the_area_under_the_roc_curve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 200).astype(np.int8)
    x = np.round(rng.normal(size=200) + y, 1)
    assert _separation(None, x, y) == pytest.approx(roc_auc_score(y, x), abs=1e-12)
    assert _separation(None, -x, y) == pytest.approx(roc_auc_score(y, x), abs=1e-12)
    codes = rng.integers(0, 6, 200).astype(float)
    rates = np.array([y[codes == code].mean() for code in range(6)])[codes.astype(int)]
    categorical = Feature("x", "categorical", tuple("abcdef"))
    assert _separation(categorical, codes, y) == pytest.approx(roc_auc_score(y, rates), abs=1e-12)


def test_repeated_rows_are_counted() -> None:
    base = hundred(bmi=[20 + i / 3 for i in range(100)], x=["", 1.5, 2.5, 3.5] * 25)
    assert not any("repeat" in text for text in read(base).warnings)
    repeated = {name: [*values, *values[:3]] for name, values in base.items()}
    assert "3 rows repeat an earlier row in every feature and the outcome" in read(repeated).warnings


def test_doubtful_columns_are_warned_of() -> None:
    intake = read(
        hundred(
            ward=[f"w{i % 60}" for i in range(100)],
            lactate=[1.5, 2.5, "", "", ""] * 20,
            dose=["1", "2", "high", "low"] * 25,
            sodium=[140.5, 141, "?", "NA", 138, 137, 139, 136, 135, 134] * 10,
            chloride=["?", 99, 98.5, 97, 96] * 20,
        )
    )
    assert warning_of(intake, "ward") == "column 'ward' has 60 levels; most will be rare"
    assert warning_of(intake, "lactate") == "column 'lactate' is missing in 60% of the patients"
    assert warning_of(intake, "dose").startswith("50% of the values of column 'dose' are numbers, the others words")
    assert "'?' was read as missing in 'sodium' (10 cells), 'chloride' (20 cells)" in intake.warnings
    assert "'NA' was read as missing in 'sodium' (10 cells)" in intake.warnings
