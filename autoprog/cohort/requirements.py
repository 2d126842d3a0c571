"""Requirements that some uses of a cohort have for its outcome."""

from __future__ import annotations

from autoprog.cohort.cohort import Cohort
from autoprog.cohort.outcome import Binary
from autoprog.errors import Fault, InvalidInputError


def classified(cohort: Cohort, use: str, place: str = "/cohort_id") -> Binary:
    """Return a cohort's outcome for a use that requires a binary one.

    Parameters
    ----------
    cohort : Cohort
        A cohort of any mode.
    use : str
        The use of the cohort, as the subject of a sentence.
    place : str
        JSON pointer to where the client named the cohort.

    Returns
    -------
    Binary
        The outcome of a cohort of mode `classification`.

    Raises
    ------
    InvalidInputError
        If the cohort has another mode.
    """
    if isinstance(cohort.outcome, Binary):
        return cohort.outcome
    detail = f"{use} takes a cohort of mode classification; this one is of mode {cohort.mode}"
    raise InvalidInputError([Fault(place, detail)])
