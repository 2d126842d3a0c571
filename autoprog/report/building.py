"""The report of a search, and of a validation of its model, from their stored documents."""

from __future__ import annotations

from dataclasses import replace

from autoprog.cohort import CohortDescription
from autoprog.report import sentences as say
from autoprog.report.digits import bounded, decimal, percentage, significant
from autoprog.report.digits import measured as show_measure
from autoprog.report.document import Column, Notice, Paragraph, Report, Section, Table
from autoprog.report.methods import methods_section
from autoprog.report.model_card import model_card_section
from autoprog.report.phrases import plural, upper_first
from autoprog.report.probast import probast_section
from autoprog.report.run import Document, ReportedRun
from autoprog.report.sections.contributions import contributions_section
from autoprog.report.sections.explanation import explanation_section
from autoprog.report.sections.first import first_section
from autoprog.report.sections.patients import characteristics_section, flow_section, missing_section
from autoprog.report.sections.performance import calibration_section, performance_section
from autoprog.report.sections.specification import (
    leaderboard_section,
    sample_size_section,
    software_section,
    specification_section,
)
from autoprog.report.sections.utility import (
    instability_section,
    rules_section,
    strata_section,
    subgroups_section,
    utility_section,
)
from autoprog.report.tripod import tripod_section
from autoprog.report.wording import outcome_within, within


def build_report(run: ReportedRun, description: CohortDescription | None = None) -> Report:
    """Build the report of a search, with the validation that the run holds, if any.

    Parameters
    ----------
    run : ReportedRun
        The stored documents.
    description : CohortDescription or None
        The patients by outcome, from the cohort's file; without it the sections that need it say so.

    Returns
    -------
    Report
        All sections. One that does not apply has a reason in place of its content.
    """
    found = run.ensemble
    sections = [
        first_section(run),
        *_validation_sections(run),
        flow_section(run),
        characteristics_section(run, description),
        missing_section(run, description),
        sample_size_section(run),
        performance_section(run, found),
        calibration_section(run, found),
        utility_section(run, found),
        strata_section(run),
        subgroups_section(run, found),
        instability_section(run),
        rules_section(run),
        explanation_section(run),
        contributions_section(run),
        specification_section(run),
        leaderboard_section(run),
        software_section(run),
    ]
    sections += _texts(run, sections)
    kind = "Development and internal validation" if run.validation is None else _validation_kind(run)
    n = run.n_sampled if run.validation is None else run.n_validated
    model = "a prognostic model" if run.updated is None else f"version {run.updated['version']} of a prognostic model"
    subtitle = f"{outcome_within(run)}. {kind} of {model} in {plural(n, 'patient')}."
    return Report(str(run.cohort["name"]), subtitle, tuple(sections))


_TEXTS = {
    "methods": "Methods, for the paper",
    "tripod": "TRIPOD+AI",
    "probast": "PROBAST+AI",
    "model-card": "Model card",
}
_TOO_OLD = "Left out: the search ended before this program stored the measures that the text needs."


def _texts(run: ReportedRun, sections: list[Section]) -> list[Section]:
    """Methods, guidelines and model card, which need the measures of a search."""
    if not run.ensemble.get("performance") and not run.horizon_documents:
        return [Section(name, title, left_out=_TOO_OLD) for name, title in _TEXTS.items()]
    methods = methods_section(run)
    # An answer is found only in a section that has content.
    titles = {section.name: section.title for section in (*sections, methods) if section.left_out is None}
    return [methods, tripod_section(run, titles), probast_section(run), model_card_section(run)]


def _validation_kind(run: ReportedRun) -> str:
    return "Apparent performance" if run.is_apparent else "External validation"


def _validation_sections(run: ReportedRun) -> list[Section]:
    """Performance in other patients, to be read before that of the development; or in the training patients."""
    measured = run.validation
    if measured is None:
        return []
    return [
        _validation_section(run, measured),
        performance_section(run, measured, external=True),
        calibration_section(run, measured, external=True),
        utility_section(_without_baseline(run), measured, external=True),
        subgroups_section(run, measured, external=True),
        _shift_section(run, measured),
    ]


def _without_baseline(run: ReportedRun) -> ReportedRun:
    return replace(run, ensemble={**run.ensemble, "baseline": None})


def _validation_section(run: ReportedRun, measured: Document) -> Section:
    """The patients of the validation, and the model's figures in them beside those of the development."""
    other = run.validation_cohort
    name = run.validated_patients if other is None else str(other["name"])
    sample = run.words.validated(run, measured)
    text = (
        f"{name}: {sample}; {run.kind.expected(run, measured)}. Calibration slope{run.kind.last} "
        f"{bounded(measured['calibration']['slope'])}."
    )
    development, validation = "Development", upper_first(run.validated_patients)
    if run.updated is not None:
        text = f"{say.update(run)} {text}"
        development, validation = "Development of version 1", f"{validation}, version {run.updated['version']}"
    columns = (Column("Measure"), Column(f"{development}, out of fold", "number"), Column(validation, "number"))
    title = f"The model in {run.validated_patients}, beside its development"
    table = Table("validation", title, columns, tuple(_beside(run, measured)))
    apparent = say.apparent_performance(run)
    notices = () if apparent is None else (Notice(apparent),)
    return Section("validation", _validation_kind(run), (*notices, Paragraph(text), table))


_COMPARED = (("brier", "Brier score"), ("brier_skill", "Brier skill score"))


def _beside(run: ReportedRun, measured: Document) -> list[tuple[str, ...]]:
    """Measures of the development and of the validation, at every horizon that both have."""
    pairs: list[tuple[str, str, Document, Document]] = []
    if measured.get("performance") and run.ensemble.get("performance"):
        pairs.append(("", "auc_roc", run.ensemble["performance"], measured["performance"]))
    here = {each["horizon"]: each["performance"] for each in run.horizon_documents}
    for each in measured.get("horizons") or ():
        if each["horizon"] in here:
            where = f",{within(run, each['horizon'])}"
            pairs.append((where, "auc", here[each["horizon"]], each["performance"]))
    rows: list[tuple[str, ...]] = [
        (title + where, *(show_measure(document, key) for document in (before, after)))
        for where, area, before, after in pairs
        for key, title in ((area, "Area under the ROC curve"), *_COMPARED)
    ]
    slopes = (bounded(found["calibration"]["slope"]) for found in (run.ensemble, measured))
    return [*rows, (f"Calibration slope{run.kind.last}", *slopes)]


def _shift_section(run: ReportedRun, measured: Document) -> Section:
    """How the values of the validation's patients differ from those of the development."""
    rows = tuple(
        (
            run.labels.get(shift["feature"], shift["feature"]),
            _range(shift["training_range"]),
            _range(shift["range"]),
            percentage(shift["outside"]),
            percentage(shift["training_missing"]),
            percentage(shift["missing"]),
        )
        for shift in measured["features"]
    )
    titles = ("Range, development", "Range, here", "Outside", "Missing, development", "Missing, here")
    columns = (Column("Predictor"), *(Column(title, "number") for title in titles))
    title = f"Predictors in {run.validated_patients}"
    return Section("validation-predictors", title, (Table("validation-predictors", title, columns, rows),))


def _range(ends: list[float] | None) -> str:
    return decimal(None) if ends is None else f"{significant(ends[0])} to {significant(ends[1])}"
