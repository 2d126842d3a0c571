"""Sections on performance: measures beside the simple model's, ROC and precision-recall, calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoprog.endpoints import curve_risks, list_parts
from autoprog.performance import MEASURES
from autoprog.report import sentences as say
from autoprog.report.chart import Axis, Band, Bars, Chart, Line, Panel, Points, values
from autoprog.report.digits import EMPTY, bounded, measured, percentage
from autoprog.report.document import Block, Column, Figure, Paragraph, Section, Table
from autoprog.report.phrases import DIFFERENCE_DECIMALS, SAME_MODEL, number, upper_first
from autoprog.report.run import Document, ReportedRun
from autoprog.report.wording import at_horizon, cause_name, pipeline_name, rows_name, within
from autoprog.ticks import round_ticks

_PANELS = 4  # of a figure; more horizons and causes make more figures
_OF_HORIZONS = (
    ("auc", "area under the ROC curve"),
    ("brier", "Brier score"),
    ("brier_skill", "Brier skill score"),
    ("expected_observed", "expected / observed events"),
    ("slope", "calibration slope"),
    ("intercept", "calibration intercept"),
    ("ici", "integrated calibration index"),
)
_BETTER = {"greater": "higher", "smaller": "lower", "target 1": "1", "target 0": "0"}


def performance_section(run: ReportedRun, measured_in: Document, *, external: bool = False) -> Section:
    """Measures of the ensemble, or of a validation of the model, and the curves of its decisions."""
    blocks: list[Block] = [Paragraph(_whose(run, external=external))]
    if measured_in.get("performance"):
        blocks.append(_binary_table(run, measured_in, external=external))
    blocks += [_horizon_table(run, each, external=external) for each in measured_in.get("horizons") or ()]
    blocks += _gains(run, measured_in)
    blocks += _operating_figures(run, measured_in, external=external)
    name, title = _name("performance", external=external), _title(run, "Performance", external=external)
    return Section(name, title, tuple(blocks))


def _name(name: str, *, external: bool) -> str:
    return f"validation-{name}" if external else name


def _title(run: ReportedRun, title: str, *, external: bool) -> str:
    return f"{title} in {run.validated_patients}" if external else title


def _whose(run: ReportedRun, *, external: bool) -> str:
    if external:
        others = "All figures of this section are of patients from whom the model has not learnt."
        return say.apparent_performance(run) or others
    score = run.ensemble["score"]
    _, _, corrected = str(score["method"]).partition(" of out-of-fold risks")
    metric = upper_first(say.metric_name(run))
    method = f" {metric}, by which the search chose, is {bounded(score)}{corrected}."
    if not run.has_choice:
        method = f" {metric} of the only pipeline that was scored is {bounded(score)}."
    return (
        f"All figures are of out-of-fold risks: each of the {rows_name(run)} was given a risk by "
        "pipelines that had not "
        f"seen the patient, recalibrated by other patients. Brackets hold 95 % intervals.{method}"
    )


def _binary_table(run: ReportedRun, found: Document, *, external: bool) -> Table:
    baseline = None if external else (run.baseline or {}).get("performance")
    columns = [Column("Measure"), Column("Model", "number")]
    if baseline:
        columns.append(Column("Simple model", "number"))
    columns.append(Column("Better"))
    rows = []
    for measure in MEASURES.values():
        cells = [upper_first(measure.title), measured(found["performance"], measure.name)]
        if baseline:
            cells.append(measured(baseline, measure.name))
        rows.append((*cells, _BETTER[measure.direction]))
    low, high = found["performance"]["thresholds"]
    notes = [
        (
            f"Net benefit in true positives per {run.words.row}, mean over thresholds from "
            f"{percentage(low)} to {percentage(high)}."
        ),
    ]
    if baseline and run.baseline:
        notes.append(f"Simple model: {pipeline_name(run.baseline['configuration'])}, on the same folds.")
    if (smoothing := found["performance"].get("smoothing")) is not None:
        notes.append(f"Calibration curve of the index: {smoothing}; by chance it is above 0 in every model.")
    return Table(
        _name("measures", external=external),
        _title(run, "Performance", external=external),
        tuple(columns),
        tuple(rows),
        tuple(notes),
    )


def _horizon_table(run: ReportedRun, each: Document, *, external: bool) -> Table:
    horizon = each["horizon"]
    groups: list[tuple[str, Document | None]] = [("Model", each["performance"])]
    if each.get("baseline"):
        groups.append(("Simple model", each["baseline"]))
    groups += [(cause_name(run, c["cause"]), c["performance"]) for c in each.get("causes") or ()]
    columns = (Column("Measure"), *(Column(title, "number") for title, _ in groups))
    rows = [
        (upper_first(title), *(EMPTY if p is None else measured(p, name) for _, p in groups))
        for name, title in _OF_HORIZONS
    ]
    observed = tuple(EMPTY if p is None else bounded(p["observed"], percent=True) for _, p in groups)
    notes = [
        (
            "Observed: Aalen-Johansen estimate. Area under the curve: cases until the horizon against those "
            "free of the event "
            "then; Brier score weighted by the inverse probability of being uncensored; slope on the scale of "
            "log(−log(1 − risk)) (McLernon et al. 2023)."
        ),
        *(f"{cause_name(run, c['cause'])}: {c['reason']}." for c in each.get("causes") or () if c.get("reason")),
    ]
    return Table(
        _name(f"measures-{horizon:g}", external=external),
        _title(run, f"Performance{within(run, horizon)}", external=external),
        columns,
        (("Observed incidence (%)", *observed), *rows),
        tuple(notes),
    )


def _gains(run: ReportedRun, found: Document) -> list[Block]:
    rows = [
        (at_horizon(run, horizon), str(_GAINS.get(name, name)), bounded(gain, decimals=DIFFERENCE_DECIMALS))
        for horizon, part in list_parts(found)
        for name, gain in (part.get("gain_over_baseline") or {}).items()
    ]
    if not rows:
        return []
    table = Table(
        "gains",
        "Model less simple model, on the same patients",
        (Column("Horizon"), Column("Measure"), Column("Difference", "number"))
        if rows[0][0]
        else (Column("Measure"), Column("Difference", "number")),
        tuple(row if rows[0][0] else row[1:] for row in rows),
        (SAME_MODEL if run.is_simple else "Where the interval holds 0, these patients do not tell the two apart.",),
    )
    return [table]


_GAINS = {
    "auc_roc": "Area under the ROC curve",
    "auc": "Area under the ROC curve",
    "brier": "Brier score (lower is better)",
    "net_benefit": "Net benefit",
}


def _operating(found: Document) -> list[tuple[float | None, Document]]:
    """Decisions at every horizon, where they were stored."""
    return [(horizon, operating) for horizon, part in list_parts(found) if (operating := part.get("operating"))]


def _operating_figures(run: ReportedRun, found: Document, *, external: bool) -> Iterator[Block]:
    stored = _operating(found)
    share = "The dashed line is the share that has the outcome."
    for name, title, caption, alt, draw in (
        ("roc", "Receiver operating characteristic", "The diagonal is that of a coin toss.", _areas(found), _roc_panel),
        ("precision-recall", "Precision and recall", share, _precision(found), _precision_panel),
    ):
        panels = [draw(run, horizon, operating, found) for horizon, operating in stored]
        band = "Band: pointwise 95 % interval of a bootstrap."
        yield from figures(
            _name(name, external=external),
            _title(run, title, external=external),
            f"{caption} {band}",
            panels,
            alt,
        )


def _areas(found: Document) -> str:
    if found.get("performance"):
        return f"Area under the ROC curve {measured(found['performance'], 'auc_roc')}."
    areas = (f"{number(h)}: {measured(part['performance'], 'auc')}" for h, part in list_parts(found) if h is not None)
    return f"Area under the ROC curve by horizon: {'; '.join(areas)}."


def _precision(found: Document) -> str:
    if found.get("performance"):
        return f"Average precision {measured(found['performance'], 'auc_prc')}."
    return "Positive predictive value by sensitivity, a panel for each horizon."


def _roc_panel(run: ReportedRun, horizon: float | None, operating: Document, _: Document) -> Panel:
    roc = operating["roc"]
    x = values(roc["false_positive_rate"])
    return Panel(
        Axis("1 − specificity", 0, 1, percent=True),
        Axis("Sensitivity", 0, 1, percent=True),
        (
            Band(x, values(roc["lower"]), values(roc["upper"])),
            Line((0, 1), (0, 1), "reference"),
            Line(x, values(roc["sensitivity"])),
        ),
        at_horizon(run, horizon),
    )


def _precision_panel(run: ReportedRun, horizon: float | None, operating: Document, found: Document) -> Panel:
    curve = operating["precision_recall"]
    x = values(curve["sensitivity"])
    rate = _rate(run, horizon, found)
    return Panel(
        Axis("Sensitivity (recall)", 0, 1, percent=True),
        Axis("Positive predictive value", 0, 1, percent=True),
        (
            Band(x, values(curve["lower"]), values(curve["upper"])),
            Line((0, 1), (rate, rate), "reference"),
            Line(x, values(curve["ppv"])),
        ),
        at_horizon(run, horizon),
    )


def _rate(run: ReportedRun, horizon: float | None, found: Document) -> float:
    for each in found.get("horizons") or ():
        if each["horizon"] == horizon:
            return float(each["performance"]["observed"]["estimate"])
    if "n_events" in found:  # of other patients
        return float(found["n_events"]) / float(found.get("n_rows") or found["n_patients"])
    return float(run.cohort["event_rate"])


def calibration_section(run: ReportedRun, found: Document, *, external: bool = False) -> Section:
    """Calibration curves with their bands, at every horizon and of every cause, and where the risks lie."""
    name, title = _name("calibration", external=external), _title(run, "Calibration", external=external)
    panels = list(_calibration_panels(run, found))
    if not panels:
        return Section(
            name, title, left_out="Left out: no calibration curve was stored, or the risks separate the outcomes."
        )
    caption = (
        "Observed frequency by predicted risk, smoothed. Band: pointwise 95 % interval. On the dashed "
        "diagonal the risks "
        "are right; above it they are too low."
    )
    caption += run.kind.dots
    blocks: list[Block] = [Paragraph(_calibration_text(run, found))]
    blocks += figures(f"{name}-curve", title, caption, panels, _calibration_text(run, found))
    blocks += _distribution(run, found, external=external)
    return Section(name, title, tuple(blocks))


def _calibration_text(run: ReportedRun, found: Document) -> str:
    calibration = found["calibration"]
    ratio = measured(list_parts(found)[-1][1]["performance"], "expected_observed")
    text = (
        f"Calibration slope{run.kind.last} {bounded(calibration['slope'])} (ideal: 1), intercept "
        f"{bounded(calibration['intercept'])} (ideal: 0), expected over observed events {ratio} (ideal: 1)."
    )
    if found.get("d_calibration"):
        p = float(found["d_calibration"]["p_value"])
        value = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
        text += (
            f" D-calibration: {value}; a small value speaks against the predicted distribution of times; a large one "
            "proves nothing, as censored patients raise it (Haider et al. 2020)."
        )
    return text


def _calibration_panels(run: ReportedRun, found: Document) -> Iterator[Panel]:
    if found.get("calibration_curve"):
        yield _calibration_panel(found["calibration_curve"], None, "")
    for each in found.get("horizons") or ():
        where = at_horizon(run, each["horizon"])
        if each.get("calibration_curve"):
            yield _calibration_panel(each["calibration_curve"], each.get("calibration_groups"), where)
        for cause in each.get("causes") or ():
            if cause.get("calibration_curve"):
                yield _calibration_panel(
                    cause["calibration_curve"],
                    None,
                    f"{cause_name(run, cause['cause'])},{within(run, each['horizon'])}",
                )


def _calibration_panel(curve: Document, groups: Document | None, title: str) -> Panel:
    x, y = values(curve_risks(curve)), values(curve["observed"])
    lower, upper = values(curve["lower"]), values(curve["upper"])
    dots = () if groups is None else (Points(values(groups["risk"]), values(groups["observed"])),)
    known = [v for part in (x, y, *(d.x for d in dots), *(d.y for d in dots)) for v in part if v is not None]
    end = round_end(max(known))
    return Panel(
        Axis("Predicted risk", 0, end, percent=True),
        Axis("Observed frequency", 0, end, percent=True),
        (Band(x, lower, upper), Line((0, end), (0, end), "reference"), Line(x, y), *dots),
        title,
    )


def round_end(largest: float, most: float = 1.0) -> float:
    """The next round number, for the end of an axis of shares."""
    if largest <= 0:
        return most
    ticks = round_ticks(0.0, largest)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else largest
    end = ticks[-1] if ticks[-1] >= largest - 1e-9 else ticks[-1] + step
    return min(most, round(end, 9))


def _distribution(run: ReportedRun, found: Document, *, external: bool) -> Iterator[Block]:
    panels = []
    if found.get("risk_distribution"):
        shown = found["risk_distribution"]
        below = tuple(-float(n) for n in shown["without_outcome"])
        above = tuple(float(n) for n in shown["with_outcome"])
        ends = round_end(max(*above, 1), 1e12), round_end(max(*(-b for b in below), 1), 1e12)
        marks = (
            Bars(tuple(shown["edges"]), above, "simple", "with the outcome"),
            Bars(tuple(shown["edges"]), below, "all", "without the outcome (downwards)"),
        )
        panels.append(
            Panel(
                Axis("Predicted risk", 0, 1, percent=True),
                Axis(rows_name(run).capitalize(), -ends[1], ends[0], absolute=True),
                marks,
                "",
                0.5,
            )
        )
    for each in found.get("horizons") or ():
        if each.get("risk_distribution"):
            shown = each["risk_distribution"]
            counts = tuple(float(n) for n in shown["patients"])
            y = Axis(rows_name(run).capitalize(), 0, round_end(max(*counts, 1), 1e12))
            x = Axis("Predicted risk", 0, 1, percent=True)
            panels.append(Panel(x, y, (Bars(tuple(shown["edges"]), counts),), at_horizon(run, each["horizon"]), 0.5))
    caption = f"Number of {rows_name(run)} by predicted risk, in twenty bins."
    yield from figures(
        _name("risks", external=external),
        _title(run, "Distribution of the predicted risks", external=external),
        caption,
        panels,
        caption,
    )


def figures(name: str, title: str, caption: str, panels: Sequence[Panel], alt: str) -> Iterator[Figure]:
    """One figure of some panels, or several of four panels each."""
    parts = [panels[k : k + _PANELS] for k in range(0, len(panels), _PANELS)]
    for k, part in enumerate(parts, 1):
        suffix = f"-{k}" if len(parts) > 1 else ""
        of = f" (part {k} of {len(parts)})" if len(parts) > 1 else ""
        yield Figure(
            f"{name}{suffix}", f"{title}{of}", caption, f"{title}. {alt}", Chart(tuple(part), min(2, len(part)))
        )
