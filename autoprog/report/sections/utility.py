"""Sections on what the model is good for: decision curves, thresholds, strata, subgroups, instability, rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from autoprog.cohort import Feature
from autoprog.endpoints import list_parts
from autoprog.interpreter import Condition, Rule
from autoprog.report.chart import Axis, Band, Chart, Line, Mark, NumbersAtRisk, Panel, Points, Style, values
from autoprog.report.digits import EMPTY, bounded, decimal, percentage
from autoprog.report.document import Block, Column, Figure, ItemList, Notice, Paragraph, Section, Table
from autoprog.report.phrases import MOST_DIGITS, quoted
from autoprog.report.run import Document, ReportedRun
from autoprog.report.sections.performance import figures, round_end
from autoprog.report.verdict import keep_known, reasons_for_doubt
from autoprog.report.wording import (
    at_horizon,
    band_limits,
    horizon_text,
    outcome_name,
    outcome_within,
    rows_name,
    within,
)

_STYLES: tuple[Style, ...] = ("first", "second", "third", "fourth")
_BELOW_ZERO = 0.25  # share of the height shown below 0: treating all falls without end and is of no use there
_NOTE_WORDS = (
    ("stratum_probability is", "The probability is"),
    ("observed_event_rate is", "the observed share is"),
    ("; support is the share of all [a-z]+ that match", ""),
    ("held_out has those of (.+?) who had no part in it", r"\1 had no part in it"),
    ("fidelity says", "Their agreement with the model says"),
)
_WITHHELD = (
    "Withheld: the model knows no more than the average (see “Read this first”), so that its strata mean nothing."
)


def utility_section(run: ReportedRun, found: Document, *, external: bool = False) -> Section:
    """Decision curves with bands, and decisions at round thresholds."""
    name = "validation-net-benefit" if external else "net-benefit"
    title = "Decisions by the model" + (f" in {run.validated_patients}" if external else "")
    per = [(horizon, part.get("net_benefit"), part.get("operating")) for horizon, part in list_parts(found)]
    drawn = [(horizon, curve) for horizon, curve, _ in per if curve and curve.get("model")]
    if not drawn:
        return Section(name, title, left_out="Left out: no decision curve was stored.")
    caption = (
        "Net benefit, in true positives per hundred "
        f"{rows_name(run)}, of treating those whose risk reaches the threshold; a false positive costs "
        "threshold / (1 − threshold) of one. Bands: pointwise 95 % intervals. At a threshold the "
        "highest line is the best "
        "way to decide."
    )
    panels = [_decision_panel(run, horizon, curve) for horizon, curve in drawn]
    alt = "Lines: the model, the simple model if there is one, treating everybody and treating nobody."
    blocks: list[Block] = list(figures(f"{name}-curve", "Decision curve", caption, panels, alt))
    for horizon, curve, operating in per:
        if operating:
            blocks.append(_threshold_table(run, horizon, curve, operating, name))
    return Section(name, title, tuple(blocks))


def _decision_panel(run: ReportedRun, horizon: float | None, curve: Document) -> Panel:
    t = curve["thresholds"]
    useful = [x for x, benefit in zip(t, curve["model"], strict=True) if benefit is not None and benefit > 0]
    end = round_end(max([curve["range"][1], *useful]))
    keep = [k for k, x in enumerate(t) if x <= end + 1e-9]

    def part(numbers: list[float | None]) -> tuple[float | None, ...]:
        return tuple(None if numbers[k] is None else 100 * float(numbers[k] or 0.0) for k in keep)

    x = tuple(t[k] for k in keep)
    lines: list[tuple[str, Style, str]] = [
        ("treat_none", "none", "treat nobody"),
        ("treat_all", "all", "treat everybody"),
        ("baseline", "simple", "simple model"),
        ("model", "model", "model"),
    ]
    marks: list[Mark] = []
    for key, style, label in lines:
        if curve.get(key) is not None:
            if interval := curve.get(f"{key}_interval"):
                marks.append(Band(x, part(interval["lower"]), part(interval["upper"]), style))
            marks.append(Line(x, part(curve[key]), style, label))
    tops = [v for mark in marks if isinstance(mark, Line) for v in mark.y if v is not None]
    top = round_end(max([*tops, 0.1]), 100.0)
    where = at_horizon(run, horizon)
    return Panel(
        Axis("Threshold risk", 0, end, percent=True),
        Axis("Net benefit per hundred", -_BELOW_ZERO * top, top),
        tuple(marks),
        where,
    )


def _threshold_table(
    run: ReportedRun, horizon: float | None, curve: Document | None, operating: Document, name: str
) -> Table:
    columns = (
        "Threshold",
        "Sensitivity (%)",
        "Specificity (%)",
        "PPV (%)",
        "NPV (%)",
        "Net benefit per hundred",
        "Alerts per hundred",
    )
    rows = []
    for row in operating["thresholds"]:
        shares = [bounded(row[key], percent=True) for key in ("sensitivity", "specificity", "ppv", "npv")]
        benefit = _net_benefit(curve, row["threshold"])
        rows.append((f"{100 * row['threshold']:g} %", *shares, benefit, bounded(row["alerts"], percent=True)))
    where = within(run, horizon)
    notes = [
        (
            f"A {run.words.row} whose risk reaches the threshold is positive. PPV, NPV: positive and negative "
            f"predictive value. Alerts: positives per hundred {rows_name(run)}. Brackets hold 95 % intervals, for "
            "shares Wilson's."
        ),
    ]
    if horizon is not None:
        notes.append("Weighted by the inverse probability of being uncensored.")
    suffix = "" if horizon is None else f"-{horizon:g}"
    kinds = (Column(columns[0]), *(Column(title, "number") for title in columns[1:]))
    whose = f" in {run.validated_patients}" if name.startswith("validation") else ""
    return Table(
        f"{name}-thresholds{suffix}", f"Decisions by threshold{where}{whose}", kinds, tuple(rows), tuple(notes)
    )


def _net_benefit(curve: Document | None, threshold: float) -> str:
    """Net benefit at a threshold: the decision curve has a point at every hundredth and at the range's ends."""
    if curve is None:
        return EMPTY
    k = next((k for k, t in enumerate(curve["thresholds"]) if abs(t - threshold) < 1e-6), None)
    if k is None or curve["model"][k] is None:
        return EMPTY
    ends = curve.get("model_interval") or {}
    parts = [curve["model"][k], *(ends[end][k] for end in ("lower", "upper") if end in ends)]
    texts = [decimal(None if value is None else 100 * value, 1) for value in parts]
    return texts[0] if len(texts) < 3 else f"{texts[0]} ({texts[1]} to {texts[2]})"


