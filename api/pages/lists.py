"""Search text and cursor of a list page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query

ITEMS = 20
"""Number of items on a page of a list."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The part of a list that is asked for."""

    text: str
    cursor: str | None
    limit: int = ITEMS


def _read(
    q: Annotated[str, Query(max_length=200)] = "", cursor: Annotated[str | None, Query(max_length=500)] = None
) -> ListRequest:
    return ListRequest(q.strip(), cursor or None)


Asked = Annotated[ListRequest, Depends(_read)]
