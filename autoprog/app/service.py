"""The parts of one installation, made from its settings."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import structlog

from autoprog.engine import LocalEngine
from autoprog.fork_server import start_fork_server
from autoprog.jobs.runner import JobRunner
from autoprog.jobs.work import WORK
from autoprog.libraries import import_libraries, import_plugins
from autoprog.search.runner import Runner
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.erasure import erase_expired
from autoprog.storage.files import Files, tighten
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.storage.repositories import BrowserSessionRepository, KeyRepository
from autoprog.storage.repositories.idempotency import delete_old_answers
from autoprog.storage.store import DatabaseStore
from autoprog.storage.stored_files import sweep
from autoprog.work import poll

if TYPE_CHECKING:
    from autoprog.engine.cluster import ClusterEngine

_SWEEP_S = 3_600.0
_log = structlog.get_logger()


class Service:
    """Database, files, engine and runners of one process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        import_plugins(settings.plugins)

    @cached_property
    def database(self) -> Database:
        """The database that the settings name."""
        for name in ("files", "autoprog.db", "autoprog.db-wal", "autoprog.db-shm"):
            tighten(self.settings.data_dir / name)
        return Database(self.settings.database_url, connections=self.settings.connections)

    @cached_property
    def files(self) -> Files:
        """Cohort files and models."""
        key = self.settings.model_key
        accepted = [each.get_secret_value().encode() for each in self.settings.accepted_model_keys]
        return Files(self.settings.files_url, key.get_secret_value().encode() if key else None, accepted)

    @cached_property
    def store(self) -> DatabaseStore:
        """The runner's store."""
        return DatabaseStore(self.database, self.files, most_running=self.settings.running)

    @cached_property
    def engine(self) -> LocalEngine | ClusterEngine:
        """Children of this process, or the workers of the scheduler that the settings name."""
        if self.settings.scheduler:
            from autoprog.engine.cluster import ClusterEngine  # noqa: PLC0415  an extra, which one machine needs not

            return ClusterEngine(self.settings.scheduler, certificates=self.settings.certificates)
        return LocalEngine(self.slots, self.settings.plugins)

    @property
    def slots(self) -> int:
        """Number of evaluations that run at once in this process."""
        return self.settings.workers or os.cpu_count() or 1

    def runner(self) -> Runner:
        """Make a runner of searches, named after machine and process."""
        return Runner(self.store, self.engine, runner_id=_runner_id())

    def job_runner(self) -> JobRunner:
        """Make a runner of jobs, under the same name."""
        store = DatabaseJobStore(self.database, self.files, most_running=self.settings.running)
        return JobRunner(store, self.engine, WORK, runner_id=_runner_id())

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run searches, jobs and sweeps while the block runs, each in its own thread."""
        if not self.settings.scheduler:
            start_fork_server(self.settings.plugins)
        import_libraries()
        ended = threading.Event()
        sweeper = threading.Thread(target=poll, args=(self._sweep, ended, _SWEEP_S), name="sweeper")
        with _run({"runner": self.runner(), "job-runner": self.job_runner()}):
            sweeper.start()
            try:
                yield
            finally:
                ended.set()
                sweeper.join()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Run searches alone while the block runs, which must not import learning libraries.

        The search imports them when it comes to need them: a short one never needs most of them, which take seconds. It
        teaches later searches nothing.
        """
        runner = Runner(self.store, self.engine, runner_id=_runner_id(), teaches=False)
        with _run({"runner": runner}):
            yield

    def _sweep(self) -> bool:
        for step in (
            self._erase_expired,
            self._delete_ended_sessions,
            self._delete_old_answers,
            self._remove_abandoned_files,
        ):
            try:
                step()
            except Exception:  # noqa: BLE001  none may keep the others from being done
                _log.exception("sweep_failed", step=step.__name__.removeprefix("_"))
        return False  # there is nothing more to do now

    def _erase_expired(self) -> None:
        if self.settings.retention_days is not None:
            erase_expired(self.database, self.files, self.settings.retention_days)

    def _delete_ended_sessions(self) -> None:
        with self.database.session() as session:
            keys = KeyRepository(session, timedelta(days=self.settings.person_keys_days))
            BrowserSessionRepository(session, keys).delete_ended()

    def _delete_old_answers(self) -> None:
        with self.database.session() as session:
            delete_old_answers(session)

    def _remove_abandoned_files(self) -> None:
        sweep(self.database, self.files)

    def close(self) -> None:
        """Close the engine's workers and the database's connections, if there are any."""
        if "engine" in self.__dict__:
            self.engine.close()
        if "database" in self.__dict__:
            self.database.close()


@contextmanager
def _run(runners: Mapping[str, Runner | JobRunner]) -> Iterator[None]:
    """Run each in a thread of its name while the block runs."""
    threads = [threading.Thread(target=runner.run_forever, name=name) for name, runner in runners.items()]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for runner in runners.values():
            runner.stop()
        for thread in threads:
            thread.join()


def _runner_id() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"
