"""Importance, effects and learning curve in the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autoprog.report.building import build_report
from autoprog.report.chart import Points
from autoprog.report.document import Figure, Section, Table
from autoprog.report.drawing import draw
from autoprog.report.html import write_html
from autoprog.report.run import ReportedRun
from autoprog.report.sections.explanation import explanation_section
from autoprog.report.svg import write_svg
from tests.report.runs import KINDS, stored_run


def loss(estimate: float) -> dict[str, float]:
    return {"estimate": estimate, "lower": estimate - 0.01, "upper": estimate + 0.02}


def explanation(run: ReportedRun, inputs: int | None = None) -> dict[str, Any]:
    """An explanation of the run's own features, each less important than the one before."""
    names = [str(feature["name"]) for feature in run.cohort["features"]]
    names += [f"more {i}" for i in range((inputs or len(names)) - len(names))]
    horizons = run.horizons or (None,)
    auc = run.kind.area
    importance = [
        {
            "feature": name,
            "horizons": [
                {"horizon": h, "measures": {auc: loss(0.1 / (j + 1)), "brier": loss(0.05 / (j + 1))}} for h in horizons
            ],
        }
        for j, name in enumerate(names)
    ]
    effects = [
        {"feature": names[0], "kind": "numeric", "at": [1.0, 2.0, 5.0], "n": [0, 60, 40],
         "change": [[-0.05] * len(horizons), [0.0] * len(horizons), [0.11] * len(horizons)]},
        {"feature": names[1], "kind": "levels", "at": ["low", "high"], "n": [70, 30],
         "change": [[-0.02] * len(horizons), [0.04] * len(horizons)]},
    ]  # fmt: skip
    points = [{"n_patients": n, "estimate": 0.7 + n / 1e4, "lower": 0.65, "upper": 0.8} for n in (50, 100, 200)]
    return {
        "n_patients": 250, "folds": 5, "shuffles": 10, "importance": importance, "effects": effects,
        "learning_curve": {"metric": "auc_roc", "points": points}, "typical": typical_patients(run, names),
    }  # fmt: skip


def typical_patients(run: ReportedRun, names: list[str]) -> dict[str, Any] | None:
    """Three typical patients, of whom the last has no typical value of the second input; None for visits."""
    if run.words.row == "visit":
        return None
    k = max(1, len(run.horizons))
    patients = [
        {
            "group": group,
            "n": 50,
            "risk": [risk] * k,
            "contributions": [
                {"feature": names[0], "value": 1.5, "change": [change] * k},
                {"feature": names[1], "value": "low", "change": [0.01] * k},
            ][: 1 if group == "high" else 2],
        }
        for group, risk, change in (("low", 0.05, -0.04), ("middle", 0.2, 0.02), ("high", 0.6, 0.08))
    ]
    return {"mean_risk": [0.25] * k, "patients": patients}


def blocks(section: Section, kind: type) -> dict[str, Any]:
    return {block.name: block for block in section.blocks if isinstance(block, kind)}


@pytest.mark.parametrize("kind", KINDS)
def test_figures_and_table_are_those_of_the_explanation(kind: str) -> None:
    run = stored_run(kind)
    explained = explanation_section(replace(run, explanation=explanation(run)))
    (table,) = blocks(explained, Table).values()
    assert table.rows[0][1] == "0.100 (0.090 to 0.120)"
    assert table.rows[0][2] == "0.050 (0.040 to 0.070)"
    assert len(table.columns) == len(table.rows[0]) == 1 + 2 * max(1, len(run.horizons))
    drawn = blocks(explained, Figure)
    assert {name.split("-")[0] for name in drawn} == {"importance", "effects", "learning"}
    for figure in drawn.values():
        assert "<svg" in write_svg(draw(figure.data), figure.title, figure.alt)
    text = write_html(build_report(replace(run, explanation=explanation(run))))
    assert "What the model looks at" in text


def test_levels_stand_below_each_other_each_at_its_change() -> None:
    run = stored_run("binary")
    drawn = blocks(explanation_section(replace(run, explanation=explanation(run))), Figure)["effects"].data
    (levels,) = (panel for panel in drawn.panels if panel.y.categories)
    (points,) = (mark for mark in levels.marks if isinstance(mark, Points))
    at = {levels.y.categories[int(y)]: x for x, y in zip(points.x, points.y, strict=True)}
    assert at == {"low": -2.0, "high": 4.0}
    assert levels.y.categories[-1] == "low"


def test_without_an_explanation_the_report_says_how_to_get_one() -> None:
    section = explanation_section(stored_run("binary"))
    assert section.left_out is not None
    assert "POST" in section.left_out


def test_many_inputs_are_cut_and_their_number_is_told() -> None:
    run = stored_run("binary")
    section = explanation_section(replace(run, explanation=explanation(run, inputs=45)))
    (table,) = blocks(section, Table).values()
    assert len(table.rows) == 30
    assert table.notes == ("The 30 most important of 45.",)


@pytest.mark.parametrize(("metric", "improves"), [("auc_roc", "rises"), ("brier", "falls"), ("log_loss", "falls")])
def test_a_learning_curve_is_read_in_the_direction_of_its_metric(metric: str, improves: str) -> None:
    run = stored_run("binary")
    explained = explanation(run)
    curve = {**explained["learning_curve"], "metric": metric}
    section = explanation_section(replace(run, explanation={**explained, "learning_curve": curve}))
    caption = blocks(section, Figure)["learning-curve"].caption
    assert caption.endswith(f"A curve that still {improves} at its end says that more would give a better model.")
