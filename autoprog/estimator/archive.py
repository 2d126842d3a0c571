"""A search that has ended, kept to be continued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SearchArchive:
    """A search that has ended, with the rows of its patients, to be continued."""

    database: bytes  # SQLite, compressed
    source: bytes  # the cohort's file
    spec: dict[str, Any]
    owner: str
    search_id: str
    planned_warnings: tuple[str, ...]
