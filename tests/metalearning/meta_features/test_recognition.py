"""Clinical groups: on the codebooks of real cohorts, and rule by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from autoprog.cohort import Cohort, Feature
from autoprog.metalearning.meta_features import clinical_groups, describe_cohort
from autoprog.metalearning.meta_features.clinical_terms import TERMS
from tests.cohorts import mixed_cohort, real_cohort

REAL = {
    "cleveland": {
        "demographics": "age sex", "questionnaires": "cp", "vitals": "trestbps", "laboratory": "chol fbs",
        "imaging": "restecg ca thal", "procedures": "thalach exang oldpeak slope",
    },
    "stroke": {
        "demographics": "gender age ever_married work_type residence_type", "comorbidity": "hypertension heart_disease",
        "laboratory": "avg_glucose_level", "vitals": "bmi", "questionnaires": "smoking_status",
    },
    "hepatitis": {
        "demographics": "age sex", "medication": "steroid antiviral", "questionnaires": "fatigue malaise anorexia",
        "vitals": "liver_big liver_firm spleen_palpable spiders ascites", "imaging": "varices",
        "laboratory": "bilirubin alk_phosphate sgot albumin protime histology",
    },
    "ckd": {
        "demographics": "age", "vitals": "bp pe", "comorbidity": "htn dm cad ane", "questionnaires": "appet",
        "laboratory": "sg al su rbc pc pcc ba bgr bu sc sod pot hemo pcv wbcc rbcc",
    },
    "pima_missing": {
        "comorbidity": "pregnancies", "laboratory": "glucose insulin", "vitals": "bp skin bmi", "genetics": "pedigree",
        "demographics": "age",
    },
}  # fmt: skip

# Codebooks of cohorts that are too large to stand here, or may not be passed on: names alone.
CODEBOOKS = {
    "framingham": {
        "demographics": "male age education", "questionnaires": "currentsmoker cigsperday", "medication": "bpmeds",
        "comorbidity": "prevalentstroke prevalenthyp diabetes", "laboratory": "totchol glucose",
        "vitals": "sysbp diabp bmi heartrate",
    },
    "metabric": {
        "demographics": "age_at_diagnosis", "procedures": "type_of_breast_surgery",
        "treatment": "chemotherapy hormone_therapy radio_therapy", "genetics": "mutation_count tmb_nonsynonymous",
        "diagnosis": "lymph_nodes_examined_positive nottingham_prognostic_index tumor_size tumor_stage",
    },
    "gbsg2": {
        "demographics": "age", "diagnosis": "tsize pnodes tgrade", "laboratory": "progrec estrec", "treatment": "horth",
        "comorbidity": "menostat",
    },
    "diabetes readmission": {
        "demographics": "race gender age", "vitals": "weight", "diagnosis": "diag_1 diag_2 diag_3 number_diagnoses",
        "procedures": "admission_type_id discharge_disposition_id time_in_hospital medical_specialty "
        "num_lab_procedures num_procedures number_inpatient", "laboratory": "max_glu_serum a1cresult",
        "medication": "num_medications metformin repaglinide nateglinide chlorpropamide glimepiride glipizide "
        "glyburide tolbutamide pioglitazone acarbose miglitol troglitazone tolazamide glyburide_metformin diabetesmed",
    },
}  # fmt: skip


def numeric(*names: str) -> list[Feature]:
    return [Feature(name, "numeric") for name in names]


def groups_of(features: Sequence[Feature]) -> list[str | None]:
    return [recognised.group for recognised in clinical_groups(features)]


def by_group(features: Sequence[Feature]) -> dict[str | None, set[str]]:
    groups = groups_of(features)
    return {g: {f.name for f, own in zip(features, groups, strict=True) if own == g} for g in set(groups)}


@pytest.mark.parametrize("name", REAL)
def test_the_columns_of_a_real_cohort_go_where_a_clinician_puts_them(name: str) -> None:
    features = [replace(feature, meta_group=None, unit=None) for feature in real_cohort(name).features]
    assert by_group(features) == {group: set(names.split()) for group, names in REAL[name].items()}


@pytest.mark.parametrize("name", CODEBOOKS)
def test_the_names_of_a_codebook_go_where_a_clinician_puts_them(name: str) -> None:
    expected = {group: set(names.split()) for group, names in CODEBOOKS[name].items()}
    assert by_group([f for names in expected.values() for f in numeric(*sorted(names))]) == expected


def test_the_bundled_cohort_says_the_same_by_meta_group_as_by_name() -> None:
    features = real_cohort("cleveland").features
    assert {r.evidence for r in clinical_groups(features)} == {"meta_group"}
    assert groups_of(features) == groups_of([replace(f, meta_group=None, unit=None) for f in features])


def test_what_the_client_says_decides() -> None:
    features = [Feature("albumin", "numeric", meta_group="Vital Signs"), Feature("age", "numeric", meta_group="other")]
    assert groups_of(features) == ["vitals", None]


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("systolicBloodPressure", "vitals"),
        ("blood pressure medication", "medication"),
        ("Age at diagnosis (years)", "demographics"),
        ("ST_depression", "imaging"),
        ("history of depression", "comorbidity"),
        ("family history of stroke", "comorbidity"),
        ("serum.creatinine", "laboratory"),
        ("atorvastatin", "medication"),
        ("2160-0", "laboratory"),
        ("C09AA05", "medication"),
        ("rs7903146", "genetics"),
        ("E11.9", "diagnosis"),
        ("treatment_arm", "treatment"),
        ("NT-proBNP", "laboratory"),
        ("stage_of_tumour", "diagnosis"),
        ("wastage", None),
        ("charming", None),
        ("agency", None),
    ],
)
def test_a_name_alone(name: str, group: str | None) -> None:
    assert groups_of(numeric(name)) == [group]


@pytest.mark.parametrize(
    ("feature", "group"),
    [
        (Feature("insulin", "numeric"), "laboratory"),
        (Feature("insulin", "categorical", ("Down", "No", "Up")), "medication"),
        (Feature("ca", "numeric", minimum=0, maximum=3), "imaging"),
        (Feature("ca", "numeric", minimum=7.9, maximum=12.1), "laboratory"),
        (Feature("ht", "binary", ("0", "1")), "comorbidity"),
        (Feature("ht", "numeric", minimum=148, maximum=195), "vitals"),
        (Feature("slope", "numeric", minimum=0, maximum=66), None),
        (Feature("ward", "categorical", ("E11.9", "I10", "I21.4", "J44", "N18.3")), "diagnosis"),
        (Feature("marker", "numeric", unit="mg / dL"), "laboratory"),
        (Feature("marker", "numeric", unit="µmol/L"), "laboratory"),
        (Feature("marker", "numeric", unit="mm Hg"), "vitals"),
    ],
    ids=repr,
)
def test_values_and_units_tell_where_a_name_does_not(feature: Feature, group: str | None) -> None:
    assert groups_of([feature, *numeric("sex")])[0] == group


def test_a_short_name_needs_company() -> None:
    assert groups_of(numeric("bp", "k", "a")) == [None, None, None]
    assert groups_of(numeric("bp", "k", "a", "creatinine")) == ["vitals", "laboratory", None, "laboratory"]


def test_numbered_columns_are_no_codes_and_codes_of_two_chapters_are() -> None:
    assert set(groups_of(numeric(*(f"F{i}" for i in range(1, 60))))) == {None}
    assert groups_of(numeric("I21", "E11", "N18")) == ["diagnosis"] * 3


def cohort_of(features: Sequence[Feature]) -> Cohort:
    return replace(mixed_cohort(), features=tuple(features), X=mixed_cohort().X[:, : len(features)])


def test_a_cohort_without_a_meaningful_name_says_so() -> None:
    (note,) = describe_cohort(cohort_of(numeric("v1", "v2", "v3")))
    assert "meta_group" in note
    assert describe_cohort(cohort_of(numeric("v1", "v2", "age"))) == ()


def test_a_label_that_is_no_group_is_named() -> None:
    (note,) = describe_cohort(cohort_of([Feature("x", "numeric", meta_group="cardiology"), *numeric("age")]))
    assert "'cardiology'" in note


def test_no_term_is_listed_for_two_groups() -> None:
    for part in ("words", "names", "units", "labels"):
        terms = [term.strip() for entry in TERMS for term in getattr(entry, part).split(",") if term.strip()]
        assert sorted(terms) == sorted(set(terms)), part
