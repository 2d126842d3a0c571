"""What a client says about a cohort's file: which column is the outcome, what the others mean."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from autoprog.cohort.canonical import canonical_text
from autoprog.cohort.messages import capped, pointer
from autoprog.cohort.schema import FeatureKind
from autoprog.errors import Fault, InvalidInputError

_FROZEN = ConfigDict(extra="forbid", frozen=True)

MAX_COLUMNS = 5_000
"""The most columns that a cohort's file may have."""

MAX_NAME = 200
"""The most characters that a column's name may have."""


def _canonical(value: object) -> str:
    if not isinstance(value, bool | int | float | str):
        msg = "give a text, a number or a boolean"
        raise ValueError(msg)  # noqa: TRY004  # pydantic turns a ValueError into a validation error, a TypeError it lets pass
    if isinstance(value, float) and not math.isfinite(value):
        msg = "give a finite number"
        raise ValueError(msg)
    return canonical_text(value)


ColumnName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME)]
CellValue = Annotated[
    str,
    BeforeValidator(_canonical, json_schema_input_type=bool | int | float | str),
    StringConstraints(min_length=1, max_length=1000),
]
ShortText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class BinaryOutcomeSpec(BaseModel):
    """Where a binary outcome stands in the file."""

    model_config = _FROZEN

    column: ColumnName
    positive: Annotated[CellValue, Field(description="the value of a patient who has the outcome")]


class FeatureSpec(BaseModel):
    """What the client knows about one column; what is left out is inferred."""

    model_config = _FROZEN

    kind: FeatureKind | None = None
    unit: ShortText | None = None
    meta_group: ShortText | None = None
    levels: Annotated[
        tuple[CellValue, ...] | None,
        Field(min_length=2, max_length=1000, description="for an ordinal feature: its values, lowest first"),
    ] = None

    @model_validator(mode="after")
    def _levels_are_an_order(self) -> FeatureSpec:
        if self.levels is None:
            return self
        if self.kind != "ordinal":
            msg = f"levels are for kind 'ordinal', not {self.kind!r}"
            raise ValueError(msg)
        if len(set(self.levels)) < len(self.levels):
            msg = "levels name a value twice"
            raise ValueError(msg)
        return self


class CohortSpec(BaseModel):
    """What a cohort's file holds; `POST /v1/cohorts` takes it as JSON."""

    model_config = _FROZEN

    # Not every database can keep a NUL in a text.
    name: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00]*$")
    ]
    mode: Literal["classification"] = "classification"
    outcome: BinaryOutcomeSpec
    features: Annotated[
        dict[ColumnName, FeatureSpec],
        Field(max_length=MAX_COLUMNS, description="overrides of what is inferred; columns not named stay features"),
    ] = Field(default_factory=dict)
    ignore: Annotated[tuple[ColumnName, ...], Field(max_length=MAX_COLUMNS, description="columns to leave out")] = ()
    groups: Annotated[
        ColumnName | None,
        Field(description="column of what must not be split over folds: a hospital, a family"),
    ] = None
    na_values: Annotated[
        tuple[CellValue, ...],
        Field(max_length=100, description="cells that mean missing, beside the usual ones (NA, ?, ., -, null, ...)"),
    ] = ()
    share_statistics: bool = False

    @field_validator("mode", mode="before")
    @classmethod
    def _mode_is_supported(cls, mode: object) -> object:
        if mode != "classification":
            msg = f"mode {str(mode)[:40]!r} is not supported; this version reads 'classification' cohorts"
            raise ValueError(msg)
        return mode


def parse_spec(spec: str | bytes | Mapping[str, Any]) -> CohortSpec:
    """Read a spec as a client sends it.

    Parameters
    ----------
    spec : str, bytes or mapping
        JSON text, or what was decoded from it.

    Returns
    -------
    CohortSpec
        The validated spec.

    Raises
    ------
    InvalidInputError
        If it is no JSON, or says what a spec cannot say; names every such place below `/spec`.
    """
    try:
        decoded = json.loads(spec) if isinstance(spec, str | bytes) else spec
    except (ValueError, RecursionError) as error:
        raise InvalidInputError([Fault("/spec", f"this is no JSON: {error}")]) from None
    try:
        return CohortSpec.model_validate(decoded)
    except ValidationError as error:
        faults = [
            Fault(pointer("spec", *fault["loc"]), fault["msg"].removeprefix("Value error, "))
            for fault in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise InvalidInputError(capped(faults, "/spec")) from None
