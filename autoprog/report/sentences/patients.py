"""Patients, outcome, predictors and the size of the cohort."""

from __future__ import annotations

from autoprog.report.phrases import percent, plural, quoted
from autoprog.report.references import cite
from autoprog.report.run import ReportedRun


def cohort_size(run: ReportedRun) -> str:
    """Patients, and the rows that were left out."""
    held = f"{plural(run.n_patients, 'patient')}{run.words.with_visits(run.n_rows, 'and')}"
    held = run.rows_text if run.is_weighted else held
    text = f"The cohort {quoted(run.cohort['name'])} holds {held} with a known outcome."
    if run.n_dropped:
        rows = plural(run.n_dropped, run.words.of_file)
        text += f" {rows} of the file without a usable outcome {'was' if run.n_dropped == 1 else 'were'} left out."
    return f"{text} {weights}" if (weights := sampling_weights(run)) else text


def sampling_weights(run: ReportedRun) -> str | None:
    """How weights enter; None without them."""
    if not run.is_weighted:
        return None
    return (
        "Weights say for how many patients each stands: counts, shares, models and measures are weighted, and all rows "
        f"of a patient stayed together in folds, resamples and standard errors{cite('binder')}."
    )


def outcome_counts(run: ReportedRun) -> str:
    """How many had the outcome, and how those followed up ended."""
    return run.kind.counts(run)


def follow_up(run: ReportedRun) -> str | None:
    """Length of follow-up; None for outcomes without times."""
    found = run.cohort.get("follow_up")
    if not found:
        return None
    if found["median"] is None:
        length = "The median follow-up was not reached"
    else:
        length = f"The median follow-up by the reverse Kaplan-Meier estimate{cite('schemper')} was {found['median']:g}"
    return f"{length}; the observed time of all patients was {found['person_time']:,.0f} (times {run.time_unit})."


def prediction_target(run: ReportedRun) -> str:
    """What is predicted, and until when."""
    return run.kind.target(run)


def predictors(run: ReportedRun) -> str:
    """Candidate predictors and the columns that they became."""
    text = f"There were {plural(len(run.features), 'candidate predictor')} ({run.kinds_of_features})"
    if run.sample_size.get("n_parameters"):
        text += f", or {run.sample_size['n_parameters']:,} columns of the design matrix"
    return text + "."


def visit_windows(run: ReportedRun) -> str | None:
    """How a patient's visits became predictors; None where a row is a patient."""
    windows = run.settings["window"]
    return run.words.windows([windows] if isinstance(windows, int) else sorted(set(windows)))


def missing_amount(run: ReportedRun) -> str:
    """How much is missing in the predictors."""
    if not run.with_missing:
        return f"No value of the {len(run.features)} predictors was missing."
    worst = run.with_missing[0]
    return (
        f"Values were missing in {len(run.with_missing)} of {len(run.features)} predictors, at most in "
        f"{percent(worst['missing_fraction'])} ({run.labels[worst['name']]})."
    )


def missing_outcome(run: ReportedRun) -> str:
    """How missing outcomes were handled."""
    rows = f"{run.words.of_file}s"
    if not run.n_dropped:
        return "No outcome was missing, and none was imputed."
    return f"The {run.n_dropped:,} {rows} without a usable outcome were left out and not imputed."


def data_checks(run: ReportedRun) -> str:
    """Checks of the file, and what they found."""
    text = (
        "On reading, the file was checked for unreadable cells, words that mean missing, unknown values of the "
        "outcome, identifiers, constant and mostly missing columns, repeated rows, and columns that give the outcome "
        "away."
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
    columns = f"{n:,} parameters, " if n else ""
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
    return f"There were {run.sample_size['events_per_predictor']:.1f} {run.kind.rarer} per candidate parameter."


def validation_sample_size(run: ReportedRun) -> str | None:
    """Patients that an external validation needs; None in older cohorts."""
    least = run.sample_size.get("validation_minimum")
    if least is None:
        return None
    return f"An external validation needs about {least:,} patients{cite('riley_validation')}."
