"""Answers to the title, the abstract, the introduction and the methods, items 1 to 18 of TRIPOD+AI."""

from __future__ import annotations

from collections.abc import Mapping

from autoprog.report import sentences as say
from autoprog.report.digits import significant
from autoprog.report.phrases import algorithm_name, in_one, listed, plural, upper_first
from autoprog.report.run import Document, ReportedRun
from autoprog.report.tripod_answers.rule import (
    FLOW,
    METHODS,
    NO_TIMES,
    NO_VALIDATION,
    PERFORMANCE,
    SAMPLE_SIZE,
    SPECIFICATION,
    STABILITY,
    STRATA,
    SUBGROUPS,
    TABLE,
    TITLE,
    VALIDATION,
    Found,
    NotApplicable,
    Rule,
)
from autoprog.report.verdict import WITHHELD, keep_known
from autoprog.report.wording import at, band_limits


def _kind_of_study(run: ReportedRun) -> str:
    if not run.external:
        return "development and internal validation"
    return (
        "development and external validation" if run.updated is None else "development, update and external validation"
    )


def suggest_title(run: ReportedRun) -> str:
    """Suggest a title from what the run knows; the author adds the population."""
    return f"{upper_first(_kind_of_study(run))} of a multivariable model that predicts {run.outcome_with_horizon}"


def _title(run: ReportedRun) -> str:
    return f"Suggested title: {suggest_title(run)}."


def _objective(run: ReportedRun) -> str:
    return (
        f"The objective was to predict {run.outcome_with_horizon} from "
        f"{plural(len(run.features), 'candidate predictor')}."
    )


def _study(run: ReportedRun) -> str:
    return f"The study describes the {_kind_of_study(run)} of a prediction model."


def model_type(run: ReportedRun) -> str:
    """Name the learners that the model is built from."""
    learners = listed([algorithm_name(name) for name in run.member_algorithms("prediction")])
    return f"The model is built from {learners}."


def _building(run: ReportedRun) -> str:
    return in_one(model_type(run), say.tuning(run), say.ensemble_rule(run), say.recalibration(run))


def _counts(run: ReportedRun) -> str:
    return in_one(say.cohort_size(run), say.outcome_counts(run))


def _predictor_names(run: ReportedRun) -> str:
    """Names of the predictors; all candidates are inputs of the model."""
    return f"The model takes {plural(len(run.features), 'predictor')}: {listed(list(run.labels.values()))}."


def _prognostic(run: ReportedRun) -> Found:
    return run.kind.if_timed("The model is prognostic: it predicts an event after the moment of prediction.")


def _preparation(run: ReportedRun) -> str:
    return in_one(say.visit_windows(run), say.encoding(run), say.scaling(run), say.missing_handling(run))


def _same_preparation(_: ReportedRun) -> str:
    return "The same preparation and checks were applied to all patients; no step depended on a sociodemographic group."


def _analysed_outcome(run: ReportedRun) -> str:
    return run.kind.definition(run.outcome)


def _horizon(run: ReportedRun) -> Found:
    return next((f"The outcome is predicted within {run.horizons_text}." for _ in run.horizons), None)


def _definitions(run: ReportedRun) -> str:
    defined = [f"{run.labels[feature['name']]}: {_definition(feature)}" for feature in run.features]
    return f"{'; '.join(defined)}."


def _definition(feature: Document) -> str:
    unit = f" in {feature['unit']}" if feature["unit"] else ""
    if feature["levels"]:
        return f"{feature['kind']}, levels {listed(feature['levels'])}"
    known = feature["minimum"] is not None
    values = f", from {significant(feature['minimum'])} to {significant(feature['maximum'])}" if known else ""
    return f"{feature['kind']}{values}{unit}"


def _units(run: ReportedRun) -> Found:
    """Units, if every numeric predictor has one."""
    numeric = [f for f in run.features if f["kind"] == "numeric"]
    if any(not f["unit"] for f in numeric):
        return None
    if not numeric:
        return NotApplicable("No predictor is numeric.")
    units = [f"{run.labels[feature['name']]} in {feature['unit']}" for feature in numeric]
    return f"{listed(units)}."


def _use_of_data(run: ReportedRun) -> str:
    text = (
        f"All {run.rows_text} served to develop the model, and to evaluate it by risks from folds that held them out."
    )
    others = f"{upper_first(say.validation_name(run))} served for external validation alone." if run.external else None
    return in_one(text, others, say.apparent_performance(run))


def _sufficient(run: ReportedRun) -> str:
    return in_one(say.sample_size(run), say.flexible_sample_size(run))


def _left_out(run: ReportedRun) -> str:
    if not run.n_dropped:
        return "No row of the file was left out."
    return f"{say.missing_outcome(run)} Without a usable outcome a row says nothing about the risk."


def _transformations(run: ReportedRun) -> str:
    """Feature processing of the members."""
    used = [algorithm_name(name) for name in run.member_algorithms("features") if name != "none"]
    if not used:
        return "No member of the ensemble transforms or reduces the predictors beyond their coding and scaling."
    return f"Members of the ensemble use {listed(used)} on the coded predictors, fitted to training patients."


