"""Connections to SQLite and PostgreSQL: their number, and how long each waits.

Every wait is bounded. On PostgreSQL a reader waits only for a table that is being changed, and gives up before a
writer, who waits for other writers' rows. The server ends a stopped process's transaction, which frees its locks.

A reader of PostgreSQL sends its statements without a transaction. In one, too, each statement would see what is
committed by then, and messages to and fro are much of what a short request costs. For the same reason a connection that
was used within the last second is not checked first.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

_BUSY_TIMEOUT_MS = 10_000
_MIGRATION_TIMEOUT_MS = 120_000  # for another migrating process, on a busy machine
_TURN_TIMEOUT_S = 30.0
_BUSY_POLL_S = 0.01

_KEPT_OPEN = 10
_SQLITE_CONNECTIONS = 64  # they cost nothing; more than a process has threads that use one
_READERS = 2 / 3
_IDLE_TRANSACTION_MS = 60_000
_FRESH_S = 1.0  # a connection that was used so recently is taken to stand
# libpq's names. A connection whose other end is gone is closed after 10 + 3 x 5 s.
_NETWORK = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits of a session's waits, in seconds."""

    lock_s: float  # for a lock of PostgreSQL, and for a connection of the pool
    statement_s: float  # for one statement, including the wait for its locks


READER = Patience(lock_s=2.0, statement_s=30.0)
WRITER = Patience(lock_s=5.0, statement_s=60.0)


def split(connections: int) -> tuple[int, int]:
    """Divide a process's connections to PostgreSQL, at least 2, into those that read and those that write."""
    readers = max(1, min(connections - 1, round(_READERS * connections)))
    return readers, max(1, connections - readers)


def connect_readers(url: str, connections: int) -> Engine:
    """Make an engine for read-only transactions, with two thirds of the process's connections to PostgreSQL."""
    engine = _connect(make_url(url), READER, split(connections)[0], reads=True)
    return engine.execution_options(sqlite_read_only=True)


def connect_writers(url: str, connections: int) -> Engine:
    """Make an engine for writing transactions, with the other third of the connections."""
    return _connect(make_url(url), WRITER, split(connections)[1], reads=False)


def connect_migration(url: str) -> Engine:
    """Make an unpooled engine that changes tables and may take any time."""
    # Without foreign keys: SQLite rebuilds tables for most changes, and dropping the old one would delete its children.
    return _engine(make_url(url), _network_arguments(make_url(url)), migrates=True, poolclass=NullPool)


def _connect(url: URL, patience: Patience, most: int, *, reads: bool) -> Engine:
    if url.get_backend_name() == "sqlite":
        return _engine(url, {}, pool_size=_KEPT_OPEN, max_overflow=_SQLITE_CONNECTIONS - _KEPT_OPEN)
    arguments = {**_network_arguments(url), "options": _connection_options(url, patience, reads=reads)}
    kept = min(_KEPT_OPEN, most)
    pool: dict[str, Any] = {"pool_size": kept, "max_overflow": most - kept, "pool_timeout": patience.lock_s}
    if not reads:
        return _engine(url, arguments, **pool)
    engine = _engine(url, arguments, isolation_level="AUTOCOMMIT", pool_pre_ping=False, **pool)
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", partial(_check_unless_fresh, engine))
    return engine


def _note_use(_connection: DBAPIConnection | None, entry: ConnectionPoolEntry) -> None:
    entry.info["used_at"] = time.monotonic()


def _check_unless_fresh(
    engine: Engine, connection: DBAPIConnection, entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection
) -> None:
    """Check a connection that was idle for long; if it broke off, have all of them renewed."""
    used_at = entry.info.get("used_at")  # None for a new one
    if used_at is None or time.monotonic() - used_at < _FRESH_S:
        return
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error as error:
        raise InvalidatePoolError from error


def _network_arguments(url: URL) -> dict[str, Any]:
    """Network settings that the URL does not set."""
    if url.get_backend_name() != "postgresql":
        return {}
    return {name: value for name, value in _NETWORK.items() if name not in url.query}


def _connection_options(url: URL, patience: Patience, *, reads: bool) -> str:
    """Server settings of a session; those of the URL come last and take precedence."""
    limits = {
        "lock_timeout": patience.lock_s * 1000,
        "statement_timeout": patience.statement_s * 1000,
        "idle_in_transaction_session_timeout": _IDLE_TRANSACTION_MS,
        "default_transaction_read_only": reads,
    }
    own = url.query.get("options", "")
    return " ".join([*(f"-c {name}={value:.0f}" for name, value in limits.items()), str(own)]).strip()


def _engine(url: URL, arguments: dict[str, Any], *, migrates: bool = False, **more: Any) -> Engine:  # noqa: ANN401
    engine = create_engine(
        url,
        # PostgreSQL refuses NaN in JSON, so SQLite must not accept it either.
        json_serializer=partial(json.dumps, allow_nan=False),
        hide_parameters=True,  # errors are logged, and logs must not hold rows
        connect_args=arguments,
        **{"pool_pre_ping": True, **more},
    )
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", partial(_prepare_sqlite, migrates=migrates))
        turns = _Turns()
        event.listen(engine, "begin", turns.begin)
        event.listen(engine, "commit", turns.end)
        event.listen(engine, "rollback", turns.end)
    return engine


def _prepare_sqlite(connection: DBAPIConnection, _record: ConnectionPoolEntry, *, migrates: bool) -> None:
    connection.isolation_level = None  # `_Turns` begins transactions, not the driver
    cursor, most_ms = connection.cursor(), _MIGRATION_TIMEOUT_MS if migrates else _BUSY_TIMEOUT_MS
    cursor.execute(f"PRAGMA busy_timeout = {most_ms}")
    _write_ahead(cursor, most_ms)
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute(f"PRAGMA foreign_keys = {int(not migrates)}")
    cursor.close()


def _write_ahead(cursor: DBAPICursor, most_ms: int) -> None:
    """Have changes written ahead, which does not wait by itself while another process writes to a new file."""
    end = time.monotonic() + most_ms / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_BUSY_POLL_S)
        else:
            return


class _Turns:
    """Lets a process's writers queue for SQLite's lock in order."""

    # SQLite lets a waiting writer only retry now and then: of 200 at once some time out while later ones are served.
    _MINE = "autoprog_turn"

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def begin(self, connection: Connection) -> None:
        """Begin a transaction; a writer takes SQLite's lock at once, as one that has read before cannot wait for it."""
        read_only = connection.get_execution_options().get("sqlite_read_only", False)
        connection.exec_driver_sql(f"PRAGMA query_only = {int(read_only)}")
        if read_only:
            connection.exec_driver_sql("BEGIN")
            return
        # After a timeout the writer tries anyway: SQLite then reports the error.
        connection.info[self._MINE] = self._turn.acquire(timeout=_TURN_TIMEOUT_S)
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except BaseException:
            self.end(connection)
            raise

    def end(self, connection: Connection) -> None:
        """Let the next writer begin."""
        if connection.info.pop(self._MINE, False):
            self._turn.release()
