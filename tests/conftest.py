"""Databases for the tests: SQLite always, PostgreSQL too where AUTOPROG_TEST_POSTGRES names a server."""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, delete, make_url, text
from threadpoolctl import threadpool_limits
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.tables import OwnerRow, StoredFileRow

# Files of few tests that take long: they start servers, searches and browsers.
_LONG = (
    "tests/slow/",
    "tests/pages/",
    "tests/estimator/",
    "tests/system/",
    "tests/client/",
    "tests/deployment/",
    "tests/cli/",
    "tests/test_python_page",
)
# Folders whose files share what takes long to make: a server with searches that have ended, fitted estimators, engines.
_SHARING = ("tests/pages/", "tests/estimator/", "tests/engine/")
# Files whose tests share nothing and take long together.
_SPLIT = ("tests/drills/test_leases",)

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

_SERVER = os.environ.get("AUTOPROG_TEST_POSTGRES")
BACKENDS = ("sqlite", "postgresql") if _SERVER else ("sqlite",)
# For a test that takes long: where there is a server, it runs on SQLite only among the slow tests.
LONG_BACKENDS = (pytest.param("sqlite", marks=pytest.mark.slow), "postgresql") if _SERVER else ("sqlite",)


def pytest_configure() -> None:
    """Have every process that the tests run in, or start, compute on one thread; an exported number stays.

    They also heed an interrupt, which a shell has them ignore if it runs the tests in the background.
    """
    for name in THREADS:
        os.environ.setdefault(name, "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first and those that can be split last, so that no process works alone at the end."""
    items.sort(key=lambda item: (item.nodeid.startswith(_SPLIT), not item.nodeid.startswith(_LONG)))


def pytest_collection_finish() -> None:
    """Keep collected tests and all modules out of the garbage collector's way: it took 4 % of the tests' time."""
    gc.collect()
    gc.freeze()


class _Scheduling(LoadFileScheduling):
    """Each file runs in one process, and so do all files of a folder that share what takes long to make."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(_SPLIT):
            return nodeid
        return next((folder for folder in _SHARING if nodeid.startswith(folder)), super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Scheduling:
    return _Scheduling(config, log)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Fit on one thread, as the engine's children do: on shared cores a second one mostly spins and waits."""
    with threadpool_limits(1):
        yield


@contextmanager
def _postgres_url() -> Iterator[str]:
    """An empty PostgreSQL database of its own, dropped afterwards."""
    server = make_url(_SERVER or "")
    name = f"autoprog_{secrets.token_hex(8)}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))  # no test cuts the power
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


@contextmanager
def _opened(url: str, *, migrate: bool) -> Iterator[Database]:
    database = Database(url)
    try:
        if migrate:
            database.migrate()
        yield database
    finally:
        database.close()


@pytest.fixture(scope="session")
def _migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file to copy, which is quicker than to migrate one for every test."""
    path = tmp_path_factory.mktemp("migrated") / "autoprog.db"
    with _opened(f"sqlite:///{path}", migrate=True):
        pass
    return path


@pytest.fixture(scope="session")
def _postgres() -> Iterator[Database]:
    with _postgres_url() as url, _opened(url, migrate=True) as database:
        yield database


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each kind of server in turn."""
    kind: str = request.param
    return kind


@pytest.fixture
def database(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated database without rows."""
    if backend == "sqlite":
        path = shutil.copy(request.getfixturevalue("_migrated"), tmp_path / "autoprog.db")
        with _opened(f"sqlite:///{path}", migrate=False) as fresh:
            yield fresh
        return
    shared: Database = request.getfixturevalue("_postgres")
    yield shared
    with shared.session() as session:
        session.execute(delete(OwnerRow))  # every other row belongs to an owner and goes with it, but for a file's
        session.execute(delete(StoredFileRow))


@pytest.fixture
def empty_database(backend: str, tmp_path: Path) -> Iterator[Database]:
    """A database without tables."""
    if backend == "sqlite":
        with _opened(f"sqlite:///{tmp_path / 'empty.db'}", migrate=False) as fresh:
            yield fresh
        return
    with _postgres_url() as url, _opened(url, migrate=False) as fresh:
        yield fresh


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Files in a folder of their own."""
    return Files(str(tmp_path / "files"))
