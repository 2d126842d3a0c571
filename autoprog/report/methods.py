"""A methods text for a paper, written from what was run: a sentence stands in it only if the run did what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autoprog.report import sentences as say
from autoprog.report.document import ItemList, Paragraph, Section
from autoprog.report.references import Reference, number_citations
from autoprog.report.run import ReportedRun

Sentence = Callable[[ReportedRun], str | None]


@dataclass(frozen=True)
class MethodsParagraph:
    """A paragraph with its heading; numbers in brackets refer to the references."""

    heading: str
    text: str


@dataclass(frozen=True)
class Methods:
    """The methods of a run.

    Attributes
    ----------
    paragraphs : tuple of MethodsParagraph
        In the order of a paper.
    references : tuple of Reference
        Cited works by number.
    """

    paragraphs: tuple[MethodsParagraph, ...]
    references: tuple[Reference, ...]


_PARAGRAPHS: tuple[tuple[str, tuple[Sentence, ...]], ...] = (
    (
        "Patients, outcome and predictors",
        (
            say.cohort_size,
            say.prediction_target,
            say.outcome_counts,
            say.follow_up,
            say.predictors,
            say.visit_windows,
            say.encoding,
            say.missing_amount,
            say.missing_handling,
            say.sample_size,
        ),
    ),
    (
        "Model development",
        (
            say.candidate_space,
            say.censoring,
            say.search_steps,
            say.warm_start,
            say.tuning,
            say.folds,
            say.racing,
            say.search_budget,
            say.ensemble_rule,
            say.recalibration,
        ),
    ),
    (
        "Model performance",
        (
            say.discrimination,
            say.calibration,
            say.overall_accuracy,
            say.utility,
            say.performance_data,
            say.optimism,
            say.intervals,
            say.comparison,
            say.subgroup_methods,
            say.instability,
            say.patient_intervals,
            say.strata,
        ),
    ),
    ("External validation", (say.validation_methods,)),
    ("Software", (say.software,)),
)


def write_methods(run: ReportedRun) -> Methods:
    """Write the methods text of a run.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.

    Returns
    -------
    Methods
        Paragraphs of publication prose, without those that would be empty, and the references that they cite.
    """
    written = []
    for heading, parts in _PARAGRAPHS:
        text = " ".join(found for say_it in parts if (found := say_it(run)))
        if text:
            written.append((heading, text))
    texts, references = number_citations([text for _, text in written])
    headings = [heading for heading, _ in written]
    return Methods(tuple(map(MethodsParagraph, headings, texts)), references)


def methods_section(run: ReportedRun) -> Section:
    """Write the section with the methods text and its references.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.

    Returns
    -------
    Section
        Its name is `methods`.
    """
    methods = write_methods(run)
    paragraphs = [Paragraph(f"{paragraph.heading}. {paragraph.text}") for paragraph in methods.paragraphs]
    references = ItemList(tuple(reference.with_doi for reference in methods.references), numbered=True)
    return Section("methods", "Methods, for the paper", (*paragraphs, Paragraph("References"), references))
