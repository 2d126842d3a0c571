"""Answers to the results and the discussion, items 20 to 27 of TRIPOD+AI, and to what the abstract says of results."""

from __future__ import annotations

from collections.abc import Mapping

from autoprog.report import sentences as say
from autoprog.report.phrases import in_one, plural, upper_first
from autoprog.report.run import ReportedRun
from autoprog.report.tripod_answers.rule import (
    CALIBRATION,
    FLOW,
    METHODS,
    MISSING,
    NO_TIMES,
    NO_VALIDATION,
    PERFORMANCE,
    SAMPLE_SIZE,
    SPECIFICATION,
    STABILITY,
    SUBGROUPS,
    TABLE,
    UTILITY,
    VALIDATION,
    Found,
    NotApplicable,
    Rule,
)


def _flow_diagram(run: ReportedRun) -> str:
    return f"A diagram shows the flow: {say.cohort_size(run)}"


def _follow_up(run: ReportedRun) -> Found:
    return say.follow_up(run) or NO_TIMES


def _characteristics(run: ReportedRun) -> str:
    return f"A table shows the {len(run.features)} predictors overall and by outcome."


def _size(run: ReportedRun) -> str:
    return f"{run.rows_text}."


def _compared(run: ReportedRun) -> Found:
    return say.validation_differences(run) or NO_VALIDATION


def _compared_outcome(run: ReportedRun) -> Found:
    return say.validation_counts(run) or NO_VALIDATION


def _in_development(run: ReportedRun) -> str:
    return f"Development used {run.rows_text}. {say.outcome_counts(run)}"


def _in_tuning(run: ReportedRun) -> str:
    k, explored = run.settings["folds"], run.origin.get("n_explored_rows")
    on = f"a sample of {explored:,} rows, and finalists on all {run.n_rows:,}" if explored else f"all {run.rows_text}"
    return f"Tuning used {on}; each of the {k} training folds held about {100 * (k - 1) / k:.0f} % of them."


def _in_evaluation(run: ReportedRun) -> str:
    text = f"Internal validation measured out-of-fold risks of all {run.rows_text}, with the same events."
    return in_one(text, f"External validation: {say.validation_sample(run)}" if run.external else None)


def _members(run: ReportedRun) -> str:
    return f"{say.members_text(run)}."


def _recalibration(run: ReportedRun) -> Found:
    of_search = say.recalibration(run) if run.ensemble["calibration"].get("recalibration") else None
    return in_one(of_search, say.update(run)) or None


def _means_to_predict(run: ReportedRun) -> str:
    text = "The model is one file. It predicts for new patients by the command “autoprog predict”"
    if run.model_id is None:
        return f"{text} and from Python."
    return f"{text}, from Python, and on the server that holds it by POST /v1/models/{run.model_id}/predictions."


def _third_parties(run: ReportedRun) -> Found:
    if not run.software:
        return None
    return (
        "Others can load the file in Python with the versions of the software named in this report. On the server that "
        "holds the model they can validate it in their own patients (POST /v1/models/{id}/validations) and recalibrate "
        "it as a new version (POST /v1/models/{id}/recalibrations); a server takes no model file."
    )


def _discrimination(run: ReportedRun) -> str:
    external = say.validation_scores(run, say.DISCRIMINATION)
    return in_one(say.discrimination_figures(run), say.cause_figures(run), external)


def _accuracy(run: ReportedRun) -> str:
    return in_one(say.accuracy_figures(run), say.validation_scores(run, say.ACCURACY))


def _utility(run: ReportedRun) -> str:
    return in_one(say.utility_figures(run), say.validation_utility(run))


def _calibration(run: ReportedRun) -> str:
    return in_one(say.calibration_figures(run), say.validation_calibration(run))


def _optimism(run: ReportedRun) -> str:
    return in_one(say.performance_figures(run), say.optimism(run))


def _overfitting(run: ReportedRun) -> str:
    covered = "the choice of weights, not " if run.ensemble["score"].get("resamples") else "neither the weights nor "
    searched = f"A correction covers {covered}the search for pipelines: performance may still be slightly optimistic."
    return in_one(say.optimism(run), searched if run.has_choice else None, say.instability(run))


