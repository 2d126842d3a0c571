"""TRIPOD+AI: every item of the statement, filled in by the documents and by nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autoprog.report.tripod import OFFICIAL_ELEMENTS, Status, TripodChecklist, fill_tripod
from autoprog.report.tripod_answers import RULES
from autoprog.report.tripod_items import ITEMS, STORED
from tests.report.complete import complete_run
from tests.report.runs import KINDS, SECTIONS, changed, stored_run, unknown_figures, updated_run

NUMBERS = [
    "1",
    "2",
    "3a",
    "3b",
    "3c",
    "4",
    "5a",
    "5b",
    "6a",
    "6b",
    "6c",
    "7",
    "8a",
    "8b",
    "8c",
    "9a",
    "9b",
    "9c",
    "10",
    "11",
    "12a",
    "12b",
    "12c",
    "12d",
    "12e",
    "12f",
    "12g",
    "13",
    "14",
    "15",
    "16",
    "17",
    "18a",
    "18b",
    "18c",
    "18d",
    "18e",
    "18f",
    "19",
    "20a",
    "20b",
    "20c",
    "21",
    "22",
    "23a",
    "23b",
    "24",
    "25",
    "26",
    "27a",
    "27b",
    "27c",
]


def answers(checklist: TripodChecklist) -> dict[str, str]:
    """Answers of the run, by the elements' numbers."""
    found = [each for item in checklist.items for each in item.elements]
    return {each.element.number: each.text for each in found if each.status is Status.ANSWERED}


def test_items_are_those_of_the_statement() -> None:
    assert [item.number for item in ITEMS] == NUMBERS
    assert len(ITEMS) == 52
    assert {re.match(r"\d+", number)[0] for number in NUMBERS} == {str(k) for k in range(1, 28)}  # type: ignore[index]
    assert [i.number for i in ITEMS if i.applies == "D"] == ["9a", "12a", "12b", "12c", "15", "22", "27a", "27b"]
    assert [i.number for i in ITEMS if i.applies == "E"] == ["12f", "12g", "20c", "24"]


