"""The database: connections, transactions, time and migrations, alike on SQLite and PostgreSQL."""

from __future__ import annotations

import re
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Executable, func, inspect, literal, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from autoprog.errors import ConflictError, StoreUnavailableError
from autoprog.storage.connections import connect_migration, connect_readers, connect_writers, split
from autoprog.storage.files import free_bytes, full, has_room, make_file
from autoprog.storage.tables import Base

_PRIMARY = 0xFF  # bits of SQLite's extended codes with the primary code
# SQLSTATE of PostgreSQL: the server ended an idle transaction, as of a suspended process; it takes no writes.
_DISK_FULL, _IDLE_TOO_LONG, _READ_ONLY = "53100", "25P03", "25006"
_NO_SUCH_PARENT = "23503"  # a row refers to one that is not there; deletions cascade, so none leaves others behind
_MIGRATION_LOCK = 7_242_001  # advisory lock that nothing else takes

_NOW = select(func.clock_timestamp())


class Database:
    """Everything that outlives a process.

    Parameters
    ----------
    url : str
        SQLAlchemy URL: `sqlite:///FILE` or `postgresql+psycopg://USER@HOST/NAME`.
    connections : int
        Maximum connections of this process to PostgreSQL, at least 2.

    Attributes
    ----------
    readers, writers : int
        The share of these connections that transactions can have that only read, and that of the others.
    """

    def __init__(self, url: str, *, connections: int = 30) -> None:
        self.url = url
        self.readers, self.writers = split(connections)
        # Separate pools: readers who wait for a locked table must not keep a writer or a heartbeat from a connection.
        self._reader, self._writer = connect_readers(url, connections), connect_writers(url, connections)

    @contextmanager
    def session(self, *, read_only: bool = False) -> Iterator[Session]:
        """Open one transaction: committed when the block ends, rolled back when it raises.

        It begins, and takes SQLite's writer lock, with the first statement: do long work before that.

        Parameters
        ----------
        read_only : bool
            On SQLite the block then runs beside the one writer; on both databases a write in it is an error.

        Yields
        ------
        Session
            Its rows stay readable after the block.

        Raises
        ------
        StoreUnavailableError
            If the database, a connection or a lock is unavailable, a deadlock was broken, or the database takes no
            writes. Nothing of the block is written, unless the connection broke off during the commit.
        StorageFullError
            If the database's disk is full.
        ConflictError
            If a row was written for one that was deleted meanwhile, as an upload for an owner.
        """
        engine = self._reader if read_only else self._writer
        try:
            with Session(engine, expire_on_commit=False) as session, session.begin():
                yield session
        except IntegrityError as error:
            if _lacks_parent(error.orig):
                msg = "what this belongs to was deleted meanwhile"
                raise ConflictError(msg) from error
            raise
        except (InterfaceError, InternalError, OperationalError, PoolTimeoutError) as error:
            cause = getattr(error, "orig", error)
            code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY
            state = getattr(cause, "sqlstate", None)
            is_read_only = code == sqlite3.SQLITE_READONLY or state == _READ_ONLY
            is_fault = isinstance(error, InternalError) and state not in {_IDLE_TOO_LONG, _READ_ONLY}
            # SQLite reports faults of statements, such as a table that is not there, as operational errors too.
            if is_fault or code == sqlite3.SQLITE_ERROR or (read_only and is_read_only):
                raise
            if code == sqlite3.SQLITE_FULL or state == _DISK_FULL:
                raise full(cause) from error
            msg = f"the database cannot be used: {' '.join(str(cause).split())}"
            raise StoreUnavailableError(msg) from error

    def now(self) -> datetime:
        """Read the database's time. Raises StoreUnavailableError."""
        with self.session(read_only=True) as session:
            return database_now(session)

    def has_room(self) -> bool:
        """Check whether rows can be written, as far as visible from here: only if the database is a file."""
        location = make_url(self.url)
        return location.get_backend_name() != "sqlite" or has_room(Path(location.database or "."))

    def free_bytes(self) -> int | None:
        """Return the free space, if it is visible from here: only of a file."""
        location = make_url(self.url)
        return free_bytes(Path(location.database or ".")) if location.get_backend_name() == "sqlite" else None

    def is_migrated(self) -> bool:
        """Check whether the tables are those of this version."""
        from alembic.migration import MigrationContext  # noqa: PLC0415  a search of `fit` migrates nothing
        from alembic.script import ScriptDirectory  # noqa: PLC0415

        with self._reader.connect() as connection:
            current = MigrationContext.configure(connection).get_current_heads()
        return set(current) == set(ScriptDirectory(str(_scripts())).get_heads())

    def create(self) -> None:
        """Create the tables of this version in an empty database that nobody will migrate, as a temporary one."""
        self._make_file()
        engine = connect_migration(self.url)
        Base.metadata.create_all(engine)
        engine.dispose()

    def migrate(self, revision: str = "head") -> None:
        """Migrate the tables to a revision (`base` removes all); safe while another process does the same."""
        from alembic import command  # noqa: PLC0415
        from alembic.config import Config  # noqa: PLC0415

        self._make_file()
        config = Config()
        config.set_main_option("script_location", str(_scripts()).replace("%", "%%"))
        engine = connect_migration(self.url)
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            config.attributes["connection"] = connection
            run = command.downgrade if revision == "base" else command.upgrade
            run(config, revision)

    def _make_file(self) -> None:
        """Make SQLite's file, which gives its other files the same rights."""
        location = make_url(self.url)
        if location.get_backend_name() == "sqlite" and location.database:
            make_file(Path(location.database))

    def close(self) -> None:
        """Close the pooled connections."""
        self._reader.dispose()
        self._writer.dispose()


