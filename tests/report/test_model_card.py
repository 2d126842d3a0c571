"""The model card: nine parts, by the run or named as the author's."""

from __future__ import annotations

import pytest

from autoprog.report.model_card import fill_model_card
from tests.report.runs import KINDS, changed, stored_run, unknown_figures, updated_run

PARTS = [
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("validated", [False, True])
def test_card_has_the_nine_parts_and_figures_of_the_documents(kind: str, validated: bool) -> None:
    run = stored_run(kind, validated=validated)
    card = fill_model_card(run)
    assert [part.title for part in card] == PARTS
    assert all(part.entries and all(entry.text for entry in part.entries) for part in card)
    known = " ".join(entry.text for part in card for entry in part.entries if not entry.by_author)
    assert unknown_figures(known, run) == []
    assert run.search["model_id"] in known
    assert run.cohort["sha256"] in known


def test_author_is_asked_for_what_no_run_knows() -> None:
    asked = {entry.topic for part in fill_model_card(stored_run("binary")) for entry in part.entries if entry.by_author}
    assert {"Developed by", "Purpose and users", "Origin", "Risks and harms", "Approval and consent"} <= asked


def test_missing_parts_are_left_out_or_asked_for() -> None:
    run = changed(stored_run("binary"), "ensemble", subgroups=[], instability=None)
    entries = {(part.title, entry.topic): entry for part in fill_model_card(run) for entry in part.entries}
    assert entries["Factors", "Groups"].by_author
    assert entries["Caveats and recommendations", "Stability"].by_author
    assert ("Quantitative analyses", "External validation") not in entries


def test_the_card_is_of_the_version_that_was_validated() -> None:
    entries = {entry.topic: entry.text for part in fill_model_card(updated_run("binary")) for entry in part.entries}
    assert "Identifier of the model: 0123abcd. Version 2 of the model is version 1, recalibrated to" in entries["Model"]
    assert entries["Date"] == "2027-03-04."
    assert entries["Before use"].startswith("Version 2 of the model was validated in the cohort “another place”")


def test_a_validation_in_the_training_patients_is_not_external() -> None:
    run = changed(stored_run("binary", validated=True), "validation", is_training_cohort=True, training_share=1.0)
    entries = {(part.title, entry.topic): entry for part in fill_model_card(run) for entry in part.entries}
    assert entries["Evaluation data", "External validation"].by_author
    assert ("Quantitative analyses", "External validation") not in entries
    assert "was validated in" not in entries["Caveats and recommendations", "Before use"].text


def test_warnings_of_cohort_and_search_are_shown() -> None:
    run = changed(
        changed(stored_run("binary"), "cohort", warnings=["of the cohort"]), "search", warnings=["of the search"]
    )
    texts = [entry.text for part in fill_model_card(run) for entry in part.entries]
    assert "Warnings of the run: of the cohort; of the search." in texts
    validated = changed(stored_run("binary", validated=True), "validation", warnings=["of the validation"])
    entries = {entry.topic: entry.text for part in fill_model_card(validated) for entry in part.entries}
    assert entries["Warnings"].endswith("of the validation.")
