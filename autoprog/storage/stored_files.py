"""Stored files, and the check whether they are still needed.

A row exists for each file from before it is written until after it is removed. Storing locks the row until the file's
references are committed; removing locks it before looking for references. So a file being stored is never removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

import structlog
from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from autoprog.errors import ArtifactError
from autoprog.storage.database import Database, database_now, insert_or_update
from autoprog.storage.files import SIGNED, Files, Kind, StoredFile
from autoprog.storage.tables import CohortRow, DiagnosisModelRow, ModelRow, StoredFileRow
from autoprog.storage.test_selection_tables import SelectionProblemRow, SelectionReplayRow

_log = structlog.get_logger()

REFERENCES: Mapping[Kind, tuple[InstrumentedAttribute[str] | InstrumentedAttribute[str | None], ...]] = {
    "cohorts": (CohortRow.sha256,),
    "identifiers": (CohortRow.identifiers_sha256,),
    "models": (ModelRow.sha256,),
    "diagnosis_models": (DiagnosisModelRow.sha256,),
    "diagnosis_trees": (DiagnosisModelRow.tree_sha256,),
    "test_selection_arms": (SelectionProblemRow.arms_sha256,),
    "test_selection_tables": (SelectionProblemRow.table_sha256, SelectionReplayRow.table_sha256),
}
"""Columns that refer to files, by kind of file."""

_ABANDONED = timedelta(hours=1)
"""Time since a file was last stored or freed, after which a process that does not refer to it has died."""


def store_file(database: Database, files: Files, session: Session, kind: Kind, content: bytes) -> str:
    """Store one file as `store_all` does, and return its SHA-256."""
    return store_files(database, files, session, {kind: content})[kind]


def store_files(database: Database, files: Files, session: Session, contents: Mapping[Kind, bytes]) -> dict[Kind, str]:
    """Store one file of each kind as `store_all` does, and return their SHA-256."""
    return {file.kind: file.sha256 for file in store_all(database, files, session, contents.items())}


def store_all(
    database: Database, files: Files, session: Session, contents: Iterable[tuple[Kind, bytes]]
) -> list[StoredFile]:
    """Store files, and keep others from removing them until the session's transaction ends.

    A row of each file is committed before the file is written, so that `sweep` finds the file if this process dies. The
    session then locks the row. A file that was removed before the lock is written again.

    Parameters
    ----------
    database : Database
        The database.
    files : Files
        Its files.
    session : Session
        The transaction whose rows will refer to the files. It must have done nothing yet: SQLite has one writer, and
        whoever waits for a file while holding other locks can cause a deadlock.
    contents : iterable of (Kind, bytes)
        The files; the same one may come twice.

    Returns
    -------
    list of StoredFile
        The files, in the same order.

    Raises
    ------
    StorageFullError
        If the disk is full.
    """
    given = [(StoredFile(kind, Files.digest(content)), content) for kind, content in contents]
    stored = dict(sorted(given))
    with database.session() as recording:
        for file in stored:
            _lock(recording, file)
    for file, content in stored.items():
        files.put(file.kind, content)
    for file, content in stored.items():
        _lock(session, file, n_bytes=len(content))
        if not files.has(file):
            files.put(file.kind, content)
    return [file for file, _ in given]


def list_files(session: Session, owner_id: str) -> list[StoredFile]:
    """List the files that an owner's rows refer to, each once."""
    found = (
        StoredFile(kind, sha256)
        for kind, columns in REFERENCES.items()
        for column in columns
        for sha256 in session.scalars(select(column).where(column.class_.owner_id == owner_id))
        if sha256 is not None
    )
    return list(dict.fromkeys(found))


def count_bytes(session: Session, owner_id: str) -> int:
    """Count the bytes of the files that an owner's rows refer to."""
    referred = or_(
        *(
            and_(
                StoredFileRow.kind == kind,
                exists().where(column == StoredFileRow.sha256, column.class_.owner_id == owner_id),
            )
            for kind, columns in REFERENCES.items()
            for column in columns
        )
    )
    return session.scalar(select(func.coalesce(func.sum(StoredFileRow.n_bytes), 0)).where(referred)) or 0


def remove_unreferenced(database: Database, files: Files, freed: Iterable[StoredFile]) -> list[StoredFile]:
    """Remove those files that no row refers to any more; call it after the deletion of the rows is committed.

    Parameters
    ----------
    database : Database
        The database.
    files : Files
        Its files.
    freed : iterable of StoredFile
        Files to which rows referred.

    Returns
    -------
    list of StoredFile
        Those that could not be removed, as the storage or the database refused; each is logged. `sweep` removes them.
    """
    left = []
    for file in dict.fromkeys(freed):
        try:
            with database.session() as session:
                _lock(session, file)
                if session.scalar(select(~_is_referenced()).where(_is(file))):
                    files.delete(file)
        except Exception:  # noqa: BLE001  each storage has errors of its own, and what is deleted stays deleted
            _log_kept(file)
            left.append(file)
    return left


def sweep(database: Database, files: Files) -> None:
    """Remove files with a row that processes left when they died before referring to them or removing them."""
    with database.session(read_only=True) as session:
        abandoned = and_(StoredFileRow.put_at < database_now(session) - _ABANDONED, ~_is_referenced())
        found = [StoredFile(row.kind, row.sha256) for row in session.scalars(select(StoredFileRow).where(abandoned))]
    for file in found:
        try:
            with database.session() as session:
                locked = select(StoredFileRow).where(_is(file), abandoned).with_for_update()
                if (row := session.scalars(locked).one_or_none()) is not None:
                    files.delete(file, unfinished=True)
                    session.delete(row)
        except Exception:  # noqa: BLE001  each storage has errors of its own; the file stays until a later call
            _log_kept(file)


def _log_kept(file: StoredFile) -> None:
    """Log the present exception, for which a file stays."""
    _log.exception("file_not_removed", kind=file.kind, sha256=file.sha256)


def sign_files(database: Database, files: Files, note: Callable[[Session, StoredFile], None]) -> tuple[int, list[str]]:
    """Sign everything again that an accepted key has signed; return the number signed and what is wrong with others."""
    # `note` records a signed file, in the transaction that keeps it.
    with database.session(read_only=True) as session:
        signed = and_(StoredFileRow.kind.in_(SIGNED), _is_referenced())
        found = [StoredFile(row.kind, row.sha256) for row in session.scalars(select(StoredFileRow).where(signed))]
    n, wrong = 0, []
    for file in found:
        with database.session() as session:
            _lock(session, file)
            if session.scalar(select(_is_referenced()).where(_is(file))):
                try:
                    is_signed = files.sign_again(file)
                except ArtifactError as error:
                    wrong.append(str(error))
                    continue
                if is_signed:
                    note(session, file)
                    n += 1
    return n, wrong


def _lock(session: Session, file: StoredFile, **more: int) -> None:
    """Keep others from storing or removing a file until the transaction ends."""
    insert_or_update(session, StoredFileRow, {**file._asdict(), "put_at": database_now(session), **more})


def _is(file: StoredFile) -> ColumnElement[bool]:
    return and_(StoredFileRow.kind == file.kind, StoredFileRow.sha256 == file.sha256)


def _is_referenced() -> ColumnElement[bool]:
    return or_(
        *(
            and_(StoredFileRow.kind == kind, exists().where(column == StoredFileRow.sha256))
            for kind, columns in REFERENCES.items()
            for column in columns
        )
    )
