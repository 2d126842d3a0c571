"""How an element is answered, and where in the report the answer is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autoprog.report.run import ReportedRun


@dataclass(frozen=True)
class NotApplicable:
    """Why an element does not concern a run."""

    reason: str


Found = str | NotApplicable | None


@dataclass(frozen=True)
class Rule:
    """How an element is answered.

    Attributes
    ----------
    answer : callable (ReportedRun) -> str, NotApplicable or None
        The answer.
    anchor : str
        Section of the report where it is found.
    needs_section : bool
        Whether the section itself is the answer, so that a report without it has none.
    """

    answer: Callable[[ReportedRun], Found]
    anchor: str
    needs_section: bool = False


NO_VALIDATION = NotApplicable("The report describes development with internal validation only.")
NO_TIMES = NotApplicable("The outcome has no follow-up.")

FLOW, TABLE, METHODS, PERFORMANCE, SPECIFICATION = "flow", "characteristics", "methods", "performance", "specification"
CALIBRATION, UTILITY, SUBGROUPS, STRATA, VALIDATION = "calibration", "net-benefit", "subgroups", "strata", "validation"
MISSING, SAMPLE_SIZE, STABILITY, TITLE = "missing", "sample-size", "instability", "title"

ANCHORS = frozenset(
    (
        FLOW,
        TABLE,
        METHODS,
        PERFORMANCE,
        SPECIFICATION,
        CALIBRATION,
        UTILITY,
        SUBGROUPS,
        STRATA,
        VALIDATION,
        MISSING,
        SAMPLE_SIZE,
        STABILITY,
        TITLE,
    )
)
"""Names of the sections in which answers are found."""