def _interactions(run: ReportedRun) -> str:
    learners, processing = run.member_algorithms("prediction"), run.member_algorithms("features")
    text = "No interaction was specified by hand."
    learnt = [algorithm_name(name) for name in learners if say.learns_interactions(name)]
    if learnt:
        text += f" {upper_first(listed(learnt))} can learn interactions from the data."
    if "polynomial" in processing:
        text += " Products of predictors were added by polynomial features."
    return text


def _search(run: ReportedRun) -> Found:
    steps = say.search_steps(run)
    return None if steps is None else in_one(steps, say.warm_start(run), say.racing(run))


def _repeated_steps(_: ReportedRun) -> str:
    return (
        "Imputation, feature processing, fitting and calibration were repeated in every training fold. The search for "
        "pipelines was not repeated inside the folds."
    )


def _censoring(run: ReportedRun) -> Found:
    return say.censoring(run) or NO_TIMES


def _clusters(run: ReportedRun) -> Found:
    if run.unsplit:
        return f"{run.unsplit} Intervals take them together."
    return "The file named no clusters, and none entered the partition." if run.origin else None


def _parameters_across(_: ReportedRun) -> str:
    return "Differences of the model's parameters between clusters were not estimated."


def _performance_across(_: ReportedRun) -> str:
    return "Differences of performance between clusters were not estimated."


def _updated(run: ReportedRun) -> Found:
    if not run.external:
        return NO_VALIDATION
    return in_one(say.update(run), f"{run.validated_model} was not updated in this evaluation.")


def _updated_for_groups(run: ReportedRun) -> Found:
    if not run.external:
        return NO_VALIDATION
    if run.updated is None:
        return "The model was not updated for any group or setting."
    return "The recalibration was to that setting as a whole, and to no group."


def _calculated(run: ReportedRun) -> Found:
    if not run.external:
        return NO_VALIDATION
    risks = "the weighted average of its members" if len(run.members) > 1 else "those of its pipeline"
    return in_one(f"The delivered model's file calculated the risks: {risks}, recalibrated.", say.missing_at_use(run))


def rebalanced_learners(run: ReportedRun) -> list[str]:
    """Name the algorithms of the ensemble that weigh classes equally, or assume them to be equally frequent."""
    found = []
    for member in run.members:
        for step in member["configuration"].values():
            parameters = step["parameters"]
            if parameters.get("class_weight") == "balanced" or parameters.get("priors") == "equal":
                found.append(algorithm_name(step["algorithm"]))
    return list(dict.fromkeys(found))


def _imbalance(run: ReportedRun) -> str:
    if rebalanced := rebalanced_learners(run):
        steps = listed(rebalanced)
        return f"Patients were not resampled. Steps of the ensemble that gave both classes the same weight: {steps}."
    return (
        "No method for class imbalance was used: patients were neither resampled nor weighted by class in the ensemble."
    )


def _imbalance_reason(run: ReportedRun) -> Found:
    if not rebalanced_learners(run):
        return NotApplicable("No method for class imbalance was used.")
    return "Equal weights are a hyperparameter of these learners and were chosen with it by the cross-validated score."


def _imbalance_recalibration(run: ReportedRun) -> Found:
    if not rebalanced_learners(run):
        return NotApplicable("No method for class imbalance was used.")
    return say.recalibration(run)


def _fairness(run: ReportedRun) -> str:
    examined = say.subgroup_methods(run)
    limits = "No constraint or adjustment for fairness was used in training."
    return f"{examined} {limits}" if examined else f"Performance was not examined by subgroup. {limits}"


def _output(run: ReportedRun) -> str:
    return in_one(say.prediction_target(run), "The output is a probability.", say.patient_intervals(run))


def describe_strata(run: ReportedRun) -> str:
    """Describe the risk strata with their thresholds, or say that there are none, or that they are withheld."""
    if say.strata(run) is None:
        return "The model gives no classification."
    shown = keep_known(run.ensemble, run.rules["strata"])
    if not shown:
        return WITHHELD
    parts = [f"{band['name']}{at(run, band.get('horizon'), ' ')} from {band_limits(band)} %" for band in shown]
    return f"Patients are not classified for treatment. For description there are risk strata: {'; '.join(parts)}."


def _thresholds(run: ReportedRun) -> Found:
    return say.strata(run) or NotApplicable("The model gives no classification.")


def _different_predictors(run: ReportedRun) -> Found:
    return say.validation_differences(run) or NO_VALIDATION


def _software(run: ReportedRun) -> Found:
    own = run.software.get("autoprog")
    if own is None:
        return None
    return f"The analysis was run by autoprog {own}, which is open source; settings and seed are in this report."


def _evaluation_size(run: ReportedRun) -> Found:
    return say.validation_sample(run) or NO_VALIDATION


