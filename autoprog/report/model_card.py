"""A model card filled in from a run; what only the author knows is named as the author's.

References
----------
Mitchell M, Wu S, Zaldivar A, et al. Model cards for model reporting. FAT* 2019:220-229. doi:10.1145/3287560.3287596.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autoprog.report import sentences as say
from autoprog.report.document import Column, Paragraph, Section, Table
from autoprog.report.phrases import in_one, listed
from autoprog.report.references import MODEL_CARDS, without_citations
from autoprog.report.run import ReportedRun
from autoprog.report.tripod_answers import describe_strata, model_type, suggest_title


@dataclass(frozen=True)
class CardEntry:
    """One entry of a model card.

    Attributes
    ----------
    topic : str
        What it is about.
    text : str
        What the run knows, or what the author must write.
    by_author : bool
        Whether the author must write it.
    """

    topic: str
    text: str
    by_author: bool


@dataclass(frozen=True)
class CardPart:
    """A part of a model card."""

    title: str
    entries: tuple[CardEntry, ...]


Known = Callable[[ReportedRun], str | None]


def fill_model_card(run: ReportedRun) -> tuple[CardPart, ...]:
    """Fill in a model card.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.

    Returns
    -------
    tuple of CardPart
        The nine parts of a model card in their order. An entry that the run cannot fill says what the author must
        write, or is left out where the run has nothing of the kind.
    """
    return tuple(CardPart(title, tuple(_entries(rows, run))) for title, rows in _PARTS)


def _entries(rows: tuple[tuple[str, Known | None, str], ...], run: ReportedRun) -> list[CardEntry]:
    found = []
    for topic, known, advice in rows:
        text = None if known is None else known(run)
        if text:
            found.append(CardEntry(topic, without_citations(text), by_author=False))
        elif advice:
            found.append(CardEntry(topic, advice, by_author=True))
    return found


def _identity(run: ReportedRun) -> str:
    identifier = None if run.model_id is None else f"Identifier of the model: {run.model_id}."
    return in_one(f"{suggest_title(run)}.", identifier, say.update(run))


def _date(run: ReportedRun) -> str:
    made = run.search["finished_at"] if run.updated is None else run.updated["created_at"]
    return f"{made[:10]}."


def _predictors(run: ReportedRun) -> str:
    return f"{say.predictors(run)} They are {listed(list(run.labels.values()))}."


def _not_for(run: ReportedRun) -> str:
    parts = [
        "Patients unlike those of the cohort: values outside the training ranges and unknown levels lead to a warning.",
        (
            "Decisions without a clinician. The model predicts and does not say what causes the outcome, or what a "
            "treatment would change."
        ),
    ]
    return " ".join([*parts, *run.kind.limits(run), *run.words.limits])


def _groups(run: ReportedRun) -> str | None:
    if not run.subgroups:
        return None
    small = [f"{run.labels.get(g['feature'], g['feature'])} {g['label']}" for g in run.subgroups if g["brier"] is None]
    text = f"Performance was measured by {listed(list(run.subgroup_features))}."
    return f"{text} Too small to be measured: {listed(small)}." if small else text


def _uncertainty(run: ReportedRun) -> str:
    return in_one(say.intervals(run), say.patient_intervals(run))


def _evaluation(run: ReportedRun) -> str:
    return f"{say.performance_data(run)} {say.folds(run)}"


def _training(run: ReportedRun) -> str:
    return f"{say.cohort_size(run)} {say.outcome_counts(run)}"


def _digest(run: ReportedRun) -> str:
    return f"SHA-256 of the stored cohort: {run.cohort['sha256']}."


def _missing(run: ReportedRun) -> str:
    return f"{say.missing_amount(run)} {say.missing_handling(run)} {say.missing_outcome(run)}"


def _overall(run: ReportedRun) -> str:
    figures = (say.performance_figures, say.calibration_figures, say.accuracy_figures, say.gain_figures)
    return in_one(*(figure(run) for figure in figures))


def _external(run: ReportedRun) -> str | None:
    if run.external is None:
        return None
    return f"{say.validation_scores(run)} {say.validation_calibration(run)}"


def _sensitive(run: ReportedRun) -> str | None:
    named = [
        run.labels[f["name"]]
        for f in run.features
        if f.get("meta_group") == "demographics" or f["name"].lower() in _DEMOGRAPHIC
    ]
    if not named:
        return None
    return f"Demographic predictors of the model: {listed(named)}. Check whether their use is justified."


def _warnings(run: ReportedRun) -> str | None:
    found = [f"Warnings of the run: {'; '.join(run.warnings)}."] if run.warnings else []
    return " ".join([*say.verdicts(run), *found]) or None


def _stability(run: ReportedRun) -> str | None:
    return say.instability(run)


def _size(run: ReportedRun) -> str:
    return in_one(say.sample_size(run), say.flexible_sample_size(run))


def _before_use(run: ReportedRun) -> str:
    found = say.validation_sample_size(run)
    text = "Validate the model in patients of another place or time before use, and recalibrate it there if needed."
    if run.external is not None:
        text = f"{run.validated_model} was validated in {say.validation_name(run)}; validate it where it shall be used."
    return in_one(*say.verdicts(run), text, found)


_DEMOGRAPHIC = frozenset(("age", "sex", "gender", "race", "ethnicity"))

_PARTS: tuple[tuple[str, tuple[tuple[str, Known | None, str], ...]], ...] = (
    (
        "Model details",
        (
            ("Model", _identity, ""),
            ("Developed by", None, "Name the persons and the institution."),
            ("Date", _date, ""),
            ("Type", model_type, ""),
            ("Members", lambda run: f"{say.members_text(run)}.", ""),
            ("Software", say.software, "Name the software and its version."),
            ("Licence and contact", None, "Say under which terms the model can be had, and whom to ask."),
        ),
    ),
    (
        "Intended use",
        (
            ("Prediction", say.prediction_target, ""),
            ("Purpose and users", None, "Say for which decision the model is meant, and who uses it."),
            ("Not meant for", _not_for, ""),
        ),
    ),
    (
        "Factors",
        (
            ("Predictors", _predictors, ""),
            ("Groups", _groups, "Name the groups of patients in whom performance may differ."),
            ("Environment", None, "Name devices, laboratories and settings that may matter."),
        ),
    ),
    (
        "Metrics",
        (
            ("Measures", say.all_measures, ""),
            ("Uncertainty", _uncertainty, ""),
            ("Thresholds", describe_strata, ""),
        ),
    ),
    (
        "Evaluation data",
        (
            ("Internal validation", _evaluation, ""),
            (
                "External validation",
                say.validation_methods,
                "Say how the model did in other patients; this report has no validation.",
            ),
        ),
    ),
    (
        "Training data",
        (
            ("Cohort", _training, ""),
            ("Origin", None, "Name source, place and dates of the data."),
            ("Missing data", _missing, ""),
            ("Digest", _digest, ""),
        ),
    ),
    (
        "Quantitative analyses",
        (
            ("Overall", _overall, ""),
            ("By subgroup", say.subgroup_figures, "No subgroup was large enough, or none was named."),
            ("External validation", _external, ""),
        ),
    ),
    (
        "Ethical considerations",
        (
            ("Sensitive predictors", _sensitive, "Say which predictors are sensitive, and why they are needed."),
            ("Risks and harms", None, "Say what a wrong prediction would cost a patient, and how this is prevented."),
            ("Approval and consent", None, "Name the ethics committee and how patients consented."),
        ),
    ),
    (
        "Caveats and recommendations",
        (
            ("Sample size", _size, ""),
            ("Stability", _stability, "Not examined, as no time was left for refits: give the search more time."),
            ("Warnings", _warnings, ""),
            ("Before use", _before_use, ""),
        ),
    ),
)


def model_card_section(run: ReportedRun) -> Section:
    """Write the section with the model card.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.

    Returns
    -------
    Section
        Its name is `model-card`.
    """
    rows = tuple(
        (part.title, entry.topic, f"For the author: {entry.text}" if entry.by_author else entry.text)
        for part in fill_model_card(run)
        for entry in part.entries
    )
    columns = tuple(map(Column, ("Part", "Topic", "Text")))
    intro = f"A model card after {MODEL_CARDS}. What the run does not know is for the author to write."
    return Section("model-card", "Model card", (Paragraph(intro), Table("model-card", "Model card", columns, rows)))