def strata_section(run: ReportedRun) -> Section:
    """Risk strata, what was observed in them, and the incidence over time."""
    name, title = "strata", "Risk strata"
    stored = run.ensemble.get("strata")
    bands = stored if stored is not None else run.rules["strata"]
    shown = keep_known(run.ensemble, bands)
    if not shown:
        return Section(name, title, left_out=_WITHHELD)
    total = run.n_rows
    columns = [
        *(Column(key.capitalize()) for key in run.kind.band_keys),
        Column("Stratum"),
        Column("Predicted risk (%)", "number"),
    ]
    columns += [
        Column(rows_name(run).capitalize(), "number"),
        Column("Mean predicted (%)", "number"),
        Column("Observed (%)", "number"),
    ]
    rows = []
    for band in shown:
        where = [horizon_text(run, band[key]) for key in run.kind.band_keys]
        n = f"{band['n']:,} ({percentage(band['n'] / total)})" if "n" in band else percentage(band["fraction"])
        mean = decimal(None if band.get("risk") is None else 100 * band["risk"], 1)
        rows.append((*where, band["name"], band_limits(band), n, mean, bounded(band.get("observed"), percent=True)))
    notes = [
        (
            "Strata are formed by out-of-fold risks. Observed: share with the outcome, for event times the "
            "Aalen-Johansen estimate by the horizon."
        ),
        *(run.kind.strata(run) or ("Brackets hold 95 % intervals.",)),
    ]
    blocks: list[Block] = [Table(name, f"Risk strata: {outcome_name(run)}", tuple(columns), tuple(rows), tuple(notes))]
    if any(reasons_for_doubt(run.ensemble, band[key]) for band in bands for key in run.kind.band_keys):
        blocks.insert(0, Notice("Strata of the horizons at which the model knows nothing are withheld.", "info"))
    blocks += _incidence_figure(run, shown)
    return Section(name, title, tuple(blocks))


