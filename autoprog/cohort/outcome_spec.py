"""The columns of a cohort's file that hold the outcome, in each mode."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator, model_validator

from autoprog.cohort.canonical import short
from autoprog.cohort.spec_values import FROZEN, CellValue, ColumnName, Duration

MAX_HORIZONS = 50
"""Maximum number of horizons of a cohort."""

_Interest = Annotated[
    CellValue | None,
    Field(description="the value of `event` that is predicted; may be left out where the column holds 0 and 1 alone"),
]
_Competing = Annotated[
    tuple[CellValue, ...],
    Field(max_length=20, description="the values of `event` after which the event of interest cannot come"),
]
_Censored = Annotated[CellValue, Field(description="the value of `event` without an event while followed")]


class BinaryOutcomeSpec(BaseModel):
    """The column of a binary outcome."""

    model_config = FROZEN

    column: ColumnName
    positive: Annotated[CellValue, Field(description="the value of a patient who has the outcome")]


class EventSpec(BaseModel):
    """The columns of a time to an event."""

    model_config = FROZEN

    time: Annotated[ColumnName, Field(description="column of the time to the event or the end of follow-up")]
    event: Annotated[ColumnName, Field(description="column that says how the follow-up ended")]
    event_of_interest: _Interest = None
    competing: _Competing = ()
    censored: _Censored = "0"

    @model_validator(mode="after")
    def _parts_differ(self) -> EventSpec:
        if self.time == self.event:
            msg = f"time and event are both column {short(self.time, 60)}"
            raise ValueError(msg)
        codes = [*self.competing, self.censored, *([self.event_of_interest] if self.event_of_interest else [])]
        twice = next((code for code in codes if codes.count(code) > 1), None)
        if twice is not None:
            msg = f"event_of_interest, competing and censored name {short(twice)} twice"
            raise ValueError(msg)
        return self


class TimeToEventSpec(EventSpec):
    """The columns of a survival cohort's outcome."""

    horizons: Annotated[
        tuple[Duration, ...] | None,
        Field(
            min_length=1,
            max_length=MAX_HORIZONS,
            description="times at which risks are asked for, ascending; by default the quartiles of the event times",
        ),
    ] = None

    @field_validator("horizons")
    @classmethod
    def _ascend(cls, horizons: tuple[float, ...] | None) -> tuple[float, ...] | None:
        for earlier, later in zip(horizons or (), (horizons or ())[1:], strict=False):
            if later <= earlier:
                msg = f"horizons must ascend, and {later:g} comes after {earlier:g}"
                raise ValueError(msg)
        return horizons


class VisitEventSpec(EventSpec):
    """The columns of visits and the event that follows them; time and visits count from the same moment."""

    patient: ColumnName
    visit_time: ColumnName
    horizon: Annotated[Duration, Field(description="how far ahead of a visit is looked")]

    @model_validator(mode="after")
    def _columns_differ(self) -> VisitEventSpec:
        _refuse_same({"patient": self.patient, "visit_time": self.visit_time, "time": self.time, "event": self.event})
        return self


class VisitLabelSpec(BinaryOutcomeSpec):
    """The columns of visits and their labels."""

    patient: ColumnName
    visit_time: ColumnName
    horizon: Annotated[Duration, Field(description="how far ahead of a visit the label looks")]

    @model_validator(mode="after")
    def _columns_differ(self) -> VisitLabelSpec:
        _refuse_same({"patient": self.patient, "visit_time": self.visit_time, "column": self.column})
        return self


OutcomeSpec = BinaryOutcomeSpec | TimeToEventSpec | VisitEventSpec | VisitLabelSpec


def outcome_columns(outcome: OutcomeSpec) -> dict[str, str]:
    """Columns of an outcome by key: `column`, `time`, `event`, `patient`, `visit_time`."""
    keys = ("patient", "visit_time", "time", "event", "column")
    return {key: getattr(outcome, key) for key in keys if hasattr(outcome, key)}


def _refuse_same(columns: dict[str, str]) -> None:
    first: dict[str, str] = {}
    for key, name in columns.items():
        if name in first:
            msg = f"{first[name]} and {key} are both column {short(name, 60)}"
            raise ValueError(msg)
        first[name] = key
