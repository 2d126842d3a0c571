"""The first section: what a reader must know before any number, and the result in a sentence."""

from __future__ import annotations

from autoprog.endpoints import list_parts
from autoprog.report import sentences as say
from autoprog.report.digits import bounded
from autoprog.report.document import Block, ItemList, Notice, Paragraph, Section
from autoprog.report.phrases import percent, plural
from autoprog.report.run import Document, ReportedRun
from autoprog.report.wording import outcome_within, rows_name, within


def first_section(run: ReportedRun) -> Section:
    """Whether the model knows anything, the warnings, and the result."""
    blocks: list[Block] = [*map(Notice, say.verdicts(run))]
    if run.updated is not None:
        validated = "The validation is of this version; all else in this report is of version 1."
        blocks.append(Notice(f"{say.update(run)} {validated}", "info"))
    blocks.append(Paragraph(_summary(run)))
    if run.warnings:
        blocks += [Notice("Warnings about the patients, the search and the model:"), ItemList(run.warnings)]
    blocks.append(
        Notice("Not a medical device. For research; a model needs validation in other patients before use.", "info")
    )
    return Section("first", "Read this first", tuple(blocks))


def _summary(run: ReportedRun) -> str:
    text = [f"The model predicts: {outcome_within(run)}. It was made from {run.rows_text}; {_frequency(run)}."]
    text.append(_area(run.ensemble, run, "Out of fold, in patients whom the respective pipelines had not seen,"))
    if run.validation is not None:
        text.append(_area(run.validation, run, f"In {run.n_validated:,} {run.validated_patients}"))
    return " ".join(part for part in text if part)


def _frequency(run: ReportedRun) -> str:
    """Tell how many of all had the outcome; for visits with a follow-up, count patients and add the share of visits."""
    carrier = run.kind.carriers(run)
    total = run.n_patients if carrier == "patient" else run.n_rows
    during = run.kind.if_timed(" during observation") or ""
    share = percent(run.n_with_outcome / total)
    text = f"{run.n_with_outcome:,} of {plural(total, carrier)} ({share}) had the outcome{during}"
    if carrier == run.words.row:
        return text
    return f"{text}, and {percent(float(run.cohort['event_rate']))} of the {rows_name(run)} were followed by it"


def _area(found: Document, run: ReportedRun, where: str) -> str:
    last, part = list_parts(found)[-1]
    p, name = part.get("performance"), run.kind.area
    if not p:
        return ""
    area = {"estimate": p[name], **((p.get("intervals") or {}).get(name) or {})}
    skill = {"estimate": p["brier_skill"], **((p.get("intervals") or {}).get("brier_skill") or {})}
    curve = f"the area under the ROC curve{within(run, last)}"
    return f"{where} {curve} is {bounded(area)} and the Brier skill {bounded(skill)}."
