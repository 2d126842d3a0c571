"""Names that clients give: texts that can be stored and encoded in a response."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from autoprog.cohort.spec_values import is_hidden

MAX_NAME = 200
"""Largest number of characters in a name."""

NAME_FAULT = f"give a name of 1 to {MAX_NAME} characters, none of them for control or direction"


def is_name(given: Any) -> bool:  # noqa: ANN401 - as it came out of JSON
    """Whether something is a text that can be a name."""
    if not isinstance(given, str) or not given.strip() or len(given) > MAX_NAME or is_hidden(given):
        return False
    # JSON can spell half a surrogate pair, which no encoding can hold.
    return not any("\ud800" <= letter <= "\udfff" for letter in given)


def _checked(name: str) -> str:
    if not is_name(name):
        raise ValueError(NAME_FAULT)
    return name


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_checked)]
