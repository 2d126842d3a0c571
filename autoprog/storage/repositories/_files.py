"""Which stored files are still needed."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import exists, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from autoprog.storage.files import Kind, StoredFile
from autoprog.storage.tables import CohortRow, DiagnosisModelRow, ModelRow
from autoprog.storage.test_selection_tables import SelectionProblemRow, SelectionReplayRow

_REFERENCES: dict[Kind, tuple[InstrumentedAttribute[str] | InstrumentedAttribute[str | None], ...]] = {
    "cohorts": (CohortRow.sha256,),
    "models": (ModelRow.sha256,),
    "diagnosis_models": (DiagnosisModelRow.sha256,),
    "diagnosis_trees": (DiagnosisModelRow.tree_sha256,),
    "test_selection_arms": (SelectionProblemRow.arms_sha256,),
    "test_selection_tables": (SelectionProblemRow.table_sha256, SelectionReplayRow.table_sha256),
}


def unreferenced(session: Session, files: Iterable[StoredFile]) -> tuple[StoredFile, ...]:
    """Those of the files that no row of any owner refers to."""
    return tuple(
        file
        for file in dict.fromkeys(files)
        if not any(session.scalar(select(exists().where(at == file.sha256))) for at in _REFERENCES[file.kind])
    )
