"""What was found, in figures."""

from __future__ import annotations

from autoprog.endpoints import list_parts
from autoprog.report.digits import decimal
from autoprog.report.phrases import (
    DIFFERENCE_DECIMALS,
    SAME_MODEL,
    estimate,
    listed,
    quoted,
    upper_first,
    with_bounds,
)
from autoprog.report.run import Document, ReportedRun
from autoprog.report.sentences.development import metric_name
from autoprog.report.verdict import knows_nothing, reasons_for_doubt
from autoprog.report.wording import at, within


def verdicts(run: ReportedRun) -> tuple[str, ...]:
    """That the model knows nothing, at which horizons, why, and what follows; empty if it knows more."""
    there = "" if knows_nothing(run.ensemble) else " there"
    advice = f"Its risk strata and rules{there} are withheld. Do not use it{there}."
    found = _doubts(run, "This model", run.ensemble, advice)
    if run.validation is not None:
        advice = "Do not use it for patients like these."
        found += _doubts(run, f"In the {run.validated_patients} the model", run.validation, advice)
    return found


def _doubts(run: ReportedRun, subject: str, found: Document, advice: str) -> tuple[str, ...]:
    reasons = {horizon: told for horizon, _ in list_parts(found) if (told := reasons_for_doubt(found, horizon))}
    if not reasons:
        return ()
    if knows_nothing(found):
        text = f"{subject} knows nothing: it has not been shown to tell more than the average risk does."
    else:
        text = f"{subject} knows nothing at some horizons."
    why = " ".join(f"For the outcome{within(run, horizon)}: {'; '.join(told)}." for horizon, told in reasons.items())
    return (f"{text} {why} {advice}",)


def performance_figures(run: ReportedRun) -> str:
    """Discrimination of the delivered model, corrected, beside that of the simple pipeline."""
    text = f"{upper_first(metric_name(run))}: {estimate(run.ensemble['score'])} for the model"
    if run.baseline:
        text += f" and {estimate(run.baseline['score'])} for the simple pipeline"
    return f"{text}."


def discrimination_figures(run: ReportedRun) -> str:
    """Discrimination, out of fold."""
    return run.kind.discrimination_figures(run)


def calibration_figures(run: ReportedRun) -> str:
    """Calibration of the delivered model."""
    return run.kind.calibration_figures(run)


def accuracy_figures(run: ReportedRun) -> str:
    """Brier score and its skill."""
    return run.kind.accuracy_figures(run)


def utility_figures(run: ReportedRun) -> str:
    """Net benefit at the ends of the range of thresholds; the mean over it where it was measured."""
    return f"Net benefit {net_benefits(run, run.ensemble)}."


def net_benefits(run: ReportedRun, found: Document) -> str:
    """Net benefit at every horizon, of an ensemble's or a validation's document."""
    curves = [(at(run, horizon), part.get("net_benefit")) for horizon, part in list_parts(found)]
    return "; ".join(f"{where} {_net_benefit(curve)}".lstrip() for where, curve in curves if curve)


def _net_benefit(curve: Document) -> str:
    """Net benefit of the model and of treating everybody at the ends of the range of thresholds."""
    parts = []
    for end in dict.fromkeys(curve["range"]):
        k = min(range(len(curve["thresholds"])), key=lambda i: abs(curve["thresholds"][i] - end))
        model, everybody = (curve[name][k] for name in ("model", "treat_all"))
        if model is None or everybody is None:
            continue
        ends = curve.get("model_interval")
        bounds = None if ends is None else {"lower": ends["lower"][k], "upper": ends["upper"][k]}
        parts.append(
            f"{with_bounds(model, bounds)} at a threshold of {100 * curve['thresholds'][k]:g} % (treating everybody "
            f"{decimal(everybody)})"
        )
    return ", ".join(parts)


def gain_figures(run: ReportedRun) -> str | None:
    """Difference to the simple pipeline; None if there is none."""
    known = [
        f"{estimate(gain[run.kind.area], decimals=DIFFERENCE_DECIMALS)}{at(run, horizon, ' ')}"
        for horizon, part in list_parts(run.ensemble)
        if (gain := part.get("gain_over_baseline"))
    ]
    if run.is_simple and known:
        return SAME_MODEL
    return f"Difference in AUC to the simple pipeline {listed(known)}." if known else None


def subgroup_figures(run: ReportedRun) -> str | None:
    """Discrimination and calibration by subgroup; None if no subgroup was large enough."""
    if not run.subgroups:
        return None
    name, rows = run.kind.area, run.words.rows
    parts = [
        f"{run.labels.get(group['feature'], group['feature'])} {group['label']} ({group['n']:,} {rows}): AUC "
        f"{estimate(group[name])}, expected over observed {estimate(group['expected_observed'])}"
        for group in run.subgroups
        if group.get(name) is not None
    ]
    return f"{'; '.join(parts)}." if parts else None


def cause_figures(run: ReportedRun) -> str | None:
    """Discrimination for the competing causes at the last horizon; None without them."""
    if not run.competing or not run.horizon_documents:
        return None
    found = run.horizon_documents[-1].get("causes") or ()
    parts = []
    for cause in found:
        if cause["performance"] is not None:
            bounds = (cause["performance"].get("intervals") or {}).get("auc")
            parts.append(f"{quoted(cause['cause'])} {with_bounds(cause['performance']['auc'], bounds)}")
    return f"AUC for the competing causes at the last horizon: {listed(parts)}." if parts else None
