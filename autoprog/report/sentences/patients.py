"""Patients, outcome, predictors and the size of the cohort."""

from __future__ import annotations

from autoprog.report.digits import significant
from autoprog.report.phrases import percent, plural, quoted, were
from autoprog.report.references import cite
from autoprog.report.run import ReportedRun


def cohort_size(run: ReportedRun) -> str:
    """Patients, and the rows that were left out."""
    held = f"{plural(run.n_patients, 'patient')}{run.words.with_visits(run.n_rows, 'and')}"
    held = run.rows_text if run.is_weighted else held
    text = f"The cohort {quoted(run.cohort['name'])} holds {held} with a known outcome."
    if run.n_dropped:
        rows = plural(run.n_dropped, run.words.of_file)
        text += f" {rows} of the file without a usable outcome {were(run.n_dropped)} left out."
    return f"{text} {weights}" if (weights := sampling_weights(run)) else text


def sampling_weights(run: ReportedRun) -> str | None:
    """Use of weights; None if the cohort has none."""
    if not run.is_weighted:
        return None
    return (
        "A weight says how many patients each sampled patient stands for. Counts, shares, models and measures are "
        "weighted. Those for whom a patient stands stayed together in folds, resamples and standard errors"
        f"{cite('binder')}."
    )


def outcome_counts(run: ReportedRun) -> str:
    """How many had the outcome, and how those followed up ended."""
    return run.kind.counts(run)


def follow_up(run: ReportedRun) -> str | None:
    """Length of follow-up; None for outcomes without times."""
    found = run.cohort.get("follow_up")
    if not found:
        return None
    method = f"The median follow-up by the reverse Kaplan-Meier estimate{cite('schemper')}"
    median = "not reached" if found["median"] is None else significant(found["median"])
    total = run.with_unit(significant(found["person_time"]))
    return f"{method} was {median}, the total time of observation {total}."


def prediction_target(run: ReportedRun) -> str:
    """What is predicted, and until when."""
    return run.kind.target(run)


def predictors(run: ReportedRun) -> str:
    """Candidate predictors and the columns that they became."""
    n, columns = len(run.features), run.sample_size.get("n_parameters")
    text = f"There {were(n)} {plural(n, 'candidate predictor')} ({run.kinds_of_features})"
    return f"{text}, or {plural(columns, 'column')} of the design matrix." if columns else f"{text}."


def visit_windows(run: ReportedRun) -> str | None:
    """How a patient's visits became predictors; None where a row is a patient."""
    windows = run.settings["window"]
    return run.words.windows([windows] if isinstance(windows, int) else sorted(set(windows)))


def missing_amount(run: ReportedRun) -> str:
    """How much is missing in the predictors."""
    n = plural(len(run.features), "predictor")
    if not run.with_missing:
        return f"No value of the {n} was missing."
    worst = run.with_missing[0]
    return (
        f"Values were missing in {len(run.with_missing)} of {n}, at most in "
        f"{percent(worst['missing_fraction'])}{run.words.missing_of} "
        f"({run.labels[worst['name']]})."
    )


def missing_outcome(run: ReportedRun) -> str:
    """How missing outcomes were handled."""
    if not run.n_dropped:
        return "No outcome was missing, and none was imputed."
    rows = plural(run.n_dropped, run.words.of_file)
    return f"{rows} without a usable outcome {were(run.n_dropped)} left out and not imputed."


def data_checks(run: ReportedRun) -> str:
    """Checks of the file, and what they found."""
    text = (
        "On reading, the file was checked for unreadable cells, words that mean missing, unknown values of the "
        "outcome, identifiers, constant and mostly missing columns, repeated rows and, from 50 patients on, columns "
        "that give the outcome away."
    )
    warnings = run.cohort["warnings"]
    found = (
        " It led to no warning."
        if not warnings
        else f" It led to {plural(len(warnings), 'warning')}: {'; '.join(warnings)}."
    )
    return text + found


def sample_size(run: ReportedRun) -> str:
    """Riley's minimum and what the cohort has."""
    found = run.sample_size
    compared = "reaches" if run.n_sampled >= found["riley_minimum"] else "does not reach"
    return (
        f"The minimum for a regression with all candidate predictors is {found['riley_minimum']:,} "
        f"patients{cite(run.kind.riley)}; the cohort of {run.n_sampled:,} {compared} it."
    )


def sample_size_criteria(run: ReportedRun) -> str:
    """Criteria of the calculation of the sample size."""
    n = run.sample_size.get("n_parameters")
    columns = f"{plural(n, 'parameter')}, " if n else ""
    return (
        f"The calculation assumed {columns}an anticipated Nagelkerke R² of 0.15, and asked for a shrinkage of at "
        "least 0.9, an optimism in R² of at most 0.05, and the overall risk within 0.05."
    )


def flexible_sample_size(run: ReportedRun) -> str | None:
    """The larger minimum of flexible learners; None in older cohorts."""
    least = run.sample_size.get("flexible_minimum")
    if least is None:
        return None
    compared = "reaches" if run.n_sampled >= least else "does not reach"
    return (
        f"Forests, boosting and networks need about {least:,} patients to be stable{cite('ploeg')}, which the cohort "
        f"{compared}."
    )


def events_per_parameter(run: ReportedRun) -> str:
    """Events per candidate predictor parameter."""
    return (
        f"There were {significant(run.sample_size['events_per_predictor'])} {run.kind.rarer} per candidate parameter."
    )


def validation_sample_size(run: ReportedRun) -> str | None:
    """Patients that an external validation needs; None in older cohorts."""
    least = run.sample_size.get("validation_minimum")
    if least is None:
        return None
    return f"An external validation needs about {least:,} patients{cite('riley_validation')}."
