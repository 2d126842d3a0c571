"""Which stored files are still needed."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from autoprog.storage.files import Kind, StoredFile
from autoprog.storage.tables import CohortRow, ModelRow

_TABLES: dict[Kind, type[CohortRow | ModelRow]] = {"cohorts": CohortRow, "models": ModelRow}


def unreferenced(session: Session, files: Iterable[StoredFile]) -> tuple[StoredFile, ...]:
    """Those of the files that no row of any owner refers to."""
    return tuple(
        file
        for file in dict.fromkeys(files)
        if not session.scalar(select(exists().where(_TABLES[file.kind].sha256 == file.sha256)))
    )
