"""Names that clients give: texts that can be stored and encoded in a response."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from autoprog.cohort.spec_values import MAX_NAME, NAME_FAULT, is_name

__all__ = ["MAX_NAME", "NAME_FAULT", "Name", "is_name"]


def _checked(name: str) -> str:
    if not is_name(name):
        raise ValueError(NAME_FAULT)
    return name


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_checked)]
