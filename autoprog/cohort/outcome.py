"""What a cohort is asked to predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Binary:
    """An outcome that a patient has or has not.

    Attributes
    ----------
    column : str
        The column of the file that holds it.
    positive : str
        The value that means "has it", as canonical text (`"1"`, `"yes"`): see `canonical_text`.
    negative : str
        The other value.
    """

    column: str
    positive: str
    negative: str


@dataclass(frozen=True, slots=True)
class TimeToEvent:
    """An event that is followed up for, among others that may come first.

    Attributes
    ----------
    time : str
        The column of the follow-up time.
    event : str
        The column that says how the follow-up ended.
    event_of_interest : str
        The value of `event` that is predicted, as canonical text.
    horizons : tuple of float
        Times at which risks are asked for, ascending, above 0, in the unit of `time`.
    competing : tuple of str
        The values of `event` after which the event of interest cannot come, or is not looked for.
    censored : str
        The value of `event` for a patient who had no event while followed.
    """

    time: str
    event: str
    event_of_interest: str
    horizons: tuple[float, ...]
    competing: tuple[str, ...] = ()
    censored: str = "0"

    @property
    def causes(self) -> tuple[str, ...]:
        """The values of `event` in the order of their codes in `Cohort.y`: 1 is the event of interest."""
        return (self.event_of_interest, *self.competing)

    @property
    def n_causes(self) -> int:
        """Number of causes, at least 1."""
        return len(self.causes)


@dataclass(frozen=True, slots=True)
class Visits:
    """An outcome that is predicted anew at each visit of a patient.

    Attributes
    ----------
    patient : str
        The column that tells patients apart.
    visit_time : str
        The column of the time of the visit.
    horizon : float
        How far ahead of a visit is looked, above 0, in the unit of `visit_time`.
    of : Binary or TimeToEvent
        A label of the visit itself; or the event within `horizon` after the visit, which is then the only one of its
        `horizons`.
    """

    patient: str
    visit_time: str
    horizon: float
    of: Binary | TimeToEvent


Outcome: TypeAlias = Binary | TimeToEvent | Visits
"""What a cohort is asked to predict."""


def outcome_from_json(document: Mapping[str, Any]) -> Outcome:
    """Read back what `dataclasses.asdict` made of an outcome.

    Parameters
    ----------
    document : mapping
        Fields of the outcome; that of a visit's outcome stands in `of`.

    Returns
    -------
    Binary, TimeToEvent or Visits
        Equal to the one that it was made of.

    Raises
    ------
    TypeError, KeyError
        If it is of anything else.
    """
    if "of" in document:
        return Visits(**{**document, "of": _at_once(document["of"])})
    return _at_once(document)


def _at_once(document: Mapping[str, Any]) -> Binary | TimeToEvent:
    if "column" in document:
        return Binary(**document)
    lists = {name: tuple(document[name]) for name in ("horizons", "competing")}
    return TimeToEvent(**{**document, **lists})
