"""The table of clinical cut-offs: what it finds, and that it is well made."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from autoprog.cohort import Feature
from autoprog.interpreter.conditions import QUARTILES, TABLE, candidate_conditions, clinical_cutoffs


@pytest.mark.parametrize(
    ("name", "unit", "cuts"),
    [
        ("BMI", "kg/m²", (18.5, 25, 30, 35, 40)),
        ("bmi", "kg / m^2", (18.5, 25, 30, 35, 40)),
        ("Systolic_BP", "mm Hg", (120, 130, 140, 160, 180)),
        ("fasting glucose", "mg/dL", (100, 126)),
        ("fasting glucose", "mmol/L", (5.6, 7.0)),
        ("Creatinine", "µmol/L", (110, 171, 300, 440)),
        ("eGFR", "mL/min/1.73 m²", (15, 30, 45, 60, 90)),
        ("platelets", "10⁹/L", (20, 50, 100, 150)),
        ("WBC", "K/µL", (4, 12)),
        ("temp", "°C", (35.1, 36.1, 38.1, 39.1)),
        ("heart_rate", "bpm", (60, 100)),
    ],
)
def test_names_and_units_are_found_however_they_are_written(name: str, unit: str, cuts: tuple[float, ...]) -> None:
    assert clinical_cutoffs(Feature(name, "numeric", unit=unit)) == cuts


@pytest.mark.parametrize(("name", "unit"), [("bmi", None), ("bmi", "lb/in2"), ("pedigree", "mg/dL")])
def test_without_name_or_unit_nothing_is_taken(name: str, unit: str | None) -> None:
    assert clinical_cutoffs(Feature(name, "numeric", unit=unit)) == ()


def test_a_name_means_one_term_and_cuts_ascend() -> None:
    names = Counter(name for cutoffs in TABLE for name in cutoffs.names)
    assert names.most_common(1)[0][1] == 1
    for cutoffs in TABLE:
        assert cutoffs.source
        for unit, cuts in cutoffs.cuts:
            assert list(cuts) == sorted(set(cuts))
            assert clinical_cutoffs(Feature(cutoffs.names[0], "numeric", unit=unit)) == cuts


def test_the_units_of_a_measurement_agree() -> None:
    # mg/dL per mmol/L, and µmol/L per mg/dL; guidelines round either side, hence 5 %.
    factors = {
        "glucose, fasting or not": 18.0,
        "total cholesterol": 38.67,
        "LDL cholesterol": 38.67,
        "triglycerides": 88.57,
    }
    by_term = {cutoffs.term: dict(cutoffs.cuts) for cutoffs in TABLE}
    for term, factor in factors.items():
        cuts = by_term[term]
        np.testing.assert_allclose(np.array(cuts["mmol/l"]) * factor, cuts["mg/dl"], rtol=0.05)
    creatinine, bilirubin = by_term["creatinine"], by_term["bilirubin"]
    np.testing.assert_allclose(np.array(creatinine["mg/dl"]) * 88.4, creatinine["umol/l"], rtol=0.05)
    np.testing.assert_allclose(np.array(bilirubin["mg/dl"]) * 17.1, bilirubin["umol/l"], rtol=0.05)


def test_conditions_cut_there_where_the_values_reach_and_elsewhere_at_quantiles() -> None:
    bmi = Feature("bmi", "numeric", unit="kg/m2")
    values = np.linspace(17.0, 33.0, 200)
    assert [c.value for c in candidate_conditions(bmi, values, QUARTILES)][::2] == [18.5, 25, 30]
    tall = [c.value for c in candidate_conditions(bmi, np.linspace(50.0, 60.0, 200), QUARTILES)][::2]
    assert len(tall) == 3
    assert all(50 < value < 60 for value in tall)


@pytest.mark.parametrize(
    ("name", "found"),
    [("bili (last)", True), ("bili (mean)", True), ("Bili (maximum)", True), ("bili (change)", False)],
)
def test_a_window_of_visits_has_the_cut_offs_of_its_measurement(name: str, found: bool) -> None:
    cuts = clinical_cutoffs(Feature(name, "numeric", unit="mg/dl"))
    assert cuts == ((1.2, 2.0, 6.0, 12.0) if found else ())
