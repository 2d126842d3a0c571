"""The section on how the model comes to a risk: contributions of the findings of typical patients."""

from __future__ import annotations

from autoprog.report.chart import Axis, Line, Mark, Panel, Points
from autoprog.report.digits import EMPTY, decimal, percentage, significant
from autoprog.report.document import Block, Column, Paragraph, Section, Table
from autoprog.report.phrases import listed
from autoprog.report.run import Document, ReportedRun
from autoprog.report.sections.explanation import MAX_HORIZONS, NOT_ASKED_FOR
from autoprog.report.sections.performance import figures
from autoprog.report.verdict import reasons_for_doubt
from autoprog.report.wording import input_name, rows_name, within

_DRAWN = 10
_TITLE = "How the model comes to a risk"
_LABELS = {"low": "Low risk", "middle": "Middling risk", "high": "High risk"}
_WITHHELD = "Withheld: the model knows no more than the average (see “Read this first”)."
_OF_VISITS = "Left out: of visits, an input has several columns, and no value is typical of them together."
_TOO_OLD = "Left out: the explanation was made before this program explained typical patients."
_TOO_FEW = "Left out: a fifth of the patients is too few to tell typical values of."


def contributions_section(run: ReportedRun) -> Section:
    """Contributions to a low, a middling and a high risk."""
    reason = _reason_to_leave_out(run)
    if reason is not None or run.explanation is None:
        return Section("contributions", _TITLE, left_out=reason)
    typical: Document = run.explanation["typical"]
    shown = [k for k, horizon in enumerate(_horizons(run)) if not reasons_for_doubt(run.ensemble, horizon)]
    if len(shown) > MAX_HORIZONS:
        shown = shown[-1:]
    k = shown[-1]
    blocks: list[Block] = [Paragraph(_how(run)), Paragraph(_risks(run, typical, shown))]
    caption = (
        f"Risk with the finding less risk without it{_within(run, k)}, in percentage points; the largest of each "
        "patient."
    )
    panels = [_panel(run, patient, k) for patient in typical["patients"]]
    alt = " ".join(_largest(run, patient, k) for patient in typical["patients"])
    blocks += figures("contributions-findings", "Contributions to the risks of typical patients", caption, panels, alt)
    blocks += [_table(run, typical, k, several=len(shown) > 1) for k in shown]
    return Section("contributions", _TITLE, tuple(blocks))


def _reason_to_leave_out(run: ReportedRun) -> str | None:
    if run.explanation is None:
        return NOT_ASKED_FOR
    typical = run.explanation.get("typical")
    if typical is None:
        return _OF_VISITS if run.words.row == "visit" else _TOO_OLD
    if not typical["patients"]:
        return _TOO_FEW
    return _WITHHELD if all(reasons_for_doubt(run.ensemble, horizon) for horizon in _horizons(run)) else None


def _horizons(run: ReportedRun) -> tuple[float | None, ...]:
    return run.horizons or (None,)


def _within(run: ReportedRun, k: int) -> str:
    return within(run, _horizons(run)[k])


def _how(run: ReportedRun) -> str:
    return (
        "A typical patient is nobody of the cohort: its values are the medians and most frequent levels of the fifth "
        f"of the {rows_name(run)} with the lowest, the middling or the highest risks out of fold. A contribution is "
        "the risk with a finding less the risk averaged over what the finding might be, given the others. "
        "Contributions do not add up to the risk, as findings that say the same stand in for each other. Risks are "
        "those of the ensemble refitted to a training fold, before the recalibration. All of this describes the "
        "model, and proves no cause."
    )


def _risks(run: ReportedRun, typical: Document, shown: list[int]) -> str:
    texts = []
    for k in shown:
        risks = [f"{percentage(each['risk'][k])} ({_LABELS[each['group']].lower()})" for each in typical["patients"]]
        texts.append(
            f"The risks of the typical patients{_within(run, k)} are {listed(risks)}; the mean of all "
            f"{rows_name(run)} is {percentage(typical['mean_risk'][k])}."
        )
    return " ".join(texts)


def _sorted(patient: Document, k: int) -> list[Document]:
    return sorted(patient["contributions"], key=lambda each: -abs(each["change"][k]))[:_DRAWN]


def _panel(run: ReportedRun, patient: Document, k: int) -> Panel:
    rows = _sorted(patient, k)[::-1]
    places = tuple(float(i) for i in range(len(rows)))
    change = tuple(100 * each["change"][k] for each in rows)
    low, high = min([0.0, *change]), max([0.0, *change])
    margin = 0.1 * ((high - low) or 1.0)
    marks: tuple[Mark, ...] = (
        Line((0.0, 0.0), (-0.5, len(rows) - 0.5), "reference"),
        Points(change, places, tuple(min(0.0, c) for c in change), tuple(max(0.0, c) for c in change)),
    )
    names = tuple(f"{input_name(run, each['feature'])}: {_value(each['value'])}" for each in rows)
    title = f"{_LABELS[patient['group']]}: {percentage(patient['risk'][k])}"
    x = Axis("Percentage points", low - margin, high + margin)
    return Panel(x, Axis("", -0.5, len(rows) - 0.5, categories=names), marks, title)


def _largest(run: ReportedRun, patient: Document, k: int) -> str:
    rows = _sorted(patient, k)[:3]
    parts = [f"{input_name(run, each['feature'])} {decimal(100 * each['change'][k], 1)}" for each in rows]
    return f"{_LABELS[patient['group']]}: {listed(parts)}." if parts else f"{_LABELS[patient['group']]}: no finding."


def _table(run: ReportedRun, typical: Document, k: int, *, several: bool) -> Table:
    columns, per_patient = [Column("Input")], []
    for patient in typical["patients"]:
        label = _LABELS[patient["group"]]
        columns += [Column(f"{label}: value", "number"), Column(f"{label}: contribution", "number")]
        per_patient.append({each["feature"]: each for each in patient["contributions"]})
    names = dict.fromkeys(each["feature"] for patient in typical["patients"] for each in patient["contributions"])
    rows = []
    for name in names:
        cells = [input_name(run, name)]
        for found in per_patient:
            each = found.get(name)
            cells += [EMPTY, EMPTY] if each is None else [_value(each["value"]), decimal(100 * each["change"][k], 1)]
        rows.append(tuple(cells))
    notes = ("Contributions in percentage points. A dash: a value that too few patients of the fifth have.",)
    title = f"Contributions to the risks of typical patients{_within(run, k)}"
    name = f"contributions-{k + 1}" if several else "contributions"
    return Table(name, title, tuple(columns), tuple(rows), notes)


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else significant(value)
