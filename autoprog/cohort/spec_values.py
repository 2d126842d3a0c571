"""The kinds of value that a spec is made of."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from autoprog.cohort.canonical import canonical_text
from autoprog.cohort.names import plain

FROZEN = ConfigDict(extra="forbid", frozen=True)
"""What every part of a spec is: closed to unknown keys, and never changed."""

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


ColumnName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME), AfterValidator(plain)
]
CellValue = Annotated[
    str,
    # Next to the type, they also refuse half a surrogate pair, which JSON can spell and no table can hold.
    StringConstraints(min_length=1, max_length=1000),
    BeforeValidator(_canonical, json_schema_input_type=bool | int | float | str),
]
ShortText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Duration = Annotated[float, Field(gt=0, allow_inf_nan=False)]
