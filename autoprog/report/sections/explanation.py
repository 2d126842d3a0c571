"""The section on what the model looks at: importance, effects, learning curve, if an explanation was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoprog.performance import metric_direction
from autoprog.report.chart import Axis, Band, Line, Mark, Panel, Points
from autoprog.report.digits import bounded
from autoprog.report.document import Block, Column, Paragraph, Section, Table
from autoprog.report.phrases import upper_first
from autoprog.report.run import Document, ReportedRun
from autoprog.report.sections.performance import figures
from autoprog.report.sentences import METRIC_NAMES
from autoprog.report.wording import at_horizon, input_name, rows_name, within
from autoprog.ticks import round_ticks

MAX_HORIZONS = 4
_DRAWN, _LISTED, _EFFECTS = 15, 30, 8
_TITLE = "What the model looks at"
NOT_ASKED_FOR = (
    "Left out: nobody has asked for it. The search's page, `POST /v1/searches/{id}/explanation` and `importance()` in "
    "Python compute it."
)


def explanation_section(run: ReportedRun) -> Section:
    """Importance and effects of the inputs, and the learning curve."""
    found = run.explanation
    if found is None or not found["importance"]:
        return Section("explanation", _TITLE, left_out=NOT_ASKED_FOR)
    horizons = [each["horizon"] for each in found["importance"][0]["horizons"]]
    shown = list(enumerate(horizons)) if len(horizons) <= MAX_HORIZONS else [(len(horizons) - 1, horizons[-1])]
    blocks: list[Block] = [Paragraph(_how(run, found))]
    panels = [_importance_panel(run, found, k, horizon) for k, horizon in shown]
    caption = (
        "Loss of the AUC with the input exchanged at random among those held out, with 95 % intervals; the largest "
        "losses. Of two inputs that say the same, each seems unimportant, as the other remains."
    )
    blocks += figures("importance", "Importance of the inputs", caption, panels, "Points with intervals, by input.")
    blocks.append(_table(run, found, shown))
    blocks += _effects(run, found, horizons[-1])
    blocks += _learning_curve(run, found)
    return Section("explanation", _TITLE, tuple(blocks))


def _how(run: ReportedRun, found: Document) -> str:
    return (
        f"The members were refitted to {found['folds']} training folds, with their settings and weights, and each "
        f"input of the {rows_name(run)} held out was exchanged {found['shuffles']} times. Risks are those before the "
        "recalibration. All of this describes the model, and proves no cause."
    )


def _auc(measures: Document) -> Document:
    auc: Document = measures["auc_roc"] if "auc_roc" in measures else measures["auc"]
    return auc


def _importance_panel(run: ReportedRun, found: Document, k: int, horizon: float | None) -> Panel:
    rows = sorted(
        ((each["feature"], _auc(each["horizons"][k]["measures"])) for each in found["importance"]),
        key=lambda row: -(row[1]["estimate"] or 0.0),
    )[:_DRAWN][::-1]
    places = tuple(float(i) for i in range(len(rows)))
    parts = {key: tuple(auc[key] for _, auc in rows) for key in ("estimate", "lower", "upper")}
    ends = [v for values in parts.values() for v in values if v is not None]
    low, high = min([0.0, *ends]), max([0.01, *ends])
    margin = 0.05 * (high - low)
    marks: tuple[Mark, ...] = (
        Line((0.0, 0.0), (-0.5, len(rows) - 0.5), "reference"),
        Points(parts["estimate"], places, parts["lower"], parts["upper"]),
    )
    names = tuple(input_name(run, feature) for feature, _ in rows)
    y = Axis("", -0.5, len(rows) - 0.5, categories=names)
    return Panel(Axis("Loss of the AUC", low - margin, high + margin), y, marks, at_horizon(run, horizon))


def _table(run: ReportedRun, found: Document, shown: Sequence[tuple[int, float | None]]) -> Table:
    columns = [Column("Input")]
    for _, horizon in shown:
        where = within(run, horizon)
        columns += [Column(f"Loss of the AUC{where}", "number"), Column(f"Rise of the Brier score{where}", "number")]
    rows = []
    for each in found["importance"][:_LISTED]:
        cells = [input_name(run, each["feature"])]
        for k, _ in shown:
            measures = each["horizons"][k]["measures"]
            cells += [bounded(_auc(measures)), bounded(measures["brier"])]
        rows.append(tuple(cells))
    n = len(found["importance"])
    notes = (f"The {_LISTED} most important of {n}.",) if n > _LISTED else ()
    return Table("importance-table", "Importance of the inputs", tuple(columns), tuple(rows), notes)


def _effects(run: ReportedRun, found: Document, horizon: float | None) -> Iterator[Block]:
    panels = [_effect_panel(run, each) for each in found["effects"][:_EFFECTS]]
    if not panels:
        return
    last = within(run, horizon)
    caption = (
        f"Change of the risk{last} beside its mean, in percentage points: accumulated local effects of numbers, mean "
        "risks by level of others, out of fold."
    )
    yield from figures("effects", "How the risk changes", caption, panels, "Lines of numbers, points of levels.")


def _effect_panel(run: ReportedRun, effect: Document) -> Panel:
    change = tuple(100 * each[-1] for each in effect["change"])
    low, high = min([0.0, *change]), max([0.0, *change])
    margin = 0.1 * ((high - low) or 1.0)
    points = Axis("Percentage points", low - margin, high + margin)
    name = input_name(run, effect["feature"])
    if effect["kind"] == "levels":  # from the top down, as names of levels have no room side by side
        n = len(change)
        places = tuple(float(n - 1 - i) for i in range(n))
        marks: tuple[Mark, ...] = (Line((0.0, 0.0), (-0.5, n - 0.5), "reference"), Points(change, places))
        levels = Axis("", -0.5, n - 0.5, categories=tuple(map(str, reversed(effect["at"]))))
        return Panel(points, levels, marks, name)
    at = tuple(float(value) for value in effect["at"])
    marks = (Line((at[0], at[-1]), (0.0, 0.0), "reference"), Line(at, change))
    return Panel(Axis(name, at[0], at[-1]), points, marks, name, 0.7)


def _learning_curve(run: ReportedRun, found: Document) -> Iterator[Block]:
    points = [each for each in found["learning_curve"]["points"] if each["estimate"] is not None]
    if len(points) < 2:
        return
    n = tuple(float(each["n_patients"]) for each in points)
    parts = {key: tuple(each[key] for each in points) for key in ("estimate", "lower", "upper")}
    ends = [v for values in parts.values() for v in values if v is not None]
    ticks = round_ticks(min(ends), max(ends))
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 0.05
    marks: tuple[Mark, ...] = (
        Band(n, parts["lower"], parts["upper"]),
        Line(n, parts["estimate"]),
        Points(n, parts["estimate"]),
    )
    name = found["learning_curve"]["metric"]
    metric, improves = METRIC_NAMES.get(name, name), "rises" if metric_direction(name).greater_is_better else "falls"
    caption = (
        f"The search's metric, {metric}, of the ensemble fitted to fewer {rows_name(run)}, out of fold, with 95 % "
        f"intervals. A curve that still {improves} at its end says that more would give a better model."
    )
    panel = Panel(
        Axis(f"{rows_name(run).capitalize()} fitted to", 0.0, n[-1]),
        Axis(upper_first(metric), ticks[0] - step, ticks[-1] + step),
        marks,
        height=0.7,
    )
    yield from figures("learning-curve", "Learning curve", caption, [panel], "A line with a band.")
