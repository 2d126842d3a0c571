"""The methods text: publication prose of what was done, and nothing of what was not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autoprog.report.methods import write_methods
from autoprog.report.probast import fill_probast
from autoprog.report.run import ReportedRun
from autoprog.report.sentences import missing_at_use, scaling
from tests.report.runs import KINDS, changed, stored_run, unknown_figures


def text_of(run: ReportedRun) -> str:
    return " ".join(paragraph.text for paragraph in write_methods(run).paragraphs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("validated", [False, True])
def test_figures_are_those_of_the_documents(kind: str, validated: bool) -> None:
    run = stored_run(kind, validated=validated)
    text = text_of(run)
    assert unknown_figures(text, run) == []
    assert f"{run.n_patients:,} patients" in text
    assert f"{run.settings['folds']}-fold cross-validation" in text
    assert f"seed {run.settings['seed']}" in text
    assert f"autoprog {run.software['autoprog']}" in text
    assert f"{run.ensemble['score']['resamples']} bootstrap resamples" in text


@pytest.mark.parametrize("kind", KINDS)
def test_references_are_numbered_in_order_and_all_cited(kind: str) -> None:
    methods = write_methods(stored_run(kind, validated=True))
    text = " ".join(paragraph.text for paragraph in methods.paragraphs)
    cited = [int(n) for mark in re.findall(r"\[([\d,]+)\]", text) for n in mark.split(",")]
    assert list(dict.fromkeys(cited)) == [reference.number for reference in methods.references]
    assert [r.number for r in methods.references] == list(range(1, len(methods.references) + 1))
    assert all(r.doi is None or re.fullmatch(r"10\.\d{4,5}/\S+", r.doi) for r in methods.references)
    assert "[@" not in text


ABSENT = {
    "binary": ("censor", "follow-up", "horizon", "visit", "hazard", "compet", "concordance", "Aalen"),
    "event_times": ("compet", "Wolbers", "visit", "average precision", "logarithmic loss"),
    "competing": ("Uno's", "D-calibration", "visit"),
    "visits": ("Uno's", "average precision"),
}
PRESENT = {
    "binary": ("average precision", "logarithmic loss"),
    "event_times": ("Uno's concordance", "censored", "Kaplan-Meier"),
    "competing": ("Wolbers's concordance", "competing event", "the risks of the competing causes were recalibrated"),
    "visits": ("last 3 visits", "The visits of a patient stayed in one fold."),
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_the_outcome_needs_is_said(kind: str) -> None:
    text = text_of(stored_run(kind))
    assert [word for word in ABSENT[kind] if word in text] == []
    assert [word for word in PRESENT[kind] if word not in text] == []
    assert "External validation" not in {p.heading for p in write_methods(stored_run(kind)).paragraphs}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_groups", [None, 12])
def test_groups_are_the_unit_where_the_cohort_has_some(kind: str, n_groups: int | None) -> None:
    run = stored_run(kind)
    grouped = changed(run, "ensemble", run={**run.origin, "n_groups": n_groups or run.origin["n_groups"]})
    unit = "group" if n_groups else "patient"
    text = text_of(grouped)
    assert (f"The {run.words.rows} of a {unit} stayed in one fold." in text) == (kind == "visits" or unit == "group")
    assert f"by the influence of each {unit} on the measure" in text
    assert (f"; {unit}s and not rows were the unit." in text) == (kind == "visits" or unit == "group")
    anew = f"bootstrap resamples of the {unit}s the weights were chosen anew and scored on the {unit}s left out"
    assert (anew if grouped.has_choice else f"bootstrap resamples of the {unit}s") in text
    answers = {q.number: q.reason for q in fill_probast(grouped) if q.part == "internal validation"}
    assert ("of a group stayed in one fold." in answers["4.5"]) == (unit == "group")


def test_what_was_not_done_is_not_said() -> None:
    run = stored_run("binary")
    run = changed(run, "search", account={**run.search["account"], "raced_out": 0}, start=None)
    origin = {**run.origin, "n_proposed": 0}
    run = changed(run, "ensemble", baseline=None, instability=None, subgroups=[], gain_over_baseline=None, run=origin)
    features = [{**feature, "missing_fraction": 0.0} for feature in run.features]
    text = text_of(changed(run, "cohort", features=features))
    for words in (
        "Bayesian",
        "earlier cohort",
        "stopped",
        "simple pipeline",
        "Instability",
        "interval, from",
        "subgroup",
        "imputation with",
    ):
        assert words not in text


def test_what_was_done_is_said() -> None:
    run = stored_run("binary")
    run = changed(
        run,
        "search",
        account={**run.search["account"], "raced_out": 5},
        start={"n_cohorts": 11, "trust": 0.91, "portfolio": []},
    )
    run = changed(
        run, "ensemble", run={**run.origin, "n_proposed": 20, "n_explored_rows": 200, "n_finalists": 4, "n_groups": 7}
    )
    text = text_of(run)
    for words in (
        "20 pipelines that Bayesian optimisation",
        "11 earlier cohorts", "5 were stopped early", "sample of 200 of 303 rows",
        "4 pipelines were then evaluated on all", "The patients of a group stayed in one fold.",
    ):  # fmt: skip
        assert words in text


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("pseudo_bma", "log scores"),
        ("linear_pool", "most probability"),
        ("blend", "mixture of stacking"),
        ("model_averaging", "probability of each to be the best"),
        ("greedy", "greedy selection"),
        ("stacking", "shrunk to the plain average"),
        ("best", "largest posterior mean"),
    ],
)
def test_every_rule_of_the_ensemble_has_its_words(rule: str, words: str) -> None:
    assert words in text_of(changed(stored_run("binary"), "ensemble", rule=rule))


def test_ends_of_pipelines_are_one_list() -> None:
    run = stored_run("binary")
    account = dict.fromkeys(run.search["account"], 0) | {"timeout": 8}
    assert "13 were scored on all folds and 8 exceeded the time limit." in text_of(
        changed(run, "search", account=account)
    )


def test_continued_and_stopped_searches_say_so() -> None:
    run = stored_run("binary")
    plain = text_of(run)
    told = text_of(changed(run, "search", continues="an identifier", status="cancelled"))
    for words in ("It continued an earlier search", "It was stopped by the user."):
        assert words in told
        assert words not in plain


def test_rules_of_clinicians_are_told() -> None:
    run = stored_run("binary")
    rule = {**run.rules["rules"][0], "prior": {"probability": 0.8, "strength": 10.0}}
    text = text_of(changed(run, "rules", rules=[*run.rules["rules"], rule]))
    assert "1 rule that clinicians had stated beforehand is shown too" in text
    assert "clinicians" not in text_of(run)


def test_coding_is_told_of_the_kinds_that_occur() -> None:
    run = stored_run("binary")
    numeric = changed(run, "cohort", features=[{**f, "kind": "numeric"} for f in run.features])
    assert "Ordered levels" in text_of(run)
    assert "Unordered levels became one indicator each" in text_of(run)
    assert "levels" not in text_of(numeric)


def test_a_single_pipeline_was_not_chosen() -> None:
    run = stored_run("visits")
    alone = text_of(run)
    assert "Only one pipeline was scored, so that no choice needed a correction" in alone
    assert "weights" not in alone
    counts = {**run.search["progress"]["evaluations"], "succeeded": 2}
    several = changed(run, "search", progress={**run.search["progress"], "evaluations": counts})
    assert "no choice needed" not in text_of(several)
    for part, number in (("development", "4.5"), ("internal validation", "4.5"), ("internal validation", "4.6")):
        reasons = (
            next(q.reason for q in fill_probast(each) if (q.part, q.number) == (part, number))
            for each in (run, several)
        )
        assert ["chosen by" in text or "were chosen" in text or "anew" in text for text in reasons] == [False, True]


def test_trees_alone_need_no_scaling() -> None:
    run = stored_run("binary")
    steps = {stage: {"algorithm": "none", "parameters": {}} for stage in ("imputation", "features", "calibration")}
    steps["prediction"] = {"algorithm": "lightgbm", "parameters": {"trees": 40}}
    trees = changed(run, "ensemble", members=[{"weight": 1.0, "score": 0.9, "configuration": steps}])
    assert scaling(trees) == "No predictor was rescaled, as trees do not depend on scales."
    assert scaling(run).startswith("Columns were standardised")


def with_missing(run: ReportedRun, *counts: int) -> ReportedRun:
    """The run whose first predictors lacked so many values, and the others none."""
    lacked = [*counts, *(0 for _ in run.features[len(counts) :])]
    features = [
        {**feature, "missing_fraction": n / run.n_rows} for feature, n in zip(run.features, lacked, strict=True)
    ]
    return changed(run, "cohort", features=features)


def test_missing_values_in_use_are_drawn_unless_enough_patients_lacked_them() -> None:
    run = stored_run("binary")
    drawn, mean = "is drawn many times from its distribution", "the risk is the mean over the draws."
    few = missing_at_use(with_missing(run, 9))
    assert few.startswith(f"In use, a missing value {drawn}")
    assert mean in few
    some = missing_at_use(with_missing(run, 10, 9, 200))
    assert some.startswith(
        "In use, a missing value of cp or age is left to the pipelines, which learnt what its absence means from at "
        f"least 10 training patients who lacked it. Any other missing value {drawn}"
    )
    assert mean in some
    every = missing_at_use(with_missing(run, *(10 for _ in run.features)))
    assert "left to the pipelines" in every
    assert "draw" not in every
    visits = missing_at_use(stored_run("visits"))
    assert visits.startswith("In use, a missing value that at least 10 training visits lacked, too, is left to the pip")
    assert f"Any other missing value {drawn}" in visits
    for text in (few, some, every):
        assert text.endswith("The interval of the risk covers what all missing values may be.")
    older = changed(with_missing(run, 10), "ensemble", run=None)
    assert "left to the pipelines" not in missing_at_use(older)


def test_labels_of_predictors_replace_their_names() -> None:
    run = stored_run("binary")
    worst = run.with_missing[0]["name"]
    features = [{**f, "label": "Major vessels"} if f["name"] == worst else f for f in run.features]
    assert "(Major vessels)" in text_of(changed(run, "cohort", features=features))


def test_label_of_the_outcome_replaces_its_code() -> None:
    run = stored_run("binary")
    run = changed(run, "cohort", outcome={**run.outcome, "label": "Death within 5 years"})
    text = text_of(run)
    assert "Death within 5 years" in text
    assert "outcome = 1" not in text


def test_labelled_visits_have_words_of_their_own() -> None:
    run = stored_run("visits")
    label = {"column": "low", "positive": "1", "negative": "0", "patient": "id", "visit_time": "day", "horizon": 365.0}
    cohort = {**run.cohort, "outcome": label, "follow_up": None, "event_rate": 0.2}
    binary = stored_run("binary").ensemble
    text = text_of(replace(run, cohort=cohort, ensemble={**binary, "members": run.members}))
    assert "within 365 (unit of “day”) after the visit" in text
    assert "follow-up" not in text
    assert f"{round(0.2 * run.n_rows):,} of {run.n_rows:,} visits" in text