def _limited_size(run: ReportedRun) -> str:
    few = [f"{upper_first(w)}." for w in run.cohort["warnings"] if "patients" in w and "few" in w]
    return in_one(say.sample_size(run), say.events_per_parameter(run), *few)


def _limited_missing(run: ReportedRun) -> str:
    if not run.with_missing:
        return say.missing_amount(run)
    return in_one(
        say.missing_amount(run),
        "If values are missing for reasons that other predictors do not show, risks may be biased.",
    )


def _poor_input(_: ReportedRun) -> str:
    return (
        "A prediction warns of each missing value, unknown level and value outside the range of the training patients."
    )


def _handled_input(run: ReportedRun) -> str:
    return in_one(
        say.missing_at_use(run),
        "An unknown level counts as missing, and values outside the range by more than ten times its width are cut.",
    )


def _interaction(run: ReportedRun) -> str:
    visits = run.words.entered
    return (
        f"Users enter the values of up to {plural(len(run.features), 'predictor')}{visits}, none of which is "
        "obligatory; no further interaction with the model is needed."
    )


def _further_validation(run: ReportedRun) -> Found:
    return say.validation_sample_size(run)


def _no_cluster_results(_: ReportedRun) -> Found:
    return NotApplicable("Heterogeneity across clusters was not examined.")


_NO_UPDATE = NotApplicable("The model was not updated.")


def _updated_model(run: ReportedRun) -> Found:
    return say.update(run) or _NO_UPDATE if run.external else NO_VALIDATION


def _updated_performance(run: ReportedRun) -> Found:
    if not run.external:
        return NO_VALIDATION
    return _NO_UPDATE if run.updated is None else in_one(say.validation_scores(run), say.validation_calibration(run))


RESULTS_RULES: Mapping[str, Rule] = {
    "2.11": Rule(_optimism, PERFORMANCE),
    "20a.2": Rule(say.cohort_size, FLOW),
    "20a.3": Rule(say.outcome_counts, FLOW),
    "20a.4": Rule(_follow_up, FLOW),
    "20a.5": Rule(_flow_diagram, FLOW, needs_section=True),
    "20b.1": Rule(_characteristics, TABLE, needs_section=True),
    "20b.4": Rule(_size, FLOW),
    "20b.5": Rule(say.outcome_counts, FLOW),
    "20b.6": Rule(_follow_up, FLOW),
    "20b.7": Rule(say.missing_amount, MISSING),
    "20c.1": Rule(_compared, VALIDATION),
    "20c.2": Rule(_compared_outcome, VALIDATION),
    "21.1": Rule(_in_development, FLOW),
    "21.2": Rule(_in_tuning, METHODS),
    "21.3": Rule(_in_evaluation, PERFORMANCE),
    "22.1": Rule(_members, SPECIFICATION),
    "22.2": Rule(_recalibration, SPECIFICATION),
    "22.3": Rule(_means_to_predict, SPECIFICATION),
    "22.4": Rule(_third_parties, SPECIFICATION),
    "23a.1": Rule(_discrimination, PERFORMANCE),
    "23a.2": Rule(_calibration, CALIBRATION),
    "23a.3": Rule(_accuracy, PERFORMANCE),
    "23a.4": Rule(_utility, UTILITY),
    "23a.5": Rule(_optimism, PERFORMANCE),
    "23a.6": Rule(say.gain_figures, PERFORMANCE),
    "23a.7": Rule(say.subgroup_figures, SUBGROUPS),
    "23a.8": Rule(say.instability, STABILITY),
    "23a.9": Rule(say.plots, CALIBRATION, needs_section=True),
    "23b.1": Rule(_no_cluster_results, PERFORMANCE),
    "24.1": Rule(_updated_model, VALIDATION),
    "24.2": Rule(_updated_performance, VALIDATION),
    "26.2": Rule(_limited_size, SAMPLE_SIZE),
    "26.3": Rule(_overfitting, PERFORMANCE),
    "26.4": Rule(_limited_missing, MISSING),
    "27a.1": Rule(_poor_input, METHODS),
    "27a.2": Rule(_handled_input, METHODS),
    "27b.1": Rule(_interaction, METHODS),
    "27c.2": Rule(_further_validation, SAMPLE_SIZE),
}
"""Rules by the numbers of the elements."""
