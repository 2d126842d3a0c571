"""The outcome that a cohort predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary outcome.

    Attributes
    ----------
    column : str
        The outcome's column in the file.
    positive : str
        The value with the outcome, as `canonical_text` (`"1"`, `"yes"`).
    negative : str
        The other value.
    label : str or None
        What tables and figures call the outcome.
    """

    column: str
    positive: str
    negative: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class TimeToEvent:
    """An event that is followed up, possibly with competing events.

    Attributes
    ----------
    time : str
        The column of the follow-up time.
    event : str
        The column that says how the follow-up ended.
    event_of_interest : str
        The value of `event` that is predicted, as `canonical_text`.
    horizons : tuple of float
        Times at which risks are predicted, ascending, above 0, in the unit of `time`.
    competing : tuple of str
        The values of `event` after which the event of interest cannot occur or is not observed.
    censored : str
        The value of `event` for a patient without an event during follow-up.
    label : str or None
        What tables and figures call the event of interest.
    time_unit : str or None
        Unit of the times.
    """

    time: str
    event: str
    event_of_interest: str
    horizons: tuple[float, ...]
    competing: tuple[str, ...] = ()
    censored: str = "0"
    label: str | None = None
    time_unit: str | None = None

    @property
    def causes(self) -> tuple[str, ...]:
        """Values of `event` in the order of their codes in `Cohort.y`: 1 is the event of interest."""
        return (self.event_of_interest, *self.competing)

    @property
    def n_causes(self) -> int:
        """Number of causes, at least 1."""
        return len(self.causes)


@dataclass(frozen=True, slots=True)
class Visits:
    """An outcome that is predicted at each visit of a patient.

    Attributes
    ----------
    patient : str
        The column that identifies patients.
    visit_time : str
        The column of the time of the visit.
    horizon : float
        Prediction horizon from each visit, above 0, in the unit of `visit_time`.
    of : Binary or TimeToEvent
        A label of the visit, or the event after it, with `horizon` as the only one of its `horizons`.
    time_unit : str or None
        Unit of the times.
    """

    patient: str
    visit_time: str
    horizon: float
    of: Binary | TimeToEvent
    time_unit: str | None = None


Outcome: TypeAlias = Binary | TimeToEvent | Visits
"""The outcome that a cohort predicts."""


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Write an outcome as JSON; a label or unit of None is left out, so that digests stay those of earlier versions."""
    document = asdict(outcome)
    for part in (document, document.get("of", {})):
        for name in ("label", "time_unit"):
            if name in part and part[name] is None:
                del part[name]
    return document


def outcome_from_json(document: Mapping[str, Any]) -> Outcome:
    """Rebuild an outcome from its `outcome_to_json`.

    Parameters
    ----------
    document : mapping
        Fields of the outcome; `of` holds the outcome at a visit.

    Returns
    -------
    Binary, TimeToEvent or Visits
        Equal to the original.

    Raises
    ------
    TypeError, KeyError
        If the document is anything else.
    """
    if "of" in document:
        return Visits(**{**document, "of": _at_once(document["of"])})
    return _at_once(document)


def _at_once(document: Mapping[str, Any]) -> Binary | TimeToEvent:
    if "column" in document:
        return Binary(**document)
    lists = {name: tuple(document[name]) for name in ("horizons", "competing")}
    return TimeToEvent(**{**document, **lists})
