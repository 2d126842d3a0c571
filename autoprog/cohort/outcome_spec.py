"""The columns of a cohort's file that hold the outcome, in each mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field, field_validator, model_validator

from autoprog.cohort.canonical import short
from autoprog.cohort.dates import FollowUpDates, is_unit
from autoprog.cohort.spec_values import FROZEN, CellValue, ColumnName, Duration, ShortText
from autoprog.cohort.target import units_differ

MAX_HORIZONS = 50
"""Maximum number of horizons of a cohort."""

_Interest = Annotated[
    CellValue | None,
    Field(description="Value of `event` that is predicted. Optional if the column contains only 0 and 1."),
]
_Competing = Annotated[
    tuple[CellValue, ...],
    Field(max_length=20, description="Values of `event` after which the event of interest cannot occur."),
]
_Censored = Annotated[CellValue, Field(description="Value of `event` for patients without an event during follow-up.")]


_Label = Annotated[
    ShortText | None, Field(description="What tables and figures call the outcome, such as `Death` or `Readmission`.")
]
_TimeUnit = Annotated[ShortText | None, Field(description="Unit of the times, such as `days` or `years`.")]


class BinaryOutcomeSpec(BaseModel):
    """The column of a binary outcome."""

    model_config = FROZEN

    column: ColumnName
    positive: Annotated[CellValue, Field(description="Value of patients who have the outcome.")]
    label: _Label = None


class EventSpec(BaseModel):
    """The columns of a time to an event."""

    model_config = FROZEN

    time: Annotated[ColumnName, Field(description="Column of the time to the event or the end of follow-up.")]
    event: Annotated[ColumnName, Field(description="Column of the event codes at the end of follow-up.")]
    event_of_interest: _Interest = None
    competing: _Competing = ()
    censored: _Censored = "0"
    label: _Label = None
    time_unit: _TimeUnit = None

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

    dates: Annotated[
        FollowUpDates | None,
        Field(
            description="Two columns of dates, in place of a column `time`. `time` takes this object too: "
            '`{"time": {"from": "admission", "to": "last_contact", "unit": "months"}}`.'
        ),
    ] = None
    horizons: Annotated[
        tuple[Duration, ...] | None,
        Field(
            min_length=1,
            max_length=MAX_HORIZONS,
            description="Times at which risks are predicted, ascending. Default: quartiles of the event times.",
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _name_the_time(cls, document: object) -> object:
        """Take the dates out of `time`, which becomes the name of the column that they make."""
        if not isinstance(document, Mapping):
            return document
        dates = document.get("dates")
        if isinstance(document.get("time"), Mapping) and dates is None:
            dates = document["time"]
        if not isinstance(dates, Mapping):
            return document
        unit, given = dates.get("unit", "days"), document.get("time")
        made = "{} from {} to {}".format(unit, dates.get("from"), dates.get("to"))
        named = {} if document.get("time_unit") or not isinstance(unit, str) else {"time_unit": unit}
        return {**document, **named, "dates": dates, "time": given if isinstance(given, str) else made}

    @model_validator(mode="after")
    def _dates_make_the_time(self) -> TimeToEventSpec:
        if self.dates is not None and self.time != self.dates.name:
            msg = "give either a column time or dates"
            raise ValueError(msg)
        if self.dates is not None and self.event in {self.dates.start, self.dates.end}:
            msg = f"the event and a date are both column {short(self.event, 60)}"
            raise ValueError(msg)
        unit = self.time_unit or ""
        if self.dates is not None and is_unit(unit) and units_differ(unit, self.dates.unit):
            msg = f"time_unit is {unit}, and the dates make times in {self.dates.unit}: name one, beside from and to"
            raise ValueError(msg)
        return self

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
    horizon: Annotated[Duration, Field(description="Time from a visit up to which the outcome is predicted.")]

    @model_validator(mode="after")
    def _columns_differ(self) -> VisitEventSpec:
        _refuse_same({"patient": self.patient, "visit_time": self.visit_time, "time": self.time, "event": self.event})
        return self


class VisitLabelSpec(BinaryOutcomeSpec):
    """The columns of visits and their labels."""

    patient: ColumnName
    visit_time: ColumnName
    horizon: Annotated[Duration, Field(description="Time from a visit up to which the label refers.")]
    time_unit: _TimeUnit = None

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
