"""PROBAST+AI: the tool's questions, answered with a reason, or left to the author."""

from __future__ import annotations

from collections import Counter

import pytest

from autoprog.report.building import build_report
from autoprog.report.probast import Answer, SignallingQuestion, fill_probast
from autoprog.report.run import ReportedRun
from autoprog.report.sentences import validation_sample
from tests.report.runs import KINDS, changed, stored_run, unknown_figures


def answer(run: ReportedRun, part: str, number: str) -> SignallingQuestion:
    (found,) = [q for q in fill_probast(run) if (q.part, q.number) == (part, number)]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_questions_are_those_of_the_tool(kind: str) -> None:
    found = fill_probast(stored_run(kind, validated=True))
    assert Counter(q.part for q in found) == {"development": 16, "internal validation": 18, "external validation": 15}
    domains = Counter(q.domain for q in found if q.part == "internal validation")
    assert domains == {"Participants and data sources": 3, "Predictors": 4, "Outcome": 4, "Analysis": 7}
    assert len(fill_probast(stored_run(kind))) == 34
    assert all(q.question.endswith("?") and q.reason for q in found)


@pytest.mark.parametrize("kind", KINDS)
def test_reasons_hold_figures_of_the_documents(kind: str) -> None:
    run = stored_run(kind, validated=True)
    assert unknown_figures(" ".join(q.reason for q in fill_probast(run)), run) == []


def test_sample_size_decides_its_answer() -> None:
    run = stored_run("binary")
    for verdict, expected in (("insufficient", Answer.NO), ("sufficient", Answer.YES)):
        changed_run = changed(run, "cohort", sample_size={**run.sample_size, "verdict": verdict})
        assert answer(changed_run, "development", "4.1").answer is expected
    middle = changed(run, "cohort", sample_size={**run.sample_size, "verdict": "sufficient_for_regression"})
    linear = [
        dict(member) for member in run.members if "logistic" in member["configuration"]["prediction"]["algorithm"]
    ]
    linear = [m for m in linear if not m["configuration"]["prediction"]["algorithm"].startswith("kernel")]
    assert answer(changed(middle, "ensemble", members=linear), "development", "4.1").answer is Answer.PROBABLY_YES
    forest = {
        "weight": 1.0,
        "score": 0.9,
        "configuration": {**linear[0]["configuration"], "prediction": {"algorithm": "random_forest", "parameters": {}}},
    }
    assert answer(changed(middle, "ensemble", members=[forest]), "development", "4.1").answer is Answer.PROBABLY_NO


def test_one_pipeline_is_no_average() -> None:
    run = stored_run("visits")
    counts = {**run.search["progress"]["evaluations"], "succeeded": 2}
    run = changed(run, "search", progress={**run.search["progress"], "evaluations": counts})
    alone = answer(run, "development", "4.5").reason
    assert alone.endswith("The pipeline of the model was chosen by out-of-fold risks alone.")
    assert "average" not in alone
    several = answer(stored_run("binary"), "development", "4.5").reason
    assert several.endswith("The weights of the 13 pipelines were chosen by out-of-fold risks alone.")


def test_column_that_gives_the_outcome_away_is_suspected() -> None:
    run = stored_run("binary")
    assert answer(run, "development", "2.4").answer is Answer.AUTHOR
    warned = changed(
        run, "cohort", warnings=["column los alone gives the outcome away (AUC 0.991): was it recorded after?"]
    )
    found = answer(warned, "development", "2.4")
    assert found.answer is Answer.PROBABLY_NO
    assert "los" in found.reason
    times = changed(run, "cohort", warnings=["column los alone gives the follow-up time away (rank correlation 0.995)"])
    assert answer(times, "development", "2.4").answer is Answer.PROBABLY_NO


