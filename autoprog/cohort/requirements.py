"""What some uses of a cohort ask of its outcome."""

from __future__ import annotations

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.outcome import Binary
from autoprog.errors import Fault, InvalidInputError


def classified(cohort: Cohort, use: str, place: str = "/cohort_id") -> Binary:
    """The outcome of a cohort for a use that takes patients who have it or have not.

    Parameters
    ----------
    cohort : Cohort
        Of any mode.
    use : str
        What the cohort is wanted for, as the subject of a sentence.
    place : str
        Where the client named the cohort.

    Returns
    -------
    Binary
        Of a cohort of mode `classification`.

    Raises
    ------
    InvalidInputError
        If the cohort is of another mode.
    """
    if isinstance(cohort.outcome, Binary):
        return cohort.outcome
    detail = f"{use} takes a cohort of mode classification; this one is of mode {cohort.mode}"
    raise InvalidInputError([Fault(place, detail)])