def _only_in_validation(run: ReportedRun) -> Found:
    return None if run.external else NO_VALIDATION


def _only_with_times(run: ReportedRun) -> Found:
    return None if say.follow_up(run) else NO_TIMES


METHODS_RULES: Mapping[str, Rule] = {
    "1.1": Rule(_title, TITLE),
    "1.3": Rule(_title, TITLE),
    "2.2": Rule(_objective, TITLE),
    "2.5": Rule(say.prediction_target, METHODS),
    "2.6": Rule(_building, METHODS),
    "2.7": Rule(say.folds, METHODS),
    "2.8": Rule(say.all_measures, METHODS),
    "2.9": Rule(_counts, FLOW),
    "2.10": Rule(_predictor_names, TABLE),
    "3a.2": Rule(_prognostic, METHODS),
    "4.1": Rule(_objective, METHODS),
    "4.2": Rule(_study, METHODS),
    "5a.2": Rule(_only_in_validation, VALIDATION),
    "5b.3": Rule(_only_with_times, FLOW),
    "7.1": Rule(_preparation, METHODS),
    "7.2": Rule(say.data_checks, FLOW),
    "7.3": Rule(_same_preparation, METHODS),
    "8a.1": Rule(_analysed_outcome, METHODS),
    "8a.3": Rule(_horizon, METHODS),
    "9a.1": Rule(_predictor_names, TABLE),
    "9a.3": Rule(say.no_preselection, METHODS),
    "9b.1": Rule(_definitions, TABLE),
    "9b.2": Rule(_units, TABLE),
    "10.2": Rule(_sufficient, SAMPLE_SIZE),
    "10.3": Rule(say.sample_size_criteria, SAMPLE_SIZE),
    "10.4": Rule(say.events_per_parameter, SAMPLE_SIZE),
    "10.5": Rule(_evaluation_size, VALIDATION),
    "11.1": Rule(say.missing_handling, METHODS),
    "11.2": Rule(say.missing_outcome, METHODS),
    "11.3": Rule(_left_out, FLOW),
    "11.4": Rule(say.missing_at_use, METHODS),
    "12a.1": Rule(_use_of_data, METHODS),
    "12a.2": Rule(say.folds, METHODS),
    "12a.3": Rule(say.fold_considerations, METHODS),
    "12b.1": Rule(say.functional_forms, SPECIFICATION),
    "12b.2": Rule(say.scaling, METHODS),
    "12b.3": Rule(say.encoding, METHODS),
    "12b.4": Rule(_transformations, SPECIFICATION),
    "12c.1": Rule(model_type, SPECIFICATION),
    "12c.3": Rule(say.candidate_space, METHODS),
    "12c.4": Rule(_search, METHODS),
    "12c.5": Rule(say.search_budget, METHODS),
    "12c.6": Rule(say.tuning, METHODS),
    "12c.7": Rule(say.selection_in_modelling, METHODS),
    "12c.8": Rule(_interactions, SPECIFICATION),
    "12c.9": Rule(say.ensemble_rule, METHODS),
    "12c.10": Rule(say.recalibration, METHODS),
    "12c.11": Rule(say.folds, METHODS),
    "12c.12": Rule(_repeated_steps, METHODS),
    "12c.13": Rule(say.optimism, METHODS),
    "12c.14": Rule(_censoring, METHODS),
    "12c.15": Rule(say.software, METHODS),
    "12d.1": Rule(_clusters, METHODS),
    "12d.2": Rule(_parameters_across, METHODS),
    "12d.3": Rule(_performance_across, METHODS),
    "12e.1": Rule(say.discrimination, METHODS),
    "12e.2": Rule(say.calibration, METHODS),
    "12e.3": Rule(say.overall_accuracy, METHODS),
    "12e.4": Rule(say.utility, METHODS),
    "12e.5": Rule(say.plots, PERFORMANCE),
    "12e.6": Rule(say.intervals, METHODS),
    "12e.7": Rule(say.comparison, METHODS),
    "12e.8": Rule(say.instability, STABILITY),
    "12f.1": Rule(_updated, VALIDATION),
    "12f.2": Rule(_updated_for_groups, VALIDATION),
    "12g.1": Rule(_calculated, VALIDATION),
    "13.1": Rule(_imbalance, SPECIFICATION),
    "13.2": Rule(_imbalance_reason, SPECIFICATION),
    "13.3": Rule(_imbalance_recalibration, SPECIFICATION),
    "14.1": Rule(_fairness, SUBGROUPS),
    "15.1": Rule(_output, METHODS),
    "15.2": Rule(describe_strata, STRATA),
    "15.3": Rule(_thresholds, STRATA),
    "16.1": Rule(_only_in_validation, VALIDATION),
    "16.2": Rule(_only_in_validation, VALIDATION),
    "16.3": Rule(_only_in_validation, VALIDATION),
    "16.4": Rule(_different_predictors, VALIDATION),
    "18f.1": Rule(_software, METHODS),
}
"""Rules by the numbers of the elements."""