def test_nothing_was_imputed_where_all_learners_take_missing_values() -> None:
    run = stored_run("binary")
    assert run.with_missing
    bare = [m for m in run.members if m["configuration"]["imputation"]["algorithm"] == "none"]
    for members, imputed in ((run.members, True), (bare, False)):
        each = changed(run, "ensemble", members=members)
        found = answer(each, "development", "4.3")
        assert found.answer is Answer.PROBABLY_YES
        assert ("single, not multiple" in found.reason) == imputed
        assert ("were imputed" in answer(each, "internal validation", "4.3").reason) == imputed


def test_many_rows_left_out_are_suspected() -> None:
    run = stored_run("binary")
    assert answer(run, "development", "4.3").answer is Answer.PROBABLY_YES
    assert answer(changed(run, "cohort", n_dropped=30, n_rows=333), "development", "4.3").answer is Answer.PROBABLY_NO
    times = changed(stored_run("event_times"), "cohort", n_dropped=50, n_rows=550)
    reason = answer(times, "development", "4.3").reason
    assert reason.endswith("Rows without a usable outcome were 9.1 % of the file; leaving them out may be selective.")
    features = [{**feature, "missing_fraction": 0.0} for feature in run.features]
    assert answer(changed(run, "cohort", features=features), "development", "4.3").answer is Answer.YES


def with_features(run: ReportedRun, kind: str) -> ReportedRun:
    return changed(run, "cohort", features=[{**feature, "kind": kind} for feature in run.features])


def test_steps_that_depend_on_the_outcome_are_not_denied() -> None:
    run = stored_run("event_times")
    assert answer(run, "development", "2.2").reason.endswith("No step depended on centre or subgroup.")
    members = [m for m in run.members if m["configuration"]["features"]["algorithm"] == "none"]
    encoded = with_features(changed(run, "ensemble", members=members), "categorical")
    assert answer(encoded, "development", "2.2").reason.endswith("No step depended on centre or subgroup.")
    assert "shares of the outcome for boosted trees, cross-fitted" in answer(encoded, "development", "4.2").reason
    numeric = with_features(encoded, "numeric")
    assert answer(numeric, "development", "2.2").reason.endswith("No step depended on centre, subgroup or outcome.")


def test_an_evaluation_in_the_training_patients_is_apparent() -> None:
    run = changed(stored_run("binary", validated=True), "validation", is_training_cohort=True, training_share=1.0)
    assert Counter(q.part for q in fill_probast(run))["apparent performance"] == 16
    assert "external validation" not in {q.part for q in fill_probast(run)}
    found = answer(run, "apparent performance", "4.1")
    assert found.answer is Answer.NO
    assert "100.0 % of its rows are rows that the model was fitted on" in found.reason
    assert "None" not in answer(run, "apparent performance", "4.3").reason
    assert answer(run, "internal validation", "4.1").answer is Answer.YES


def test_other_patients_have_no_simple_pipeline_to_compare_with() -> None:
    run = stored_run("binary", validated=True)
    assert "the simple pipeline" in answer(run, "internal validation", "4.7").reason
    assert "the simple pipeline" not in answer(run, "external validation", "4.7").reason


def test_search_that_is_not_repeated_in_the_folds_is_admitted() -> None:
    assert answer(stored_run("binary"), "internal validation", "4.6").answer is Answer.PROBABLY_NO


def test_a_validation_of_weighted_patients_counts_each_once() -> None:
    run = stored_run("binary", validated=True)
    assert run.validation is not None
    least = run.sample_size["validation_minimum"]
    run = changed(run, "validation", n_patients=2 * least)
    weighted = changed(run, "validation_cohort", n_sampled=150)
    assert answer(run, "external validation", "4.2").answer is Answer.YES
    assert answer(weighted, "external validation", "4.2").answer is Answer.PROBABLY_NO
    said = validation_sample(weighted) or ""
    assert f"The validation had 150 patients who stand for {2 * least:,} with " in said
    assert "it does not reach the" in said
    assert "in 150 patients." in build_report(weighted).subtitle
