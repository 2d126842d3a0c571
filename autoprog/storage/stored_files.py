"""Which files are stored, and which of them are still needed.

A row tells of every file from before it is written until after it is removed, so that none is forgotten, however a
process ends. Whoever stores a file keeps its row locked until what refers to the file is committed; whoever removes one
locks the row before looking whether anything refers to it. So a file is never removed while the same is being stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, exists, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from autoprog.storage.database import Database, database_now, insert_or_update
from autoprog.storage.files import Files, Kind, StoredFile
from autoprog.storage.tables import CohortRow, DiagnosisModelRow, ModelRow, StoredFileRow
from autoprog.storage.test_selection_tables import SelectionProblemRow, SelectionReplayRow

_REFERENCES: Mapping[Kind, tuple[InstrumentedAttribute[str] | InstrumentedAttribute[str | None], ...]] = {
    "cohorts": (CohortRow.sha256,),
    "models": (ModelRow.sha256,),
    "diagnosis_models": (DiagnosisModelRow.sha256,),
    "diagnosis_trees": (DiagnosisModelRow.tree_sha256,),
    "test_selection_arms": (SelectionProblemRow.arms_sha256,),
    "test_selection_tables": (SelectionProblemRow.table_sha256, SelectionReplayRow.table_sha256),
}

_ABANDONED = timedelta(hours=1)
"""Since a file was last stored or freed: whoever had not referred to it by then has died."""


def store_file(database: Database, files: Files, session: Session, kind: Kind, content: bytes) -> str:
    """Store one file; the same as `store_files`, for its kind and bytes, and its SHA-256."""
    return store_files(database, files, session, {kind: content})[kind]


def store_files(database: Database, files: Files, session: Session, contents: Mapping[Kind, bytes]) -> dict[Kind, str]:
    """Store files for rows that the same transaction is to write.

    Parameters
    ----------
    database : Database
        Where the session comes from.
    files : Files
        Beside it.
    session : Session
        The transaction. This comes before all else that it does: SQLite has but one writer, and nobody who waits for
        a file may hold what others want who have it.
    contents : mapping
        Kind of file -> its bytes.

    Returns
    -------
    dict
        Kind of file -> the SHA-256 under which it is found again.
    """
    stored = {StoredFile(kind, Files.digest(content)): content for kind, content in sorted(contents.items())}
    with database.session() as recording:
        for file in stored:
            _lock(recording, file)
    for file, content in stored.items():
        files.put(file.kind, content)
    for file, content in stored.items():
        _lock(session, file)
        if not files.has(file):  # removed just before the row was locked
            files.put(file.kind, content)
    return {file.kind: file.sha256 for file in stored}


def remove_unreferenced(database: Database, files: Files, freed: Iterable[StoredFile]) -> None:
    """Remove those of some files that no row of any owner refers to.

    Parameters
    ----------
    database : Database
        What referred to them is deleted there, and that is committed.
    files : Files
        Beside it.
    freed : iterable of StoredFile
        The files.
    """
    for file in dict.fromkeys(freed):
        with database.session() as session:
            _lock(session, file)
            if session.scalar(select(~_is_referenced()).where(_is(file))):
                files.delete(file)


def sweep(database: Database, files: Files) -> None:
    """Remove what processes have left that died between storing a file and referring to it, or before removing it.

    Parameters
    ----------
    database : Database
        Knows of the files.
    files : Files
        Beside it; files that the database does not know of stay.
    """
    with database.session(read_only=True) as session:
        abandoned = and_(StoredFileRow.put_at < database_now(session) - _ABANDONED, ~_is_referenced())
        found = [StoredFile(row.kind, row.sha256) for row in session.scalars(select(StoredFileRow).where(abandoned))]
    for file in found:
        with database.session() as session:
            locked = select(StoredFileRow).where(_is(file), abandoned).with_for_update()
            if (row := session.scalars(locked).one_or_none()) is not None:
                files.delete(file, unfinished=True)
                session.delete(row)


def _lock(session: Session, file: StoredFile) -> None:
    """Let nobody else store or remove a file until the transaction ends."""
    insert_or_update(session, StoredFileRow, {**file._asdict(), "put_at": database_now(session)})


def _is(file: StoredFile) -> ColumnElement[bool]:
    return and_(StoredFileRow.kind == file.kind, StoredFileRow.sha256 == file.sha256)


def _is_referenced() -> ColumnElement[bool]:
    return or_(
        *(
            and_(StoredFileRow.kind == kind, exists().where(column == StoredFileRow.sha256))
            for kind, columns in _REFERENCES.items()
            for column in columns
        )
    )