def test_elements_are_numbered_and_every_rule_answers_one() -> None:
    numbers = [element.number for item in ITEMS for element in item.elements]
    assert len(set(numbers)) == len(numbers)
    assert set(RULES) <= set(numbers)
    without_advice = {e.number for item in ITEMS for e in item.elements if e.advice == STORED}
    assert without_advice <= set(RULES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("validated", [False, True])
def test_run_answers_at_least_90_elements(kind: str, validated: bool) -> None:
    checklist = fill_tripod(stored_run(kind, validated=validated), SECTIONS)
    assert checklist.count(Status.ANSWERED) >= 90
    assert (
        sum(checklist.count(status) for status in Status) == checklist.n_elements == sum(len(i.elements) for i in ITEMS)
    )
    assert f"answers {checklist.count(Status.ANSWERED)} of {checklist.n_elements} elements" in checklist.summary
    assert f"not those of the official adherence form, which counts {OFFICIAL_ELEMENTS}" in checklist.summary


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_the_documents(kind: str) -> None:
    run = stored_run(kind, validated=True)
    texts = answers(fill_tripod(run, SECTIONS))
    assert {number: found for number, text in texts.items() if (found := unknown_figures(text, run))} == {}
    assert f"{run.ensemble['score']['estimate']:.3f}" in texts["23a.5"]
    assert f"{run.n_with_outcome:,}" in texts["20a.3"]
    assert all(feature["name"] in texts["9b.1"] for feature in run.features)
    assert f"{run.sample_size['riley_minimum']:,}" in texts["10.2"]
    assert f"{run.validation['n_patients']:,}" in texts["21.3"]  # type: ignore[index]


def test_author_writes_what_no_run_knows() -> None:
    texts = answers(fill_tripod(stored_run("binary", validated=True), SECTIONS))
    for number in (
        "1.2",
        "3a.1",
        "3b.2",
        "3c.1",
        "5a.1",
        "5b.1",
        "6a.1",
        "6b.1",
        "8a.2",
        "8c.1",
        "17.1",
        "18a.1",
        "19.1",
        "25.1",
    ):
        assert number not in texts


def test_evaluation_items_do_not_apply_to_development() -> None:
    checklist = fill_tripod(stored_run("binary"), SECTIONS)
    for item in checklist.items:
        if item.item.applies == "E":
            assert item.count(Status.NOT_APPLICABLE) == len(item.elements)
    validated = answers(fill_tripod(stored_run("binary", validated=True), SECTIONS))
    assert {"12f.1", "12g.1", "16.4", "20c.1"} <= set(validated)


def test_the_update_of_a_validated_version_is_reported() -> None:
    run = updated_run("binary")
    checklist = fill_tripod(run, SECTIONS)
    texts, former = answers(checklist), answers(fill_tripod(stored_run("binary", validated=True), SECTIONS))
    assert {number: found for number, text in texts.items() if (found := unknown_figures(text, run))} == {}
    assert "Development, update and external validation" in texts["1.1"]
    update = "Version 2 of the model is version 1, recalibrated to the cohort “next door”"
    assert texts["12f.1"].startswith(update)
    assert texts["12f.1"].endswith("Version 2 of the model was not updated in this evaluation.")
    assert "as a whole" in texts["12f.2"]
    assert texts["24.1"].startswith(update)
    assert "area under the ROC curve" in texts["24.2"]
    assert update in texts["22.2"]
    assert "/v1/models/0123abcd/predictions" in texts["22.3"]
    assert {"24.1", "24.2"}.isdisjoint(former)
    assert former["12f.1"] == "The model was not updated in this evaluation."


def test_a_validation_in_the_training_patients_is_no_evaluation() -> None:
    run = changed(stored_run("binary", validated=True), "validation", is_training_cohort=True, training_share=1.0)
    texts, alone = (answers(fill_tripod(each, SECTIONS)) for each in (run, stored_run("binary")))
    assert texts["12a.1"] == (
        f"{alone['12a.1']} Performance in the cohort “another place” is apparent: 100.0 % of its rows are rows that "
        "the model was fitted on, so that it is too good and says nothing of other patients."
    )
    assert {**texts, "12a.1": alone["12a.1"]} == alone


def test_table_or_diagram_counts_only_if_the_report_has_it() -> None:
    run = stored_run("binary")
    with_sections, alone = (fill_tripod(run, sections) for sections in (SECTIONS, ()))
    assert set(answers(with_sections)) - set(answers(alone)) == {"20a.5", "20b.1", "23a.9"}
    assert {each.anchor for item in alone.items for each in item.elements} == {None}
    anchors = {each.anchor for item in with_sections.items for each in item.elements} - {None}
    assert anchors == SECTIONS


def test_older_search_leaves_more_to_the_author() -> None:
    run = stored_run("binary")
    older = changed(run, "ensemble", run=None)
    lost = set(answers(fill_tripod(run, SECTIONS))) - set(answers(fill_tripod(older, SECTIONS)))
    assert {"12c.4", "12c.15", "12d.1", "18f.1"} <= lost


@pytest.mark.parametrize("kind", KINDS)
def test_results_in_other_patients_stand_with_their_kind_of_measure(kind: str) -> None:
    texts = answers(fill_tripod(stored_run(kind, validated=True), SECTIONS))
    for number, measure in (("23a.3", "rier score"), ("23a.4", "et benefit")):
        internal, _, external = texts[number].partition("In the cohort")
        assert measure in internal
        assert measure in external
    assert "rier score" not in texts["23a.1"]
    assert "et benefit" not in texts["23a.1"]


def test_plots_are_those_of_the_report() -> None:
    run, _ = complete_run("event_times")
    plots = answers(fill_tripod(run, SECTIONS))["12e.5"]
    for plot in ("ROC and precision-recall curves", "calibration curves", "decision curves", "instability plots"):
        assert plot in plots
    assert answers(fill_tripod(stored_run("event_times"), SECTIONS))["12e.5"].endswith("as decision curves.")


def test_limitations_deny_no_correction_that_was_made_and_claim_none_that_was_not() -> None:
    run = stored_run("binary")
    overfitting = answers(fill_tripod(run, SECTIONS))["26.3"]
    assert "A correction covers the choice of weights, not the search for pipelines" in overfitting
    uncorrected = changed(run, "ensemble", score={**run.ensemble["score"], "resamples": None})
    assert "covers neither the weights nor the search" in answers(fill_tripod(uncorrected, SECTIONS))["26.3"]
    few = changed(run, "cohort", warnings=["the cohort has only 30 patients: a model of so few should not be used"])
    assert answers(fill_tripod(few, SECTIONS))["26.2"].endswith(
        " The cohort has only 30 patients: a model of so few should not be used."
    )


def test_predictors_of_a_validation_have_their_labels() -> None:
    run = stored_run("binary", validated=True)
    features = [{**f, "label": "Major vessels"} if f["name"] == "ca" else f for f in run.features]
    run = changed(run, "cohort", features=features)
    assert run.validation is not None
    shifts = [{**f, "outside": 0.25 if f["feature"] == "ca" else 0.0} for f in run.validation["features"]]
    texts = answers(fill_tripod(changed(run, "validation", features=shifts), SECTIONS))
    assert "Major vessels (25.0 % outside the training range)" in texts["16.4"]


def test_without_subgroups_the_author_is_told_why_there_are_none() -> None:
    checklist = fill_tripod(changed(stored_run("binary"), "ensemble", subgroups=[]), SECTIONS)
    (found,) = (e for item in checklist.items for e in item.elements if e.element.number == "23a.7")
    assert found.status is Status.AUTHOR
    assert found.text.startswith("No subgroup was large enough, or none was named")


def test_selection_during_modelling_has_its_own_answer() -> None:
    run = stored_run("event_times")
    text = answers(fill_tripod(run, SECTIONS))["12c.7"]
    assert text.startswith("Within the pipelines, on training patients only, predictors were selected by univariate")
    assert "The l1 penalty of penalised logistic regression can leave predictors out." in text
    simple = answers(fill_tripod(stored_run("visits"), SECTIONS))["12c.7"]
    assert simple == "No predictor was selected during modelling."


def test_names_keep_their_case_at_the_beginning_of_a_sentence() -> None:
    run = stored_run("binary", validated=True)
    assert run.validation_cohort is not None
    named = replace(run, validation_cohort={**run.validation_cohort, "name": "GUSTO-I Belgium"})
    assert (
        "The cohort “GUSTO-I Belgium” served for external validation" in answers(fill_tripod(named, SECTIONS))["12a.1"]
    )
    assert "LightGBM" not in answers(fill_tripod(run, SECTIONS))["12c.8"]
    step = {"algorithm": "lightgbm", "parameters": {}}
    boosted = [{**run.members[0], "configuration": {**run.members[0]["configuration"], "prediction": step}}]
    text = answers(fill_tripod(changed(run, "ensemble", members=boosted), SECTIONS))["12c.8"]
    assert "LightGBM can learn interactions" in text


def test_class_weights_are_told() -> None:
    run = stored_run("binary")
    members = [dict(member) for member in run.members]
    step = {"algorithm": "linear_svm", "parameters": {"C": 0.1, "class_weight": "balanced"}}
    members[0]["configuration"] = {**members[0]["configuration"], "prediction": step}
    texts = answers(fill_tripod(changed(run, "ensemble", members=members), SECTIONS))
    assert texts["13.1"].endswith("that gave both classes the same weight: linear support vector machine.")
    assert {"13.2", "13.3"} <= set(texts)
