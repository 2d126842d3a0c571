"""PROBAST+AI filled in from a run: the signalling questions on development and evaluation that a run can answer.

The 16 questions on the quality of development and the 18 on the risk of bias of an evaluation have the numbers of the
tool and are paraphrased. The ratings of domains and of applicability are left to the author.

References
----------
Moons KGM, Damen JAA, Kaul T, et al. PROBAST+AI: an updated quality, risk of bias, and applicability assessment tool for
prediction models using regression or artificial intelligence methods. BMJ 2025;388:e082505.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Literal, NamedTuple

from autoprog.report import sentences as say
from autoprog.report.document import Column, Paragraph, Section, Table
from autoprog.report.phrases import in_one, percent, upper_first
from autoprog.report.references import PROBAST, without_citations
from autoprog.report.run import Document, ReportedRun
from autoprog.report.tripod_answers import rebalanced_learners

Part = Literal["development", "internal validation", "external validation", "apparent performance"]
"""Parts that are judged: the development, and evaluations, the last one in the training patients."""


class Answer(StrEnum):
    """Answer to a signalling question."""

    YES = "yes"
    PROBABLY_YES = "probably yes"
    PROBABLY_NO = "probably no"
    NO = "no"
    NO_INFORMATION = "no information"
    NOT_APPLICABLE = "not applicable"
    AUTHOR = "for the author"


class Verdict(NamedTuple):
    """An answer and its reason."""

    answer: Answer
    reason: str


@dataclass(frozen=True)
class SignallingQuestion:
    """A signalling question with its answer.

    Attributes
    ----------
    part : {"development", "internal validation", "external validation", "apparent performance"}
        What is judged.
    domain : str
        Participants and data sources, predictors, outcome, or analysis.
    number : str
        As in the tool, within its part.
    question : str
        Paraphrased.
    answer : Answer
        The answer.
    reason : str
        Why, or what the author should consider.
    """

    part: Part
    domain: str
    number: str
    question: str
    answer: Answer
    reason: str


Judge = Callable[[ReportedRun], Verdict]

_SHARE_LEFT_OUT = 0.05  # share of rows without an outcome from which leaving them out may matter
_GIVES_AWAY = re.compile("gives the (outcome|follow-up time) away")


def fill_probast(run: ReportedRun) -> tuple[SignallingQuestion, ...]:
    """Answer the signalling questions of PROBAST+AI.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.

    Returns
    -------
    tuple of SignallingQuestion
        16 on development, 18 on the internal validation and, if the run has one, on the external validation those that
        concern it: all but the first, fifth and sixth of the analysis. The first one, too, concerns a validation in the
        training patients, which is answered as apparent performance.
    """
    found = [*_on_patients("development", run), *_on_analysis("development", _DEVELOPMENT, run)]
    found += [*_on_patients("internal validation", run), *_on_analysis("internal validation", _INTERNAL, run)]
    if run.validation is not None:
        part: Part = "apparent performance" if run.is_apparent else "external validation"
        found += [*_on_patients(part, run), *_on_analysis(part, _APPARENT if run.is_apparent else _EXTERNAL, run)]
    return tuple(found)


def _on_patients(part: Part, run: ReportedRun) -> list[SignallingQuestion]:
    """Domains 1 to 3, whose questions are the same in both parts of the tool."""
    external = part in {"external validation", "apparent performance"}
    return [
        SignallingQuestion(
            part, domain, number, question, *(_of_author(advice) if judge is None else judge(run, external))
        )
        for domain, number, question, advice, judge in _PATIENTS
    ]


def _on_analysis(
    part: Part, questions: tuple[tuple[str, str, Judge], ...], run: ReportedRun
) -> list[SignallingQuestion]:
    found = []
    for number, question, judge in questions:
        answer, reason = judge(run)
        found.append(SignallingQuestion(part, "Analysis", number, question, answer, without_citations(reason)))
    return found


def _of_author(advice: str) -> Verdict:
    return Verdict(Answer.AUTHOR, advice)


def _same_preprocessing(run: ReportedRun, external: bool) -> Verdict:  # noqa: FBT001  as all in its table
    whom = (
        "The model's file prepares every patient in the same way." if external else "All patients were prepared alike."
    )
    if say.depends_on_outcome(run):
        return Verdict(Answer.YES, f"{whom} No step depended on centre or subgroup.")
    return Verdict(Answer.YES, f"{whom} No step depended on centre, subgroup or outcome.")


def _available_in_time(run: ReportedRun, external: bool) -> Verdict:  # noqa: FBT001
    cohort = run.validation_cohort if external else run.cohort
    suspects = [w for w in (cohort or {}).get("warnings", ()) if _GIVES_AWAY.search(w)]
    if suspects:
        return Verdict(Answer.PROBABLY_NO, f"{upper_first('; '.join(suspects))}.")
    return Verdict(Answer.AUTHOR, "Check each predictor: is it known at the moment of prediction?")


_P, _X, _O = "Participants and data sources", "Predictors", "Outcome"

_PATIENTS: tuple[tuple[str, str, str, str, Callable[[ReportedRun, bool], Verdict] | None], ...] = (
    (_P, "1.1", "Are the data sources appropriate?", "Name the source and how its data were collected.", None),
    (_P, "1.2", "Is the study design appropriate?", "A prospective cohort suits prognosis best; name yours.", None),
    (
        _P, "1.3", "Do inclusions and exclusions leave representative data?",
        "Compare these patients with those for whom the model is meant.", None,
    ),
    (
        _X, "2.1", "Were predictors defined and assessed alike for all?",
        "Say whether definitions, devices and thresholds were the same for all.", None,
    ),
    (_X, "2.2", "Were predictors preprocessed alike for all?", "", _same_preprocessing),
    (
        _X, "2.3", "Were predictors assessed without knowledge of the outcome?",
        "Say whether predictors were recorded before the outcome was known.", None,
    ),
    (_X, "2.4", "Are all predictors available when the model is used?", "", _available_in_time),
    (_O, "3.1", "Was the outcome defined and assessed appropriately?", "Describe definition and assessment.", None),
    (
        _O, "3.2", "Was the outcome defined and assessed alike for all?",
        "Say whether the same method and schedule served all patients.", None,
    ),
    (
        _O, "3.3", "Was the outcome assessed without use of the predictors?",
        "Say whether a predictor is part of the outcome's definition.", None,
    ),
    (
        _O, "3.4", "Was the time between predictors and outcome appropriate?",
        "Say why this interval, or horizon, suits the decision.", None,
    ),
)  # fmt: skip


def _development_size(run: ReportedRun) -> Verdict:
    reason = " ".join(filter(None, [say.sample_size(run), say.flexible_sample_size(run)]))
    verdict = run.sample_size["verdict"]
    if verdict == "insufficient":
        return Verdict(Answer.NO, reason)
    if verdict == "sufficient_for_regression":
        flexible = [name for name in run.member_algorithms("prediction") if say.learns_interactions(name)]
        return Verdict(Answer.PROBABLY_NO if flexible else Answer.PROBABLY_YES, reason)
    return Verdict(Answer.YES, reason)


def _handled_predictors(run: ReportedRun) -> Verdict:
    reason = f"{say.encoding(run)} {say.functional_forms(run)}"
    if "bernoulli_nb" in run.member_algorithms("prediction"):
        return Verdict(
            Answer.PROBABLY_NO, f"{reason} Naive Bayes on binary columns cuts each predictor at a threshold."
        )
    return Verdict(Answer.YES, reason)


def _handled_missing(run: ReportedRun) -> Verdict:
    parts = [say.missing_amount(run), say.missing_handling(run), say.missing_outcome(run), say.censoring(run)]
    reason = " ".join(part for part in parts if part)
    if run.n_dropped > _SHARE_LEFT_OUT * run.cohort["n_rows"]:
        return Verdict(Answer.PROBABLY_NO, f"{reason} {_left_out(run.cohort)}")
    if run.with_missing:
        single = "Imputation was single, not multiple." if _imputes(run) else None
        return Verdict(Answer.PROBABLY_YES, in_one(reason, single))
    return Verdict(Answer.YES, reason)


def _imputes(run: ReportedRun) -> bool:
    return set(run.member_algorithms("imputation")) != {"none"}


def _left_out(cohort: Document) -> str:
    share = percent(cohort["n_dropped"] / cohort["n_rows"])
    return f"Rows without a usable outcome were {share} of the file; leaving them out may be selective."


def _recalibrated(run: ReportedRun) -> Verdict:
    if not rebalanced_learners(run):
        return Verdict(Answer.NOT_APPLICABLE, "No method for class imbalance was used.")
    return Verdict(Answer.YES, say.recalibration(run))


def _overfitting(run: ReportedRun) -> Verdict:
    n = len(run.members)
    chosen = "The pipeline of the model was chosen" if n == 1 else f"The weights of the {n:,} pipelines were chosen"
    by = f"{chosen} by out-of-fold risks alone." if run.has_choice else None
    return Verdict(Answer.YES, in_one(say.tuning(run), say.recalibration(run), by))


_DEVELOPMENT: tuple[tuple[str, str, Judge], ...] = (
    ("4.1", "Was the sample size reasonable?", _development_size),
    ("4.2", "Were continuous and categorical predictors handled appropriately?", _handled_predictors),
    ("4.3", "Were missing and censored data handled appropriately?", _handled_missing),
    ("4.4", "If class imbalance was corrected, was the model recalibrated?", _recalibrated),
    ("4.5", "Was overfitting addressed?", _overfitting),
)


def _not_apparent(run: ReportedRun) -> Verdict:
    return Verdict(Answer.YES, f"{say.performance_data(run)} {say.folds(run)}")


def _evaluation_size(run: ReportedRun) -> Verdict:
    least = run.sample_size.get("validation_minimum")
    if least is None:
        return Verdict(Answer.NO_INFORMATION, "The run did not store how many patients an evaluation needs.")
    return _compared(run.n_sampled, least)


def _compared(n: int, least: int) -> Verdict:
    reason = f"Precise estimates of calibration and discrimination need about {least:,} patients; there were {n:,}."
    return Verdict(Answer.YES if n >= least else Answer.PROBABLY_NO, reason)


def _internal_missing(run: ReportedRun) -> Verdict:
    answer, reason = _handled_missing(run)
    fitted = "In each fold the training patients alone determined how held-out patients were imputed."
    return Verdict(answer, in_one(reason, fitted if _imputes(run) else None))


def _uncorrected(run: ReportedRun) -> Verdict:
    if not rebalanced_learners(run):
        return Verdict(Answer.NOT_APPLICABLE, "No method for class imbalance was used.")
    return Verdict(
        Answer.YES, "The patients of the evaluation kept their share of events: class weights apply in training alone."
    )


def _no_leakage(run: ReportedRun) -> Verdict:
    reason = in_one(
        "Every step of a pipeline was fitted to training folds alone.",
        run.unsplit,
        "Pipelines and weights were chosen on the same folds." if run.has_choice else None,
        say.optimism(run),
    )
    return Verdict(Answer.PROBABLY_YES, reason)


def _replicated(run: ReportedRun) -> Verdict:
    steps = "Imputation, feature processing, fitting and calibration were repeated in every fold"
    if not run.has_choice:
        return Verdict(Answer.PROBABLY_YES, f"{steps}. Only one pipeline was scored, so that none had to be chosen.")
    weights = ", and the weights chosen anew in the correction" if run.ensemble["score"].get("resamples") else ""
    not_repeated = "The search for pipelines was not repeated, so performance may be slightly optimistic."
    return Verdict(Answer.PROBABLY_NO, f"{steps}{weights}. {not_repeated}")


def _measured(run: ReportedRun) -> Verdict:
    return _by_measures(run, external=False)


def _measured_elsewhere(run: ReportedRun) -> Verdict:
    return _by_measures(run, external=True)


def _by_measures(run: ReportedRun, *, external: bool) -> Verdict:
    reason = f"{say.discrimination(run)} {say.calibration(run)} {say.utility(run, external=external)}"
    return Verdict(Answer.YES, reason)


_AVOIDED = "Was an evaluation by apparent performance alone avoided?"
_SIZE = "Was the sample size reasonable?"
_MISSING = "Were missing and censored data handled appropriately?"
_IMBALANCE = "If class imbalance was corrected, was the evaluation in data without correction?"
_MEASURES = "Was performance measured appropriately: calibration, discrimination, net benefit?"

_INTERNAL: tuple[tuple[str, str, Judge], ...] = (
    ("4.1", _AVOIDED, _not_apparent),
    ("4.2", _SIZE, _evaluation_size),
    ("4.3", _MISSING, _internal_missing),
    ("4.4", _IMBALANCE, _uncorrected),
    ("4.5", "If data were split, was leakage avoided?", _no_leakage),
    ("4.6", "If resampling was used, were all steps of development repeated in it?", _replicated),
    ("4.7", _MEASURES, _measured),
)


def _external_size(run: ReportedRun) -> Verdict:
    least = run.sample_size.get("validation_minimum")
    if run.validation is None or least is None:
        return Verdict(Answer.NO_INFORMATION, "The run did not store how many patients an evaluation needs.")
    return _compared(run.n_validated, least)


def _external_missing(run: ReportedRun) -> Verdict:
    reason = f"{say.validation_missing(run)} {say.missing_at_use(run)}"
    cohort = run.validation_cohort
    if cohort is not None and cohort["n_dropped"] > _SHARE_LEFT_OUT * cohort["n_rows"]:
        return Verdict(Answer.PROBABLY_NO, f"{reason} {_left_out(cohort)}")
    return Verdict(Answer.PROBABLY_YES, reason)


def _is_apparent(run: ReportedRun) -> Verdict:
    return Verdict(Answer.NO, f"{say.apparent_performance(run)}")


_EXTERNAL: tuple[tuple[str, str, Judge], ...] = (
    ("4.2", _SIZE, _external_size),
    ("4.3", _MISSING, _external_missing),
    ("4.4", _IMBALANCE, _uncorrected),
    ("4.7", _MEASURES, _measured_elsewhere),
)

_APPARENT: tuple[tuple[str, str, Judge], ...] = (("4.1", _AVOIDED, _is_apparent), *_EXTERNAL)

_COLUMNS = tuple(map(Column, ("Domain", "Number", "Question", "Answer", "Reason, or what to consider")))


def probast_section(run: ReportedRun) -> Section:
    """Write the section on PROBAST+AI, with a table for development and for each evaluation.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.

    Returns
    -------
    Section
        Its name is `probast`.
    """
    tables = [
        Table(
            f"probast-{part.replace(' ', '-')}",
            f"PROBAST+AI: {part}",
            _COLUMNS,
            tuple((q.domain, q.number, q.question, q.answer.value, q.reason) for q in questions),
        )
        for part, questions in groupby(fill_probast(run), key=lambda each: each.part)
    ]
    intro = (
        f"The signalling questions of PROBAST+AI ({PROBAST}), paraphrased, with the answers that the run gives. The "
        "ratings of the domains, of applicability and overall are the author's."
    )
    return Section("probast", "PROBAST+AI", (Paragraph(intro), *tables))
