"""A simulated world in which processes take turns: one thread, one clock, and everything random comes from a seed.

Processes are greenlets. They hand over before each transaction and wherever they wait; the world decides who goes on,
when time passes, and what fails. So the product's own code runs in any order that separate machines could bring about,
and the same seed brings about the same order.
"""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet
from sqlalchemy import StaticPool, create_engine
from sqlalchemy.orm import Session

from autoprog.errors import StoreUnavailableError
from autoprog.storage import database as database_module
from autoprog.storage.database import Database
from autoprog.storage.tables import Base
from autoprog.work import runner as runner_module
from autoprog.work import signals as signals_module

_START = datetime(2026, 1, 1, tzinfo=UTC)


class Process:
    """A process of a runner, with its threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.frozen_until = 0.0
        self.woke = -1e9  # when it was last suspended, or will go on
        self.stop: Callable[[], None] = lambda: None

    def suspend(self, now: float, seconds: float) -> None:
        """Keep its threads from going on for some time."""
        self.frozen_until = self.woke = now + seconds


class Thread:
    """A thread of a process; `threading.Thread` for the code in the world."""

    def __init__(self, world: World, process: Process, run: Callable[[], None]) -> None:
        self.process = process
        self.wakes = 0.0  # when it goes on at the latest
        self.ready: Callable[[], bool] = lambda: False  # whether it goes on before
        self.does = ""  # the kind of its transaction
        self._world = world
        self.greenlet = greenlet(run, parent=world.main)

    def start(self) -> None:
        self._world.threads.append(self)

    def join(self) -> None:
        self._world.wait(math.inf, lambda: self.greenlet.dead)


class Event:
    """`threading.Event` for the code in the world."""

    def __init__(self, world: World) -> None:
        self._world, self._is_set = world, False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float) -> bool:
        self._world.wait(self._world.now + timeout, self.is_set)
        return self._is_set


class World:
    """Processes, the clock that all of them share, and the faults of the database."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0  # seconds that have passed; the clock may say otherwise
        self.clock_s = 0.0  # how far the database's clock is ahead
        self.main = getcurrent()
        self.threads: list[Thread] = []
        self.running: Thread | None = None
        self.failing = 0.0  # share of transactions that fail
        self.failing_kind: str | None = None  # the only kind of transaction that fails; None for any
        self.fails_once: Callable[[str], bool] = lambda _: False  # whether this transaction fails besides
        self.wrong: list[str] = []
        self.trace: list[str] = []

    @property
    def time(self) -> datetime:
        """What the database's clock says."""
        return _START + timedelta(seconds=self.now + self.clock_s)

    def thread(self) -> Thread:
        """The thread that runs."""
        assert self.running is not None
        return self.running

    def wait(self, until: float = 0.0, ready: Callable[[], bool] = lambda: False) -> None:
        """Let others go on until the world comes back to this thread: at a time, or before that when it is `ready`."""
        thread = self.running
        if thread is not None and thread.process.is_alive:  # what a dying process's blocks still wait for is there
            thread.wakes, thread.ready = until, ready
            self.main.switch()

    def step(self) -> bool:
        """Let one thread go on to where it waits next; false if none can."""
        now = self.now
        able = [
            each
            for each in self.threads
            if each.process.is_alive and now >= each.process.frozen_until and (now >= each.wakes or each.ready())
        ]
        if not able:
            return False
        chosen = self.random.choice(able)
        self.trace.append(f"{now:.3f} {chosen.process.name}")
        self._switch(chosen, chosen.greenlet.switch)
        return True

    def next_wake(self) -> float:
        """When a thread can go on, if none can now."""
        living = [each for each in self.threads if each.process.is_alive]
        return min((max(each.wakes, each.process.frozen_until) for each in living), default=math.inf)

    def _switch(self, thread: Thread, switch: Callable[[], object]) -> None:
        self.running = thread
        try:
            switch()
        finally:
            self.running = None
        if thread.greenlet.dead:
            self.threads.remove(thread)

    def spawn(self, process: Process, run: Callable[[], None]) -> None:
        """Start the first thread of a process."""
        Thread(self, process, run).start()

    def kill(self, process: Process) -> None:
        """End a process where it stands."""
        process.is_alive = False

    def close(self) -> None:
        """Unwind what still stands."""
        for thread in self.threads:
            thread.process.is_alive = False
        for thread in list(self.threads):
            if thread.greenlet:
                self._switch(thread, partial(thread.greenlet.throw, GreenletExit))
        self.threads = []

    @contextmanager
    def inhabited(self) -> Iterator[None]:
        """Let the product's runner, its heartbeat and the database's clock live in this world."""
        world = self

        class Clock(datetime):
            @classmethod
            def now(cls, _tz: Any = None) -> Any:
                return world.time

        def new_thread(target: Callable[[], None], **_: object) -> Thread:
            return Thread(world, world.thread().process, target)

        threading = SimpleNamespace(Event=lambda: Event(world), Thread=new_thread)
        before = signals_module.threading, runner_module.threading, database_module.datetime
        signals_module.threading = runner_module.threading = threading  # type: ignore[assignment]
        database_module.datetime = Clock  # type: ignore[misc]
        try:
            yield
        finally:
            self.close()
            signals_module.threading, runner_module.threading, database_module.datetime = before  # type: ignore[misc]


class SimulatedDatabase(Database):
    """A database in memory whose transactions fail where the world says so: before they begin, or once committed.

    Only one transaction is open at a time, so that all share a connection; whoever looks beside them may use it, too.
    """

    def __init__(self) -> None:
        self.url = "sqlite://"
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("PRAGMA foreign_keys = 1")
        engine = create_engine(
            self.url, creator=lambda: self.connection, poolclass=StaticPool, pool_reset_on_return=None
        )
        self._reader = self._writer = engine
        Base.metadata.create_all(engine)
        self.world: World | None = None
        self.begun: Callable[[], None] = lambda: None
        self.committed: Callable[[], None] = lambda: None
        self._is_open = False

    def has_room(self) -> bool:
        """There is always room."""
        return True

    @contextmanager
    def session(self, *, read_only: bool = False) -> Iterator[Session]:
        """Open a transaction that is one step of the world."""
        world = self.world
        if world is None or self._is_open or world.running is None:
            with super().session(read_only=read_only) as session:
                yield session
            return
        begun, committed = self.begun, self.committed  # others set theirs while this thread waits
        world.wait()
        does = world.thread().does
        fails = world.random.random() < world.failing and world.failing_kind in {None, does}
        fails = fails or world.fails_once(does)
        is_late = world.random.random() < 1 / 3
        if fails and not is_late:
            raise StoreUnavailableError("simulated")
        self._is_open = True
        try:
            begun()
            with super().session(read_only=read_only) as session:
                yield session
            committed()
        finally:
            self._is_open = False
        if fails:
            raise StoreUnavailableError("simulated, after the commit")
