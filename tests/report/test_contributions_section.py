"""Contributions to the risks of typical patients in the report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoprog.report.building import build_report
from autoprog.report.document import Figure, Paragraph, Table
from autoprog.report.docx import write_docx
from autoprog.report.html import write_html
from autoprog.report.markdown import write_markdown
from autoprog.report.run import ReportedRun
from autoprog.report.sections.contributions import contributions_section
from tests.report.runs import changed, stored_run
from tests.report.test_building import without_knowledge
from tests.report.test_explanation_section import explanation

EXPLAINED = pytest.mark.parametrize("kind", ["binary", "event_times"])


def explained(kind: str) -> ReportedRun:
    run = stored_run(kind)
    return replace(run, explanation=explanation(run))


@EXPLAINED
def test_risks_and_contributions_are_those_of_the_explanation(kind: str) -> None:
    run = explained(kind)
    section = contributions_section(run)
    assert section.left_out is None
    text = " ".join(block.text for block in section.blocks if isinstance(block, Paragraph))
    assert "5.0 % (low risk), 20.0 % (middling risk) and 60.0 % (high risk)" in text
    assert "is 25.0 %" in text
    tables = [block for block in section.blocks if isinstance(block, Table)]
    assert len(tables) == max(1, len(run.horizons))
    for table in tables:
        assert len(table.columns) == len(table.rows[0]) == 7
        assert [row[1:3] for row in table.rows] == [("1.50", "\u22124.0"), ("low", "1.0")]
        assert [row[5:7] for row in table.rows] == [("1.50", "8.0"), ("–", "–")]
    (figure,) = (block for block in section.blocks if isinstance(block, Figure))
    assert [panel.title for panel in figure.data.panels] == [  # type: ignore[union-attr]
        "Low risk: 5.0 %",
        "Middling risk: 20.0 %",
        "High risk: 60.0 %",
    ]


@EXPLAINED
def test_every_form_of_the_report_has_the_section(kind: str) -> None:
    report = build_report(explained(kind))
    assert 'id="contributions"' in write_html(report)
    assert "## How the model comes to a risk" in write_markdown(report)
    if kind == "binary":
        assert len(write_docx(report)) > 10_000


def test_without_typical_patients_the_report_says_why() -> None:
    run, visits = explained("binary"), stored_run("visits")
    assert "nobody has asked" in str(contributions_section(stored_run("binary")).left_out)
    assert "visits" in str(contributions_section(replace(visits, explanation=explanation(visits))).left_out)
    older = {key: value for key, value in explanation(run).items() if key != "typical"}
    assert "before" in str(contributions_section(replace(run, explanation=older)).left_out)
    assert "too few" in str(
        contributions_section(changed(run, "explanation", typical={"mean_risk": [0.2], "patients": []})).left_out
    )


def test_contributions_of_a_model_that_knows_nothing_are_withheld() -> None:
    assert str(contributions_section(without_knowledge(explained("binary"))).left_out).startswith("Withheld")