def _incidence_figure(run: ReportedRun, bands: list[Document]) -> Iterator[Block]:
    drawn = [band for band in bands if band.get("curve")]
    if not drawn:
        return
    horizon = drawn[0]["horizon"]
    marks: list[Mark] = []
    for style, band in zip(_STYLES, drawn, strict=False):
        curve = band["curve"]
        x = values(curve["times"])
        marks.append(Band(x, values(curve["lower"]), values(curve["upper"]), style, stepped=True))
        marks.append(Line(x, values(curve["estimate"]), style, f"{band['name']} risk", stepped=True))
    top = max(v for mark in marks if isinstance(mark, Line) for v in mark.y if v is not None)
    unit = run.outcome.get("time_unit") or f"unit of {quoted(str(run.outcome.get('time')))}"
    at_risk = NumbersAtRisk(
        tuple(drawn[0]["curve"]["at_risk_times"]),
        tuple((band["name"], tuple(band["curve"]["at_risk"])) for band in drawn),
    )
    estimate = "Cumulative incidence (Aalen-Johansen)" if run.competing else "Kaplan-Meier estimate of the incidence"
    pointwise = "" if run.unsplit else ", with pointwise 95 % intervals"
    caption = f"{estimate} by risk stratum{pointwise}; below, the {rows_name(run)} at risk."
    panel = Panel(
        Axis(f"Time ({unit})", 0, horizon),
        Axis("Incidence", 0, round_end(top), percent=True),
        tuple(marks),
        "",
        0.7,
        at_risk,
    )
    alt = "; ".join(f"{b['name']} risk: {bounded(b['observed'], percent=True)} %" for b in drawn)
    title = f"{outcome_within(run, horizon)} by risk stratum"
    yield Figure("incidence", title, caption, f"{title}. {alt}.", Chart((panel,)))


def subgroups_section(run: ReportedRun, found: Document, *, external: bool = False) -> Section:
    """Performance by subgroup, and the differences from the first of each feature."""
    name = "validation-subgroups" if external else "subgroups"
    title = "Subgroups" + (f" in {run.validated_patients}" if external else "")
    groups = found.get("subgroups") or ()
    if not groups:
        return Section(
            name, title, left_out="Left out: no feature was named or recognised as sex or age, and none was asked for."
        )
    references: dict[str, Document] = {}
    rows = []
    for group in groups:
        area = group.get("auc_roc") or group.get("auc")
        reference = references.setdefault(group["feature"], group) if area else None
        difference = (
            EMPTY if reference is None else "reference" if reference is group else _difference(group, reference)
        )
        rows.append(
            (
                f"{run.labels.get(group['feature'], group['feature'])}: {group['label']}",
                "fewer than 10" if group["n"] is None else f"{group['n']:,}",
                EMPTY if group["events"] is None else f"{group['events']:,}",
                bounded(area),
                difference,
                bounded(group["brier"]),
                bounded(group["expected_observed"]),
            )
        )
    titles = (
        rows_name(run).capitalize(),
        "Events",
        "Area under the ROC curve",
        "Difference",
        "Brier score",
        "Expected / observed",
    )
    few = "10 patients or 2 groups" if run.unit == "group" else "10 patients"
    notes = (
        (
            "Difference of the areas from the first group of the same feature that could be measured, with a 95 % "
            f"interval for independent groups. A dash: fewer than {few} with, or without, the outcome."
        ),
        *run.kind.subgroups,
    )
    columns = (Column("Group"), *(Column(text, "number") for text in titles))
    return Section(name, title, (Table(name, "Performance by subgroup", columns, tuple(rows), notes),))


def _difference(group: Document, reference: Document) -> str:
    """Difference of two independent areas, by the half-widths of their intervals towards each other (MOVER)."""
    # Newcombe 1998, Stat Med 17:873; Zou & Donner 2008, Stat Med 27:1693.
    a, b = (each.get("auc_roc") or each["auc"] for each in (group, reference))
    d = a["estimate"] - b["estimate"]
    below = ((a["estimate"] - a["lower"]) ** 2 + (b["upper"] - b["estimate"]) ** 2) ** 0.5
    above = ((a["upper"] - a["estimate"]) ** 2 + (b["estimate"] - b["lower"]) ** 2) ** 0.5
    return bounded({"estimate": d, "lower": d - below, "upper": d + above})


