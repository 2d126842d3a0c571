"""Pagination: one envelope, a limit and an opaque cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel, Field

Item = TypeVar("Item")


class ListDocument(BaseModel, Generic[Item]):
    """One page of a collection."""

    items: list[Item]
    next_cursor: str | None = Field(description="Value to send as `cursor` for the next page. Null on the last page.")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The page that a client asks for."""

    limit: int
    cursor: str | None


def page_request(
    limit: Annotated[int, Query(ge=1, le=200, description="Number of items per page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=500, description="`next_cursor` of the previous page.")] = None,
) -> PageRequest:
    """Read the query parameters of a list."""
    return PageRequest(limit, cursor)


PageParameters = Annotated[PageRequest, Depends(page_request)]
