"""Types of the values in a spec."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from autoprog.cohort.canonical import canonical_text
from autoprog.cohort.names import plain

FROZEN = ConfigDict(extra="forbid", frozen=True)
"""Every part of a spec rejects unknown keys and is immutable."""

MAX_COLUMNS = 5_000
"""Maximum number of columns in a cohort's file."""

MAX_NAME = 200
"""Maximum number of characters in a column's name."""


def _canonical(value: object) -> str:
    if not isinstance(value, bool | int | float | str):
        msg = "give a text, a number or a boolean"
        raise ValueError(msg)  # noqa: TRY004  # pydantic turns a ValueError, but no TypeError, into a validation error
    if isinstance(value, float) and not math.isfinite(value):
        msg = "give a finite number"
        raise ValueError(msg)
    return canonical_text(value)


ColumnName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME), AfterValidator(plain)
]
CellValue = Annotated[
    str,
    # Placed next to the type, they also reject half a surrogate pair, which JSON can spell but no table can hold.
    StringConstraints(min_length=1, max_length=1000),
    BeforeValidator(_canonical, json_schema_input_type=bool | int | float | str),
]
ShortText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Duration = Annotated[float, Field(gt=0, allow_inf_nan=False)]
