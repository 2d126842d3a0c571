"""What was found, in figures."""

from __future__ import annotations

from autoprog.report.phrases import estimate, figure, listed, quoted, with_bounds
from autoprog.report.run import Document, ReportedRun
from autoprog.report.sentences.development import METRIC_NAMES


def performance_figures(run: ReportedRun) -> str:
    """Discrimination of the delivered model, corrected, beside that of the simple pipeline."""
    score = run.ensemble["score"]
    metric = METRIC_NAMES.get(run.settings["metric"], run.settings["metric"])
    text = f"The {metric} of the model was {estimate(score)}"
    if run.baseline:
        text += f"; that of the simple pipeline was {estimate(run.baseline['score'])}"
    return f"{text}."


def discrimination_figures(run: ReportedRun) -> str:
    """Discrimination, out of fold."""
    if not run.has_times:
        found, bounds = run.ensemble["performance"], run.ensemble["performance"].get("intervals") or {}
        auc = with_bounds(found["auc_roc"], bounds.get("auc_roc"))
        return (
            f"Area under the ROC curve {auc}, average precision {with_bounds(found['auc_prc'], bounds.get('auc_prc'))}."
        )
    overall = run.ensemble["overall"]
    title, name = ("Wolbers's", "wolbers_c") if run.competing else ("Uno's", "uno_c")
    value = with_bounds(overall[name], (overall.get("intervals") or {}).get(name))
    text = f"{title} concordance until {overall['until']:g} {value}; time-dependent AUC "
    return text + _by_horizon(run, "auc") + "."


def calibration_figures(run: ReportedRun) -> str:
    """Calibration of the delivered model."""
    if not run.has_times:
        found = run.ensemble["calibration"]
        ratio = with_bounds(found["expected_observed"], found.get("expected_observed_interval"))
        return (
            f"Calibration slope {estimate(found['slope'])}, intercept {estimate(found['intercept'])}, expected over "
            f"observed events {ratio}."
        )
    parts = [
        f"at {doc['horizon']:g}: expected over observed {estimate(doc['performance']['expected_observed'])}, slope "
        f"{estimate(doc['performance']['slope'])}, intercept {estimate(doc['performance']['intercept'])}"
        for doc in run.horizon_documents
    ]
    return f"Calibration {'; '.join(parts)}."


def accuracy_figures(run: ReportedRun) -> str:
    """Brier score and its skill."""
    if run.has_times:
        return f"Brier score {_by_horizon(run, 'brier')}; Brier skill {_by_horizon(run, 'brier_skill')}."
    found, bounds = run.ensemble["performance"], run.ensemble["performance"].get("intervals") or {}
    brier = with_bounds(found["brier"], bounds.get("brier"))
    return f"Brier score {brier}, Brier skill {with_bounds(found['brier_skill'], bounds.get('brier_skill'))}."


def utility_figures(run: ReportedRun) -> str:
    """Net benefit at the ends of the range of thresholds; the mean over it where it was measured."""
    if run.has_times:
        curves = [(f"at {doc['horizon']:g} ", doc["net_benefit"]) for doc in run.horizon_documents]
    else:
        curves = [("", run.ensemble["net_benefit"])]
    return f"Net benefit {'; '.join(where + _net_benefit(curve) for where, curve in curves)}."


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
            f"{figure(everybody)})"
        )
    return ", ".join(parts)


def gain_figures(run: ReportedRun) -> str | None:
    """Difference to the simple pipeline; None if there is none."""
    if run.has_times:
        gains = [(f" at {d['horizon']:g}", d.get("gain_over_baseline") or {}, "auc") for d in run.horizon_documents]
    else:
        gains = [("", run.ensemble.get("gain_over_baseline") or {}, "auc_roc")]
    known = [f"{estimate(gain[name])}{where}" for where, gain, name in gains if gain]
    return f"Difference in AUC to the simple pipeline {listed(known)}." if known else None


def subgroup_figures(run: ReportedRun) -> str | None:
    """Discrimination and calibration by subgroup; None if no subgroup was large enough."""
    if not run.subgroups:
        return None
    name = "auc" if run.has_times else "auc_roc"
    rows = "visits" if run.has_visits else "patients"
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


def _by_horizon(run: ReportedRun, name: str) -> str:
    parts = []
    for doc in run.horizon_documents:
        found = doc["performance"]
        parts.append(f"{with_bounds(found[name], (found.get('intervals') or {}).get(name))} at {doc['horizon']:g}")
    return listed(parts)
