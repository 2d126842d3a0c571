"""Types and limits of the values in a spec; names with invisible characters are refused."""

from __future__ import annotations

import math
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from autoprog.cohort.canonical import canonical_text

HIDDEN = "holds control or bidirectional characters, which are not seen where the name is shown"
"""Fault of such a name."""

_CATEGORIES = frozenset({"Cc", "Zl", "Zp"})
_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_hidden(text: str) -> bool:
    """Check whether a text holds control characters (line breaks included) or marks of direction."""
    return any(letter in _BIDIRECTIONAL or unicodedata.category(letter) in _CATEGORIES for letter in text)


def plain(name: str) -> str:
    """Return the name unchanged, for validators; raises ValueError if `is_hidden`."""
    if is_hidden(name):
        raise ValueError(HIDDEN)
    return name


FROZEN = ConfigDict(extra="forbid", frozen=True)
"""Every part of a spec rejects unknown keys and is immutable."""

MAX_COLUMNS = 5_000
"""Maximum number of columns in a cohort's file."""

MAX_NAME = 200
"""Maximum number of characters in a name."""

NAME_FAULT = f"give a name of 1 to {MAX_NAME} characters, none of them for control or direction"
"""Fault of what is not a name."""


def is_name(given: object) -> bool:
    """Check whether something is a text that can name a thing: it is seen, stored and sent as it is."""
    if not isinstance(given, str) or not given.strip() or len(given) > MAX_NAME or is_hidden(given):
        return False
    # JSON can spell half a surrogate pair, which no encoding can hold.
    return not any("\ud800" <= letter <= "\udfff" for letter in given)


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
