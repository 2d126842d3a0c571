"""What a validation did and found, in sentences; each is None in a report without one in other patients."""

from __future__ import annotations

from collections.abc import Container

from autoprog.report.digits import decimal
from autoprog.report.phrases import estimate, in_one, listed, percent, plural, quoted
from autoprog.report.references import cite
from autoprog.report.run import Document, ReportedRun
from autoprog.report.sentences.development import METRIC_NAMES
from autoprog.report.sentences.results import net_benefits


def validation_methods(run: ReportedRun) -> str | None:
    """Patients and analysis of the validation."""
    found = run.external
    if found is None:
        return None
    further = "" if run.updated is None else "further "
    return in_one(
        update(run),
        f"{run.validated_model} was validated in {validation_name(run)}, without {further}refitting or recalibration, "
        "by the same measures.",
        validation_sample(run),
        validation_missing(run),
    )


def update(run: ReportedRun) -> str | None:
    """How the validated version was made from the search's model; None if it is that model."""
    if run.updated is None:
        return None
    version, cohort = run.updated["version"], run.updated["cohort"]
    others = "another cohort" if cohort is None else f"the cohort {quoted(cohort)}"
    text = (
        f"{run.validated_model} is version {version - 1}, recalibrated to {others}; members and weights are the same. "
        f"Its recalibration has {_coefficients(run.updated['recalibration'])}"
    )
    former = run.ensemble["calibration"].get("recalibration")
    return f"{text}, that of version 1 {_coefficients(former)}." if former else f"{text}."


def _coefficients(found: Document) -> str:
    return f"the intercept {decimal(found['intercept'])} and the slope {decimal(found['slope'])}"


def apparent_performance(run: ReportedRun) -> str | None:
    """Sentence saying that the validation used training patients; None if it did not."""
    if run.validation is None or not run.is_apparent:
        return None
    fitted = "fitted on" if run.updated is None else "fitted on or recalibrated to"
    return (
        f"Performance in {validation_name(run)} is apparent: {percent(run.validation['training_share'])} of its rows "
        f"are rows that the model was {fitted}, so that it is too good and says nothing of other patients."
    )


def validation_name(run: ReportedRun) -> str:
    """Name of the other cohort."""
    return "another cohort" if run.validation_cohort is None else f"the cohort {quoted(run.validation_cohort['name'])}"


def validation_sample(run: ReportedRun) -> str | None:
    """Patients and events of the validation, beside the number that it needs."""
    found = run.external
    if found is None:
        return None
    text = f"The validation had {run.words.validated(run, found)}"
    least = run.sample_size.get("validation_minimum")
    if least is None:
        return f"{text}."
    reached = "reaches" if run.n_validated >= least else "does not reach"
    return f"{text}; it {reached} the {least:,} patients that a validation needs{cite('riley_validation')}."


def validation_missing(run: ReportedRun) -> str | None:
    """Missing values in the validation cohort, which may be the training patients."""
    if run.validation is None:
        return None
    missing = [f for f in run.validation["features"] if f["missing"] > 0]
    if not missing:
        return "No value of a predictor was missing there."
    worst = max(missing, key=lambda f: f["missing"])
    return (
        f"Values were missing there in {plural(len(missing), 'predictor')}, at most in {percent(worst['missing'])} "
        f"({_label(run, worst)}), and were handled as in the use of the model."
    )


def _label(run: ReportedRun, feature: Document) -> str:
    name = str(feature["feature"])
    return run.labels.get(name, name)


DISCRIMINATION = frozenset(("auc_roc", "auc_prc", "uno_c", "wolbers_c", "c_index", "time_dependent_auc"))
ACCURACY = frozenset(("brier", "log_loss", "integrated_brier"))


def validation_scores(run: ReportedRun, of: Container[str] | None = None) -> str | None:
    """Scores in the other cohort: all, or those of some metrics; None if there are none."""
    if run.external is None:
        return None
    known = {name: score for name, score in run.external["scores"].items() if score is not None}
    parts = [
        f"{METRIC_NAMES.get(name, name.replace('_', ' '))} {estimate(score)}"
        for name, score in known.items()
        if of is None or name in of
    ]
    return f"In {validation_name(run)}: {'; '.join(parts)}." if parts else None


def validation_utility(run: ReportedRun) -> str | None:
    """Net benefit in the other cohort."""
    found = None if run.external is None else net_benefits(run, run.external)
    return f"In {validation_name(run)}, net benefit {found}." if found else None


def validation_calibration(run: ReportedRun) -> str | None:
    """Calibration in the other cohort."""
    if run.external is None:
        return None
    found = run.external["calibration"]
    return (
        f"In {validation_name(run)}, {run.kind.expected(run, run.external)}; calibration slope "
        f"{estimate(found['slope'])}, intercept {estimate(found['intercept'])}."
    )


def validation_differences(run: ReportedRun) -> str | None:
    """How predictors differ from the training patients."""
    if run.external is None:
        return None
    shifted = [f for f in run.external["features"] if _is_shifted(f)]
    if not shifted:
        return "No predictor lies outside its training range or is missing more often than in the training patients."
    parts = [f"{_label(run, f)} ({_shift(f)})" for f in shifted]
    return f"Differences from the training patients: {listed(parts)}."


def _is_shifted(feature: Document) -> bool:
    return bool(feature["outside"] > 0 or feature["missing"] > feature["training_missing"])


def _shift(feature: Document) -> str:
    parts = []
    if feature["outside"] > 0:
        parts.append(f"{percent(feature['outside'])} outside the training range")
    if feature["missing"] != feature["training_missing"]:
        parts.append(f"{percent(feature['missing'])} missing against {percent(feature['training_missing'])}")
    return ", ".join(parts)


def validation_counts(run: ReportedRun) -> str | None:
    """Share with the outcome, or its incidence by the last horizon, in both cohorts."""
    if run.external is None or run.validation_cohort is None:
        return None
    return run.kind.case_mix(run, run.external, run.validation_cohort)
