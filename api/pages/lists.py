"""Search text and cursor of a list page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from fastapi import Depends, Query

from autoprog.storage.pages import Page

Row = TypeVar("Row")

ITEMS = 20
"""Number of items on a page of a list."""


class Named(Protocol[Row]):
    """A repository whose resources are found by their names."""

    def find(self, owner_id: str, text: str, *, limit: int, cursor: str | None) -> Page[Row]:
        """List those whose name contains a text, newest first."""
        ...


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The part of a list that is asked for."""

    text: str
    cursor: str | None

    def find(self, named: Named[Row], owner_id: str) -> Page[Row]:
        """Find the part among an owner's resources; raises InvalidInputError for an invalid cursor."""
        return named.find(owner_id, self.text, limit=ITEMS, cursor=self.cursor)


def _read(
    q: Annotated[str, Query(max_length=200)] = "", cursor: Annotated[str | None, Query(max_length=500)] = None
) -> ListRequest:
    return ListRequest(q.strip(), cursor or None)


Asked = Annotated[ListRequest, Depends(_read)]
