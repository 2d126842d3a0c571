"""Everything that a report must contain, by name, for a binary outcome and for event times."""

from __future__ import annotations

from typing import Any

import pytest

from autoprog.report.building import build_report
from autoprog.report.chart import Band, Chart, Flow, Line, Points
from autoprog.report.document import Figure, ItemList, Paragraph, Report, Section, Table
from autoprog.report.run import ReportedRun
from tests.report.complete import complete_run
from tests.report.runs import changed

EVERY_KIND = pytest.mark.parametrize("kind", ["binary", "event_times"])

SECTIONS = {
    "first", "flow", "characteristics", "missing", "sample-size", "performance", "calibration", "net-benefit", "strata",
    "subgroups", "instability", "rules", "explanation", "contributions", "specification", "leaderboard", "software",
    "methods", "tripod", "probast", "model-card",
}  # fmt: skip
FIGURES = {
    "flow", "roc", "precision-recall", "calibration-curve", "risks", "net-benefit-curve", "instability-risks",
    "importance", "effects", "learning-curve", "contributions-findings",
}  # fmt: skip
TABLES = {
    "characteristics", "missing", "sample-size", "gains", "strata", "subgroups", "importance-table", "members",
    "hyperparameters", "predictors", "leaderboard", "software", "tripod-title", "tripod-abstract",
    "tripod-introduction", "tripod-methods", "tripod-open-science", "tripod-patient-and-public-involvement",
    "tripod-results", "tripod-discussion", "probast-development", "probast-internal-validation", "model-card",
}  # fmt: skip
AT_HORIZONS = ("measures", "net-benefit-thresholds")
"""Tables of which event times have one per horizon."""

_reports: dict[str, tuple[ReportedRun, Report]] = {}


def report_of(kind: str) -> tuple[ReportedRun, Report]:
    if kind not in _reports:
        run, description = complete_run(kind)
        _reports[kind] = run, build_report(run, description)
    return _reports[kind]


def blocks(report: Report, kind: type) -> dict[str, Any]:
    return {b.name: b for section in report.sections for b in section.blocks if isinstance(b, kind)}


def section(report: Report, name: str) -> Section:
    return next(each for each in report.sections if each.name == name)


def panels(report: Report, figure: str) -> list[Any]:
    """Panels of a figure, which are spread over several figures if there are many."""
    drawn = blocks(report, Figure)
    found = [b for name, b in drawn.items() if name == figure or name.rpartition("-")[::2] == (figure, name[-1])]
    return [panel for each in found if isinstance(each.data, Chart) for panel in each.data.panels]


def marks(panel: Any, kind: type) -> list[Any]:
    return [mark for mark in panel.marks if isinstance(mark, kind)]


@EVERY_KIND
def test_report_contains_every_section(kind: str) -> None:
    _, report = report_of(kind)
    assert {each.name for each in report.sections} == SECTIONS
    assert {each.name: each.left_out for each in report.sections if each.left_out is not None} == {}


@EVERY_KIND
def test_report_contains_every_figure(kind: str) -> None:
    run, report = report_of(kind)
    # More panels than four make a figure of several parts.
    found = {name for name in FIGURES if panels(report, name) or isinstance(blocks(report, Figure)[name].data, Flow)}
    assert found == FIGURES
    assert bool(panels(report, "incidence")) == bool(run.horizons)


def test_table_1_names_competing_events_only_where_there_are_some() -> None:
    for kind in ("event_times", "competing"):
        notes = " ".join(blocks(report_of(kind)[1], Table)["characteristics"].notes)
        assert ("or with a competing event" in notes) == (kind == "competing")


def tables_of(kind: str) -> set[str]:
    """The veterans' file, of event times, has no empty cell."""
    return TABLES - {"missing"} if kind == "event_times" else set(TABLES)


@EVERY_KIND
def test_report_contains_every_table(kind: str) -> None:
    run, report = report_of(kind)
    found = set(blocks(report, Table))
    suffixes = [f"-{horizon:g}" for horizon in run.horizons] or [""]
    assert tables_of(kind) | {name + suffix for name in AT_HORIZONS for suffix in suffixes} <= found
    assert {f"contributions-{k}" for k, _ in enumerate(run.horizons, 1)} <= found or "contributions" in found


@EVERY_KIND
def test_roc_and_precision_recall_have_a_band_at_every_horizon(kind: str) -> None:
    run, report = report_of(kind)
    for name in ("roc", "precision-recall"):
        drawn = panels(report, name)
        assert len(drawn) == max(1, len(run.horizons))
        assert all(marks(panel, Band) and marks(panel, Line) for panel in drawn)


@EVERY_KIND
def test_the_texts_of_roc_and_precision_recall_are_of_their_own_curve(kind: str) -> None:
    drawn = blocks(report_of(kind)[1], Figure)
    assert "Area under the ROC curve" in drawn["roc"].alt
    assert "Area under the ROC curve" not in drawn["precision-recall"].alt