def instability_section(run: ReportedRun) -> Section:
    """How much risks change when the ensemble is refitted to resampled patients."""
    name, title = "instability", "Instability"
    found = [(horizon, told) for horizon, part in list_parts(run.ensemble) if (told := part.get("instability"))]
    if not found:
        return Section(
            name,
            title,
            left_out="Left out: the ensemble was not refitted to resampled patients, as time did not allow it.",
        )
    text = []
    panels = []
    for horizon, each in found:
        where = within(run, horizon)
        text.append(
            f"Over {each['n_refits']} refits the risks{where} differ from the model's by "
            f"{decimal(100 * each['mape'], 1)} "
            f"percentage points on average; for nine of ten patients by less than {decimal(100 * each['mape_90'], 1)}."
        )
        if each.get("points"):
            panels += _instability_panels(run, horizon, each)
    caption = (
        "Left: risks of patients by the model and by refits that did not use them. Right: calibration "
        "curves of the refits."
    )
    blocks: list[Block] = [Paragraph(" ".join(text))]
    blocks += figures("instability-risks", "Instability of the risks", caption, panels, text[-1])
    return Section(name, title, tuple(blocks))


def _instability_panels(run: ReportedRun, horizon: float | None, each: Document) -> list[Panel]:
    x, y = (tuple(float(point[k]) for point in each["points"]) for k in (0, 1))
    risks = values(each["risks"])
    end = round_end(max([*x, *y, *(v for curve in each["curves"] for v in curve), *each["risks"]]))
    diagonal = Line((0, end), (0, end), "reference")
    where = at_horizon(run, horizon)
    model = Axis("Risk by the model", 0, end, percent=True)
    refits = tuple(Line(risks, values(curve), "all") for curve in each["curves"])
    return [
        Panel(model, Axis("Risk by a refit", 0, end, percent=True), (diagonal, Points(x, y)), where),
        Panel(
            Axis("Risk by the refit", 0, end, percent=True),
            Axis("Observed frequency", 0, end, percent=True),
            (diagonal, *refits),
            where,
        ),
    ]


def rules_section(run: ReportedRun) -> Section:
    """Rules that describe whom the model places in which stratum."""
    name, title = "rules", "Rules"
    rules = keep_known(run.ensemble, run.rules["rules"])
    if not rules and run.rules["rules"]:
        return Section(name, title, left_out=_WITHHELD.replace("strata", "rules"))
    if not rules:
        return Section(name, title, (Paragraph("No rule stands out from the base rate."),))
    features = [Feature(name=f["name"], kind=f["kind"], unit=f["unit"]) for f in run.features]
    items = []
    for document in rules:
        rule = Rule.from_json(document)
        units = {f.name: f.unit for f in features}
        conditions = " and ".join(_condition(run, c, units.get(c.feature)) for c in rule.conditions)
        p, rate = rule.stratum_probability, rule.observed_event_rate
        where = within(run, rule.horizon)
        observed = "an unknown share" if rate.estimate is None else percentage(rate.estimate)
        of = run.words.counted(rate.n)
        items.append(
            f"{conditions}: {rule.stratum} risk{where} with probability {decimal(p.mean, 2)} (90 % interval "
            f"{decimal(p.lower, 2)} to {decimal(p.upper, 2)}); {observed} of {of} had the outcome."
        )
    blocks: list[Block] = [Paragraph(_in_words(str(run.rules["note"]))), ItemList(tuple(items), numbered=True)]
    blocks += [Paragraph(text) for text in _fidelities(run)]
    return Section(name, title, tuple(blocks))


def _condition(run: ReportedRun, condition: Condition, unit: str | None) -> str:
    """A condition with its feature's label; a cut with many digits is rounded to six."""
    value = condition.value
    is_short = isinstance(value, str) or len(f"{value:.12g}") <= MOST_DIGITS
    rounded = value if is_short else float(f"{value:.6g}")
    shown = replace(condition, feature=run.labels.get(condition.feature, condition.feature), value=rounded)
    return shown.in_words(unit).replace(">=", "≥")


def _in_words(note: str) -> str:
    """The note on the rules without the names that their documents use."""
    for name, words in _NOTE_WORDS:
        note = re.sub(name, words, note)
    return note


def _fidelities(run: ReportedRun) -> Iterator[str]:
    for horizon, part in list_parts(run.rules):
        fidelity = part.get("fidelity")
        if fidelity is not None and not reasons_for_doubt(run.ensemble, horizon):
            where = within(run, horizon)
            yield (
                f"In {percentage(fidelity['agreement'])} of the {run.words.counted(fidelity['n'])} who had no part in "
                f"finding them, the rules alone give the model's stratum{where} (kappa "
                f"{decimal(fidelity['kappa'], 2)}; 1 is agreement, 0 chance). A {run.words.row} that no rule matches "
                f"counts as {fidelity['default']}."
            )
