"""Names that clients give: what can be stored, and encoded in an answer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from autoprog.cohort.names import is_hidden

MAX_NAME = 200
"""Most characters of a name."""

NAME_FAULT = f"give a name of 1 to {MAX_NAME} characters, none of them for control or direction"


def is_name(given: Any) -> bool:  # noqa: ANN401 - as it came out of JSON
    """Whether something is a text that can be a name; JSON can spell half a surrogate pair, which nothing can hold."""
    if not isinstance(given, str) or not given.strip() or len(given) > MAX_NAME or is_hidden(given):
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in given)


def _checked(name: str) -> str:
    if not is_name(name):
        raise ValueError(NAME_FAULT)
    return name


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_checked)]
