"""Erase an owner with all that is hers, and patients' data that have reached a certain age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from autoprog.errors import ConflictError, NotFoundError
from autoprog.storage import test_selection_tables  # noqa: F401  (registers its tables)
from autoprog.storage.database import Database, database_now
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.repositories import AuditEvent, AuditRepository, CohortRepository
from autoprog.storage.repositories._owned import erase
from autoprog.storage.repositories.audit import local_address
from autoprog.storage.stored_files import list_files, remove_unreferenced
from autoprog.storage.tables import Base, CohortRow, DiagnosisSessionRow, OwnerRow

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Erasure:
    """Result of an erasure.

    Attributes
    ----------
    owner_id : str
        Identifier of the owner, under which the audit trail still lists her requests.
    rows : dict of str to int
        Number of rows by table, without those of their parts.
    removed : tuple of StoredFile
        Files that are gone.
    kept : tuple of StoredFile
        Files with the same content as another owner's.
    left : tuple of StoredFile
        Files that could not be removed; `sweep` removes them.
    """

    owner_id: str
    rows: dict[str, int]
    removed: tuple[StoredFile, ...]
    kept: tuple[StoredFile, ...]
    left: tuple[StoredFile, ...]


def erase_owner(database: Database, files: Files, name: str, address: str) -> Erasure:
    """Delete an owner with her keys, cohorts, searches, models and all else, and record it in the audit trail.

    Parameters
    ----------
    database : Database
        The database.
    files : Files
        Its files.
    name : str
        The owner's name.
    address : str
        Who deletes, for the audit trail.

    Returns
    -------
    Erasure
        What was deleted. Nothing that was learnt from her cohorts remains, but searches of other owners that began
        with statistics that she shared stay as they are. The audit trail, which holds no patient's values, keeps her
        identifier.

    Raises
    ------
    NotFoundError
        If there is no such owner.
    """
    with database.session() as session:
        owner = session.scalars(select(OwnerRow).where(OwnerRow.name == name).with_for_update()).one_or_none()
        if owner is None:
            msg = f"there is no owner named {name!r}"
            raise NotFoundError(msg)
        owner_id, rows, freed = owner.id, _count(session, owner.id), list_files(session, owner.id)
        session.execute(delete(OwnerRow).where(OwnerRow.id == owner_id))
        AuditRepository(session).append([AuditEvent("owners delete", owner_id, address, "done")])
    left = remove_unreferenced(database, files, freed)
    there = {file: files.has(file) for file in freed if file not in left}
    removed, kept = (tuple(file for file in there if there[file] is is_there) for is_there in (False, True))
    return Erasure(owner_id, rows, removed, kept, tuple(left))


def erase_expired(database: Database, files: Files, days: int) -> int:
    """Delete cohorts, with their searches, and diagnosis sessions that were stored more than `days` days ago.

    Each is an event of its owner in the audit trail.

    Parameters
    ----------
    database : Database
        The database.
    files : Files
        Its files.
    days : int
        The age.

    Returns
    -------
    int
        Number of cohorts and sessions deleted. Models stay, without cohort and search. A cohort with a running search
        or with a problem of test selection that waits for its classifiers stays until a later call, as does one that
        cannot be deleted, which is logged. `sweep` removes files that are left over.
    """
    with database.session() as session:
        limit = database_now(session) - timedelta(days=days)
        expired = DiagnosisSessionRow.created_at < limit
        found = select(DiagnosisSessionRow.owner_id, DiagnosisSessionRow.id).where(expired).with_for_update()
        sessions = session.execute(found).all()
        if sessions:
            erase(session, DiagnosisSessionRow, expired)
            _record(session, "retention: diagnosis session", sessions)
        erased = len(sessions)
        cohorts = session.execute(select(CohortRow.owner_id, CohortRow.id).where(CohortRow.created_at < limit)).all()
    for owner_id, cohort_id in cohorts:
        try:
            with database.session() as session:
                freed = CohortRepository(session).delete(owner_id, cohort_id, models="keep")
                _record(session, "retention: cohort", [(owner_id, cohort_id)])
            erased += 1
            remove_unreferenced(database, files, freed)
        except (ConflictError, NotFoundError):
            continue
        except Exception:  # noqa: BLE001  one cohort must not keep the others
            _log.exception("cohort_not_erased", cohort_id=cohort_id)
    return erased


def _record(session: Session, action: str, deleted: Sequence[Sequence[str]]) -> None:
    """Enter what was deleted, by owner and identifier, into the audit trail."""
    address = local_address()
    events = [AuditEvent(action, row_id, address, "done", owner_id=owner_id) for owner_id, row_id in deleted]
    AuditRepository(session).append(events)


def _count(session: Session, owner_id: str) -> dict[str, int]:
    tables = (table for table in Base.metadata.sorted_tables if "owner_id" in table.c and table.name != "audit_event")
    counts = {
        table.name: session.scalar(select(func.count()).select_from(table).where(table.c.owner_id == owner_id)) or 0
        for table in tables
    }
    return {name: count for name, count in counts.items() if count}