def test_subgroups_too_small_to_be_measured_are_those_of_few_groups_too() -> None:
    run, description = complete_run("binary")
    grouped = changed(run, "ensemble", run={**run.origin, "n_groups": 12})
    for each, few in ((run, "fewer than 10 patients with"), (grouped, "fewer than 10 patients or 2 groups with")):
        assert few in blocks(build_report(each, description), Table)["subgroups"].notes[0]


@pytest.mark.parametrize("kind", ["binary", "event_times", "competing"])
def test_calibration_has_a_band_at_every_horizon_and_for_every_cause(kind: str) -> None:
    run, report = report_of(kind)
    drawn = panels(report, "calibration-curve")
    assert len(drawn) == max(1, len(run.horizons)) * (1 + len(run.competing))
    assert all(marks(panel, Band) for panel in drawn)
    assert len({panel.title for panel in drawn}) == len(drawn)
    named = changed(run, "cohort", outcome={**run.outcome, "time": "Days", "event": "Cause"})
    titles = [panel.title for panel in panels(build_report(named), "calibration-curve")]
    assert not any("days" in title for title in titles)


@EVERY_KIND
def test_expected_over_observed_has_the_same_interval_in_the_text_on_calibration_as_in_its_table(kind: str) -> None:
    run, report = report_of(kind)
    text = next(b.text for b in section(report, "calibration").blocks if isinstance(b, Paragraph))
    name = f"measures-{run.horizons[-1]:g}" if run.horizons else "measures"
    (cell,) = (row[1] for row in blocks(report, Table)[name].rows if row[0].startswith("Expected / observed"))
    assert f"expected over observed events {cell} (ideal: 1)" in text
    assert " to " in cell


@pytest.mark.parametrize(("p", "shown"), [(3e-9, "p < 0.001;"), (0.0234, "p = 0.023;")])
def test_d_calibration_has_no_power_of_ten(p: float, shown: str) -> None:
    run, _ = report_of("event_times")
    tested = changed(run, "ensemble", d_calibration={**run.ensemble["d_calibration"], "p_value": p})
    text = next(b.text for b in section(build_report(tested), "calibration").blocks if isinstance(b, Paragraph))
    assert f"D-calibration: {shown}" in text


def test_incidence_has_a_curve_with_its_band_and_the_numbers_at_risk_of_every_stratum() -> None:
    _, report = report_of("event_times")
    (panel,) = panels(report, "incidence")
    names = ["high risk", "medium risk", "low risk"]
    assert [line.label for line in marks(panel, Line)] == names
    assert len(marks(panel, Band)) == 3
    assert [f"{name} risk" for name, _ in panel.at_risk.rows] == names
    assert all(len(counts) == len(panel.at_risk.times) > 1 for _, counts in panel.at_risk.rows)


@EVERY_KIND
def test_decision_curve_compares_the_model_with_the_simple_one_all_and_none(kind: str) -> None:
    _, report = report_of(kind)
    for panel in panels(report, "net-benefit-curve"):
        assert {line.style for line in marks(panel, Line)} >= {"model", "simple", "all", "none"}
        assert marks(panel, Band)


@EVERY_KIND
def test_explanation_has_intervals_effects_and_a_learning_curve(kind: str) -> None:
    run, report = report_of(kind)
    for panel in panels(report, "importance"):
        (points,) = marks(panel, Points)
        assert len(points.lower) == len(points.upper) == len(points.x) == min(15, len(run.features))
    assert panels(report, "effects")
    (curve,) = panels(report, "learning-curve")
    assert marks(curve, Band)
    assert len(panels(report, "contributions-findings")) == 3


@EVERY_KIND
def test_table_1_and_missing_values_are_by_outcome(kind: str) -> None:
    _, report = report_of(kind)
    for name in {"characteristics", "missing"} & tables_of(kind):
        titles = [column.title for column in blocks(report, Table)[name].columns]
        assert sum(title.startswith(("All", "With the outcome", "Without")) for title in titles) == 3


@EVERY_KIND
def test_every_member_is_specified(kind: str) -> None:
    run, report = report_of(kind)
    tables = blocks(report, Table)
    members = [str(k) for k in range(1, len(run.members) + 1)]
    assert [row[0] for row in tables["members"].rows] == members
    assert list(dict.fromkeys(row[0] for row in tables["hyperparameters"].rows)) == members


@EVERY_KIND
def test_software_seed_and_digests_are_told(kind: str) -> None:
    run, report = report_of(kind)
    told = dict(blocks(report, Table)["software"].rows)
    assert told["Seed"] == str(run.settings["seed"])
    assert told["Cohort, SHA-256"] == run.cohort["sha256"]
    assert len(str(told["Cohort, SHA-256"])) == 64
    assert {"python", "autoprog", "numpy", "scikit-learn"} <= set(told)


@EVERY_KIND
def test_methods_are_paragraphs_with_references(kind: str) -> None:
    _, report = report_of(kind)
    methods = section(report, "methods")
    assert sum(isinstance(block, Paragraph) for block in methods.blocks) >= 4
    (references,) = (block for block in methods.blocks if isinstance(block, ItemList))
    assert len(references.items) >= 10
