"""How performance was measured."""

from __future__ import annotations

from autoprog.endpoints import list_parts
from autoprog.report.digits import decimal
from autoprog.report.phrases import in_one, listed, plural
from autoprog.report.references import cite
from autoprog.report.run import ReportedRun
from autoprog.report.sentences.development import pipeline_text
from autoprog.report.verdict import WITHHELD, keep_known


def performance_data(run: ReportedRun) -> str:
    """Which risks the measures are of."""
    first = " of the first repeat" if run.settings["repeats"] > 1 else ""
    several = "pipelines that did not use the patient, averaged by the weights of the ensemble"
    whose = several if len(run.members) > 1 else "the pipeline fitted without the patient"
    return (
        f"All measures are of out-of-fold risks{first}: each risk is by {whose}; where a measure depends on "
        "calibration, recalibrated on other patients."
    )


def optimism(run: ReportedRun) -> str:
    """How the score was corrected for the choice of the ensemble by the same patients."""
    made = run.ensemble["score"].get("resamples")
    if not made:
        return "The score of the ensemble is of out-of-fold risks and was not corrected further."
    if not run.has_choice:
        resamples = f"{plural(made, 'bootstrap resample')} of the {run.unit}s{cite('tsamardinos')}"
        return (
            "The score is of out-of-fold risks. Only one pipeline was scored, so that no choice needed a correction; "
            f"the interval is by {resamples}."
        )
    return (
        "The score of the ensemble was corrected for the choice of its weights by the same patients: in "
        f"{plural(made, 'bootstrap resample')} of the {run.unit}s the weights were chosen anew and scored on the "
        f"{run.unit}s left out{cite('tsamardinos')}.{_other_corrections(run)}"
    )


def _other_corrections(run: ReportedRun) -> str:
    measures = run.ensemble[run.kind.overall]
    if measures.get("uncorrected") is None:
        return ""
    return (
        " So were the other measures of ranking and accuracy, and the gains over the simple pipeline; measures of "
        "calibration, curves and subgroups were not."
    )


def discrimination(run: ReportedRun) -> str:
    """Measures of discrimination."""
    return run.kind.discrimination(run)


def calibration(run: ReportedRun) -> str:
    """Measures of calibration."""
    return run.kind.calibration(run)


def overall_accuracy(run: ReportedRun) -> str:
    """Measures of overall accuracy."""
    return run.kind.accuracy()


def utility(run: ReportedRun, *, external: bool = False) -> str:
    """Measure of clinical utility and its range of thresholds; in other patients there is no simple pipeline."""
    low, high = run.settings["thresholds"]
    against = [
        "treating everybody",
        "treating nobody",
        *(["the simple pipeline"] if run.baseline and not external else []),
    ]
    return (
        f"Clinical utility was measured by net benefit and decision curves{cite('vickers')}, over thresholds of "
        f"{100 * low:g} to {100 * high:g} %, against {listed(against)}."
    )


def all_measures(run: ReportedRun) -> str:
    """Measures of discrimination, calibration, accuracy and utility, in one paragraph."""
    return in_one(discrimination(run), calibration(run), overall_accuracy(run), utility(run))


def plots(run: ReportedRun) -> str | None:
    """Plots of the report; None if it has none."""
    parts = [part for _, part in list_parts(run.ensemble)]
    shown = [title for key, title in _PLOTS.items() if any(part.get(key) for part in parts)]
    return f"The results are shown as {listed(shown)}." if shown else None


_PLOTS = {
    "operating": "ROC and precision-recall curves",
    "calibration_curve": "calibration curves",
    "risk_distribution": "distributions of the risks",
    "net_benefit": "decision curves",
    "instability": "instability plots",
}


def comparison(run: ReportedRun) -> str | None:
    """The simple pipeline that the ensemble is compared with; None if there is none."""
    if not run.baseline:
        return None
    simple = pipeline_text(run.baseline["configuration"])
    return (
        f"For comparison, a simple pipeline ({simple}) was evaluated on the same folds, and differences were "
        "estimated on the same patients."
    )


def intervals(run: ReportedRun) -> str:
    """How intervals of the measures were made."""
    text = f"Measures have 95 % intervals, by the influence of each {run.unit} on the measure or by the bootstrap"
    return f"{text}; {run.unit}s and not rows were the unit." if run.unsplit else f"{text}."


def patient_intervals(run: ReportedRun) -> str | None:
    """Intervals of patients' risks; None if none was estimated."""
    found, instability = run.ensemble.get("interval"), run.instability
    if not found or not instability:
        return None
    return (
        f"Each patient's risk has a {100 * found['level']:.0f} % interval, from {instability['n_refits']} refits of "
        "the ensemble to bootstrap samples."
    )


def instability(run: ReportedRun) -> str | None:
    """How stable the risks are; None if this was not examined."""
    found = run.instability
    if not found:
        return None
    return (
        f"Instability was examined by {found['n_refits']} refits of the ensemble to bootstrap "
        f"samples{cite('stability')}: for patients that a refit did not use, its risks differed from the model's by "
        f"{decimal(found['mape'])} on average (90th percentile over patients {decimal(found['mape_90'])}). The refits "
        "did not repeat the search."
    )


def subgroup_methods(run: ReportedRun) -> str | None:
    """How subgroups were examined; None if they were not."""
    if not run.subgroups:
        return None
    return (
        f"Performance was also measured in subgroups by {listed(list(run.subgroup_features))}: discrimination, Brier "
        "score and expected over observed events, where at least 10 patients had and 10 did not have the outcome."
    )


def strata(run: ReportedRun) -> str | None:
    """How risk strata and rules were made, or that they are withheld; None without strata."""
    found = run.rules["strata"]
    if len({s["name"] for s in found}) < 2:
        return None
    if not keep_known(run.ensemble, found):
        return WITHHELD
    how = "thresholds that the author set" if run.settings["strata"] else "the thirds of the out-of-fold risks"
    text = f"For description, risk strata were formed by {how}"
    rules = keep_known(run.ensemble, run.rules["rules"])
    mined = [rule for rule in rules if not rule.get("prior")]
    if mined:
        text += (
            ", and association rules describe who is placed in them; they were tested on patients who were not used "
            f"to find them, at a false-discovery rate of 10 %{cite('benjamini')}"
        )
    if stated := len(rules) - len(mined):
        text += (
            f"; {plural(stated, 'rule')} that clinicians had stated beforehand {'is' if stated == 1 else 'are'} shown "
            "too"
        )
    return f"{text}. The strata are no recommendation for treatment."