def _lacks_parent(cause: BaseException | None) -> bool:
    """Whether a constraint of this kind was violated."""
    code = getattr(cause, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY or getattr(cause, "sqlstate", None) == _NO_SUCH_PARENT


def database_now(session: Session) -> datetime:
    """Read the database's present time in UTC, the one clock that all processes share."""
    if session.get_bind().dialect.name == "sqlite":
        return datetime.now(UTC)  # SQLite would read the same clock, in milliseconds
    now: datetime = session.connection().execute(_NOW).scalar_one()
    return now.astimezone(UTC)


def insert_if_absent(session: Session, table: type[Base], values: Mapping[str, Any]) -> bool:
    """Insert a row unless its key exists; return whether the row is new."""
    inserting = _inserting(session.get_bind().dialect.name, table)
    return session.connection().execute(inserting, values).one_or_none() is not None


def insert_or_update(session: Session, table: type[Base], values: Mapping[str, Any]) -> None:
    """Insert a row or update the given columns of that with the same key; the row stays locked."""
    session.connection().execute(_upserting(session.get_bind().dialect.name, table, tuple(values)), values)


@cache
def _inserting(dialect: str, table: type[Base]) -> Executable:
    """The statement of `insert_if_absent`."""
    return _insert(dialect, table).on_conflict_do_nothing().returning(literal(1))


@cache
def _upserting(dialect: str, table: type[Base], names: tuple[str, ...]) -> postgresql.Insert | sqlite.Insert:
    """The statement of `insert_or_update`."""
    statement = _insert(dialect, table)
    new = {name: statement.excluded[name] for name in names}
    return statement.on_conflict_do_update(index_elements=inspect(table).primary_key, set_=new)


def _insert(dialect: str, table: type[Base]) -> postgresql.Insert | sqlite.Insert:
    return (sqlite.insert if dialect == "sqlite" else postgresql.insert)(table)


def _scripts() -> Path:
    package = Path(__file__).parents[1]
    inside_wheel = package / "_migrations"
    return inside_wheel if inside_wheel.is_dir() else package.parent / "migrations"


_ID = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """Make an identifier of 12 hexadecimal digits of milliseconds, which sort by age, and 20 random ones."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def is_id(text: str) -> bool:
    """Check whether a client's text can be an identifier; PostgreSQL does not accept every text as a parameter."""
    return _ID.fullmatch(text) is not None
