"""Runners, their leases and the queue in a simulated world: millions of orders of events, each with its seed.

    python -m tests.drills.leases [--schedules 10000] [--first 0] [--processes N] [--minutes N] [--faults]

The runner's loop, the heartbeat, the leases and the repositories are the product's, on SQLite in memory; processes,
time and faults are simulated. In each schedule one to six searches of two owners are worked on by two or three runners,
which are killed, suspended and ended, while transactions fail before or after they are committed, the clock jumps by an
hour and clients cancel. A book beside the database says what must be true of each transaction. `--faults` plants one
fault after another in the product, and shows which schedule finds it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import math
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from multiprocessing import get_context
from typing import Any, Literal, TypeVar

import structlog

from autoprog.errors import ConflictError, LeaseLostError, StoreUnavailableError
from autoprog.evaluation import Evaluation, Status
from autoprog.search.ports import Claim, SearchResult
from autoprog.search.runner import DELIVERIES
from autoprog.storage.database import new_id
from autoprog.storage.files import Files
from autoprog.storage.repositories import SearchRepository
from autoprog.storage.store import DatabaseStore
from autoprog.work import LeasedRunner, Signals
from autoprog.work.leases import MAX_LOST_LEASES
from tests.drills.planted import FAULTS, planted
from tests.drills.simulation import Process, SimulatedDatabase, World
from tests.storage.support import add_cohort, add_owner, add_search, make_configuration, make_result

LEASE_S = 10.0
PUT_BACK_S = 60.0
EVALUATIONS = 2
_PART = 100  # schedules that a process plays at a time
_KINDS = (None, "heartbeat", "release", "evaluation", "end", "failure", "claim")
# Within this time a heartbeat has come, also if the one before failed: two thirds of a lease, and what the world adds.
_BEAT_S = 2 / 3 * LEASE_S + 1.0
_ROW = (
    "SELECT token, status, runner_id, lease_until, losses, spent_s, finished_at, cancel_requested_at "
    "FROM search WHERE id = ?"
)
_TOLD = "SELECT type, count(*) FROM search_event WHERE search_id = ? GROUP BY type"
_QUIET_FAILURES = {"heartbeat": 0.2, "evaluation": 0.15}
_CONFIGURATIONS = [make_configuration(number + 1) for number in range(EVALUATIONS)]
T = TypeVar("T")
Poison = Literal["evaluation", "delivery"]


@dataclass
class Entry:
    """What must be true of a search."""

    owner: str
    order: int
    poison: Poison | None  # what of it kills its runner
    losses: int
    token: int = 0
    holder: Process | None = None  # that has not given it back
    is_worked_on: bool = False  # as far as the holder knows
    lease_end: datetime | None = None
    heard: datetime | None = None
    spent_s: float = 0.0
    evaluations: dict[int, str] = field(default_factory=dict)
    status: str = "queued"
    was_cancelled: bool = False


class Book:
    """What must be true of all searches, compared with the database after each transaction."""

    def __init__(self, world: World, rows: sqlite3.Connection, most_running: int | None) -> None:
        self._world, self._rows, self._most_running = world, rows, most_running
        self.done: set[tuple[str, int]] = set()
        self.searches: dict[str, Entry] = {}
        self.served: dict[str, datetime] = {}
        self.quiet_since: float | None = None
        self.failed_before: set[tuple[str, str]] = set()  # of which process the last transaction of a kind failed

    def row(self, search_id: str) -> sqlite3.Row:
        cursor = self._rows.cursor()
        cursor.row_factory = sqlite3.Row  # type: ignore[assignment]
        found: sqlite3.Row = cursor.execute(_ROW, [search_id]).fetchone()
        return found

    def check(self, is_right: bool, what: str) -> None:
        if not is_right:
            self._world.wrong.append(what)

    def tokens(self) -> dict[str, int]:
        return dict(self._rows.execute("SELECT id, token FROM search"))

    def claimed(self, before: dict[str, int], process: Process) -> None:
        """Check a claim, and write it down."""
        now, after = self._world.time, self.tokens()
        taken = [search for search in after if after[search] != before[search]]
        expired = [search for search, entry in self.searches.items() if self._is_expired(entry, now)]
        queued = [search for search, entry in self.searches.items() if self._may_begin(entry, now)]
        if not taken:
            self.check(not expired and not queued, "a runner found nothing, or took it without a new token")
            return
        self.check(len(taken) == 1, "two searches were taken at once")
        search = taken[0]
        entry, row = self.searches[search], self.row(search)
        self.check(row["token"] == entry.token + 1, "a token did not grow by one")
        if entry.status == "queued":
            self.check(not expired, "a new search was taken before one whose lease had run out")
            self.check(search in queued, "a search was taken that might not begin")
            self._check_turn(entry, [self.searches[each] for each in queued], now)
        else:
            self.check(search in expired, f"a search was taken that {entry.status} under a lease")
        self._check_quiet(entry)
        entry.losses += entry.holder is not None
        self.check(row["losses"] == entry.losses, f"{row['losses']} lost leases were counted, not {entry.losses}")
        entry.token, entry.status, entry.holder, entry.heard = row["token"], "running", process, now
        entry.is_worked_on = False
        self._leased(entry, row, now)
        self.served[entry.owner] = now

    def fails_once(self, does: str) -> bool:
        """Whether a transaction fails in quiet times: never two in a row of a kind and a process."""
        if self.quiet_since is None or does not in _QUIET_FAILURES:
            return False
        which = self._world.thread().process.name, does
        fails = which not in self.failed_before and self._world.random.random() < _QUIET_FAILURES[does]
        (self.failed_before.add if fails else self.failed_before.discard)(which)
        return fails

    def told(self, claim: Claim) -> None:
        """Write down that a runner knows of its claim."""
        self.check(claim.losses == self.row(claim.search_id)["losses"], "a claim tells of other losses")
        self.searches[claim.search_id].is_worked_on = True

    def put_down(self, claim: Claim) -> None:
        """Write down that a runner no longer works."""
        entry = self.searches[claim.search_id]
        entry.is_worked_on = entry.is_worked_on and entry.token != claim.token
        self.done.add((claim.search_id, claim.token))

    def extended(self, claim: Claim) -> None:
        """Check a heartbeat."""
        entry, row = self._written(claim, "a heartbeat")
        self._heard(entry, row)
        self._leased(entry, row, self._world.time)

    def released(self, claim: Claim) -> None:
        """Check that a search was given back."""
        entry, row = self._written(claim, "a release")
        self._heard(entry, row)
        self.check(row["runner_id"] is None, "a search was given back, but kept its runner")
        entry.holder, entry.lease_end = None, self._world.time

    def evaluated(self, claim: Claim, evaluation: Evaluation) -> None:
        """Check an evaluation."""
        entry, row = self._written(claim, "an evaluation")
        self.check(claim.losses < MAX_LOST_LEASES, "a search went on that was to be given up")
        if evaluation.number not in entry.evaluations:
            entry.evaluations[evaluation.number], entry.losses = str(evaluation.reason), 0
        self.check(row["losses"] == entry.losses, "an evaluation left lost leases")

    def ended(self, claim: Claim, status: str) -> None:
        """Check an end."""
        entry, row = self._written(claim, "an end")
        self._heard(entry, row)
        self.check(row["status"] == status, f"the search is {row['status']}, not {status}")
        most = _most_losses(entry)
        self.check(status != "failed" or claim.losses >= most, "a search was given up too early")
        self.check(status == "failed" or claim.losses < most, "a search went on that was to be given up")
        self.check(row["finished_at"] is not None, "an ended search has no time of its end")
        entry.status, entry.holder, entry.lease_end = status, None, None

    def refused(self, claim: Claim, what: str) -> None:
        """Check that a runner was refused with reason."""
        row = self.row(claim.search_id)
        holds = row["token"] == claim.token and row["status"] == "running"
        self.check(not holds, f"{what} of the runner that holds the search was refused")

    def left(self, claim: Claim) -> None:
        """Check that a process which was asked to end has given its work back."""
        row = self.row(claim.search_id)
        holds = row["token"] == claim.token and row["status"] == "running" and row["runner_id"] is not None
        self.check(not holds, "a process ended as it was asked to, and kept its search")

    def cancelled(self, search: str) -> None:
        """Write a client's cancellation down."""
        entry, row = self.searches[search], self.row(search)
        entry.was_cancelled = True
        if entry.status == "queued":
            entry.status = "cancelled"
        self.check(row["status"] == entry.status, "a cancelled search is not cancelled")

    def close_books(self) -> None:
        """Compare everything at the end."""
        for search, entry in self.searches.items():
            row = self.row(search)
            stored = dict(self._rows.execute("SELECT number, reason FROM evaluation WHERE search_id = ?", [search]))
            self.check(stored == entry.evaluations, "evaluations are lost, doubled or changed")
            self.check(row["status"] == entry.status, "a search that had ended has changed")
            self.check(entry.status in {"succeeded", "failed", "cancelled"}, "a search does not end")
            told = dict(self._rows.execute(_TOLD, [search]))
            self.check(told.get("finished") == 1, "an end was not told once")
            self.check(told.get("evaluation", 0) == len(stored), "an evaluation was not told once")
            models = self._rows.execute("SELECT count(*) FROM model WHERE search_id = ?", [search]).fetchone()[0]
            self.check(models == 1 if entry.status == "succeeded" else models <= 1, f"{models} models")
            self.check(entry.status != "cancelled" or entry.was_cancelled, "a search was cancelled by nobody")

    def _written(self, claim: Claim, what: str) -> tuple[Entry, sqlite3.Row]:
        entry, row = self.searches[claim.search_id], self.row(claim.search_id)
        self.check(row["token"] == claim.token, f"{what} was written under an old token")
        self.check(entry.status == "running", f"{what} was written after the end")
        return entry, row

    def _leased(self, entry: Entry, row: sqlite3.Row, now: datetime) -> None:
        entry.lease_end = now + timedelta(seconds=LEASE_S)
        self.check(_moment(row["lease_until"]) == entry.lease_end, "a lease ends at another time")

    def _heard(self, entry: Entry, row: sqlite3.Row) -> None:
        now = self._world.time
        assert entry.heard is not None
        entry.spent_s += min(max(0.0, (now - entry.heard).total_seconds()), LEASE_S)
        entry.heard = now
        self.check(abs(row["spent_s"] - entry.spent_s) < 1e-3, "the budget that is spent is another")

    def _is_expired(self, entry: Entry, now: datetime) -> bool:
        if entry.status != "running" or entry.lease_end is None:
            return False
        return entry.lease_end <= now or entry.lease_end > now + timedelta(seconds=LEASE_S + PUT_BACK_S)

    def _running(self, owner: str, now: datetime) -> int:
        leased = [each for each in self.searches.values() if each.owner == owner and each.status == "running"]
        return sum(each.lease_end is not None and each.lease_end > now for each in leased)

    def _may_begin(self, entry: Entry, now: datetime) -> bool:
        may = self._most_running is None or self._running(entry.owner, now) < self._most_running
        return entry.status == "queued" and may

    def _check_turn(self, taken: Entry, waiting: list[Entry], now: datetime) -> None:
        def turn(entry: Entry) -> tuple[int, bool, datetime, int]:
            served = self.served.get(entry.owner)
            return self._running(entry.owner, now), served is not None, served or now, entry.order

        self.check(turn(taken) == min(map(turn, waiting)), "a search was taken before its turn")

    def _check_quiet(self, entry: Entry) -> None:
        """In quiet times a process that lives loses no lease."""
        quiet_s = 0.0 if self.quiet_since is None else self._world.now - self.quiet_since
        is_alive = entry.holder is not None and entry.holder.is_alive and entry.is_worked_on
        is_alive = is_alive and entry.holder.woke < self._world.now - _BEAT_S
        self.check(not (is_alive and quiet_s > _BEAT_S), "a runner that lives lost its lease in quiet times")


class WatchedStore(DatabaseStore):
    """The store, with the book beside it."""

    def __init__(self, database: SimulatedDatabase, files: Files, book: Book, world: World, most: int | None) -> None:
        super().__init__(database, files, most_running=most)
        self._watched, self._book, self._world = database, book, world

    def claim(self, runner_id: str, lease_s: float) -> Claim | None:
        """Claim, and compare."""
        before: dict[str, int] = {}
        process = self._world.thread().process

        def begun() -> None:
            before.update(self._book.tokens())

        taken = self._watch(
            "claim", lambda: super(WatchedStore, self).claim(runner_id, lease_s),
            lambda: self._book.claimed(before, process), begun,
        )  # fmt: skip
        if taken is not None:
            self._book.told(taken)
        return taken

    def heartbeat(self, claim: Claim, lease_s: float) -> bool:
        """Extend, and compare."""
        self._book.check((claim.search_id, claim.token) not in self._book.done, "a heart beats after its work's end")
        told = self._fenced(
            claim, "a heartbeat", lambda: super(WatchedStore, self).heartbeat(claim, lease_s), self._book.extended
        )
        asked = self._book.row(claim.search_id)["cancel_requested_at"] is not None
        self._book.check(told is asked, "a heartbeat did not tell of a cancellation")
        return told

    def release(self, claim: Claim) -> None:
        """Give back, and compare."""
        self._fenced(claim, "a release", lambda: super(WatchedStore, self).release(claim), self._book.released)

    def load(self, claim: Claim) -> Any:
        """Read."""
        return self._fenced(claim, "a read", lambda: super(WatchedStore, self).load(claim), lambda _: None)

    def record_evaluation(self, claim: Claim, evaluation: Evaluation) -> None:
        """Write, and compare."""
        self._fenced(
            claim, "an evaluation", lambda: super(WatchedStore, self).record_evaluation(claim, evaluation),
            lambda given: self._book.evaluated(given, evaluation),
        )  # fmt: skip

    def finish(self, claim: Claim, result: SearchResult, *, cancelled: bool) -> None:
        """End, and compare."""
        status = "cancelled" if cancelled else "succeeded"
        self._fenced(
            claim, "an end", lambda: super(WatchedStore, self).finish(claim, result, cancelled=cancelled),
            lambda given: self._book.ended(given, status),
        )  # fmt: skip

    def fail(self, claim: Claim, code: str, detail: str, *, cancelled: bool = False) -> None:
        """End, and compare."""
        self._book.check(code == "given_up", f"a search failed: {code}: {detail}")
        self._fenced(
            claim, "a failure", lambda: super(WatchedStore, self).fail(claim, code, detail),
            lambda given: self._book.ended(given, "failed"),
        )  # fmt: skip

    def _fenced(self, claim: Claim, what: str, call: Callable[[], T], note: Callable[[Claim], None]) -> T:
        try:
            return self._watch(what.rsplit(maxsplit=1)[-1], call, lambda: note(claim))
        except LeaseLostError:
            self._book.refused(claim, what)
            raise

    def _watch(
        self, does: str, call: Callable[[], T], note: Callable[[], None], begun: Callable[[], None] = lambda: None
    ) -> T:
        self._world.thread().does = does
        self._watched.begun, self._watched.committed = begun, lambda: self._noted(note)
        return call()

    def _noted(self, note: Callable[[], None]) -> None:
        """Compare; the product must not take a mistake of the book for one of its own."""
        try:
            note()
        except Exception as error:  # noqa: BLE001
            self._world.wrong.append(f"the book: {type(error).__name__}: {error}")


class SimulatedRunner(LeasedRunner[Claim]):
    """The product's runner; its evaluations only take their time."""

    what = "search"

    def __init__(self, store: WatchedStore, book: Book, world: World, process: Process) -> None:
        super().__init__(store, runner_id=process.name, lease_s=LEASE_S, poll_s=LEASE_S)
        self._store, self._book, self._world, self._process = store, book, world, process
        self._held: Claim | None = None
        self._was_asked = False

    def run_one(self) -> bool:
        """Do the next work, and note its end."""
        self._held, self._was_asked = None, False
        try:
            found = super().run_one()
        finally:
            if self._held is not None:
                self._book.put_down(self._held)
        if self._held is not None and self._was_asked:
            self._book.left(self._held)
        return found

    def _claim(self) -> Claim | None:
        self._held = self._store.claim(self._runner_id, self._lease_s)
        return self._held

    def _id(self, claim: Claim) -> str:
        return claim.search_id

    def _work_on(self, claim: Claim, signals: Signals, log: structlog.stdlib.BoundLogger) -> None:
        done = set[int]()
        if (reason := self._given_up(claim, MAX_LOST_LEASES + DELIVERIES)) is None:
            done = {evaluation.number for evaluation in self._store.load(claim).evaluations}
            reason = None if done else self._given_up(claim)
        if reason is not None:
            if self._world.random.random() < 0.4:
                self._process.suspend(self._world.now, self._world.random.uniform(1.0, 3 * LEASE_S))
            self._wait()
            self._store.fail(claim, "given_up", reason)
            return
        missing = set(range(EVALUATIONS)) - done if claim.losses < MAX_LOST_LEASES else set()
        for number in sorted(missing):
            self._compute("evaluation")
            self._was_asked = signals.shutdown.is_set() and not signals.lost.is_set()
            signals.check()
            if signals.cancel.is_set():
                break
            reason = f"{self._process.name} {claim.token}"
            evaluation = Evaluation(number, 0, _CONFIGURATIONS[number], Status.CRASHED, reason=reason)
            self._record(claim, evaluation)
        self._compute("delivery")
        self._store.finish(claim, make_result(), cancelled=signals.cancel.is_set())

    def _record(self, claim: Claim, evaluation: Evaluation) -> None:
        """Write an evaluation, once more if it is not known whether it was written."""
        try:
            self._store.record_evaluation(claim, evaluation)
        except StoreUnavailableError:
            if self._world.random.random() < 0.5:
                raise
            self._store.record_evaluation(claim, evaluation)

    def _wait(self) -> None:
        most = 1.5 * LEASE_S if self._world.random.random() < 0.4 else 2.0
        self._world.wait(self._world.now + self._world.random.uniform(0.1, most))

    def _compute(self, what: Poison) -> None:
        self._wait()
        if self._held is not None and self._book.searches[self._held.search_id].poison == what:
            self._world.kill(self._process)
            self._world.main.switch()


class Schedule:
    """One order of events."""

    def __init__(self, place: Place, seed: int) -> None:
        self._world = world = World(seed)
        most = world.random.choice([None, 1, 2])
        self._place, self._database = place, place.database
        self._book = Book(world, place.database.connection, most)
        world.fails_once = self._book.fails_once
        self._store = WatchedStore(place.database, place.files, self._book, world, most)
        self._processes: list[Process] = []
        self._n_started = 0

    def run(self) -> tuple[list[str], str]:
        """Play it; what was wrong, and a digest of all that happened."""
        world, self._database.world = self._world, self._world
        with world.inhabited():
            try:
                self._queue()
                for _ in range(world.random.randrange(2, 4)):
                    self._start()
                self._play(world.random.randrange(20, 80))
                self._drain()
                if not world.wrong:
                    self._book.close_books()
            finally:
                world.close()
                self._database.world = None
        return world.wrong, hashlib.sha256("\n".join(world.trace).encode()).hexdigest()

    def _queue(self) -> None:
        world = self._world
        self._place.clear()
        for order in range(world.random.randrange(1, 7)):
            world.now += 0.001
            owner = world.random.choice(self._place.owners)
            losses = world.random.choice([0, 0, 0, MAX_LOST_LEASES - 2, MAX_LOST_LEASES - 1])
            search = self._place.queue(owner, world.time, losses)  # as if runners had died over it before
            kills = world.random.random()
            poison: Poison | None = "evaluation" if kills < 0.15 else "delivery" if kills < 0.2 else None
            self._book.searches[search] = Entry(owner, order, poison=poison, losses=losses)

    def _start(self) -> None:
        self._n_started += 1
        process = Process(f"runner-{self._n_started}")
        runner: SimulatedRunner | None = None

        def run() -> None:
            nonlocal runner
            runner = SimulatedRunner(self._store, self._book, self._world, process)
            process.stop = runner.stop
            runner.run_forever()
            process.is_alive = False

        self._processes.append(process)
        self._world.spawn(process, run)

    def _play(self, n: int) -> None:
        world = self._world
        for _ in range(n):
            if world.wrong:
                return
            draw = world.random.random()
            if draw < 0.75:
                if not world.step():
                    world.now += world.random.uniform(0.0, 2.0)
            elif draw < 0.87:
                world.now += world.random.uniform(0.0, LEASE_S / 2)
            else:
                self._disturb()

    def _disturb(self) -> None:
        world, alive = self._world, [process for process in self._processes if process.is_alive]
        kind = world.random.choice(["kill", "freeze", "stop", "start", "fail", "heal", "clock", "cancel", "away"])
        world.trace.append(kind)
        if kind in {"kill", "freeze", "stop"} and alive:
            process = world.random.choice(alive)
            if kind == "kill":
                world.kill(process)
            elif kind == "freeze":
                process.suspend(world.now, world.random.uniform(1.0, 3 * LEASE_S))
            else:
                process.stop()
        elif kind == "start" and len(alive) < 3:
            self._start()
        elif kind in {"fail", "heal"}:
            world.failing = world.random.choice([0.2, 0.9]) if kind == "fail" else 0.0
            world.failing_kind = world.random.choice(_KINDS)
        elif kind == "clock" and world.random.random() < 0.3:
            world.clock_s += world.random.choice([-3600.0, -20.0, 20.0, 3600.0])
        elif kind == "cancel" and world.random.random() < 0.5:
            self._cancel(world.random.choice(list(self._book.searches)))
        elif kind == "away":
            world.now += world.random.uniform(LEASE_S, 2 * LEASE_S)

    def _cancel(self, search: str) -> None:
        try:
            with self._database.session() as session:
                SearchRepository(session).request_cancel(self._book.searches[search].owner, search)
        except ConflictError:
            return
        if self._book.searches[search].status in {"queued", "running"}:
            self._book.cancelled(search)

    def _drain(self) -> None:
        """Let everything come to its end in quiet times."""
        world = self._world
        world.failing, self._book.quiet_since = 0.0, world.now
        for process in self._processes:
            process.suspend(world.now, 0.0)
        for _ in range(6000):
            if world.wrong:
                return
            while sum(process.is_alive for process in self._processes) < 2:
                self._start()
            if not world.step():
                world.now += 0.25
                if not any(entry.status in {"queued", "running"} for entry in self._book.searches.values()):
                    break
                wake = world.next_wake()
                while world.now < wake:
                    world.now += 0.25
        end = world.now + _BEAT_S
        while world.now < end:  # a heart that still beats would now be seen
            if not world.step():
                world.now += 0.5


class Place:
    """A database that all schedules use, one after another."""

    def __init__(self) -> None:
        self.database = SimulatedDatabase()
        self.files = Files("memory://leases")
        with self.database.session() as session:
            owners = [add_owner(session, name) for name in ("ward-3", "ward-7")]
            for owner in owners:
                add_search(session, owner, add_cohort(session, owner).id)
        self.owners = tuple(owners)
        # What the product writes when somebody queues a search, a row of each owner.
        self.database.connection.execute("CREATE TEMPORARY TABLE queued AS SELECT * FROM search")

    def clear(self) -> None:
        """Remove what the schedule before has left."""
        with self.database.connection as connection:
            for statement in ("DELETE FROM search", "DELETE FROM model", "UPDATE owner SET served_at = NULL"):
                connection.execute(statement)

    def queue(self, owner: str, time: datetime, losses: int) -> str:
        """Queue a search, which has lost leases before; its identifier."""
        search, created_at = new_id(), time.replace(tzinfo=None).isoformat(" ", "microseconds")
        changed = "UPDATE search SET id = ?, created_at = ?, losses = ? WHERE id IN (SELECT id FROM queued)"
        with self.database.connection as connection:
            connection.execute("INSERT INTO search SELECT * FROM queued WHERE owner_id = ?", [owner])
            connection.execute(changed, [search, created_at, losses])
        return search

    def play(self, seed: int) -> tuple[list[str], str]:
        """Play the schedule of a seed."""
        return Schedule(self, seed).run()


@contextmanager
def place() -> Iterator[Place]:
    """A place for schedules."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    made = Place()
    try:
        yield made
    finally:
        made.database.close()
        structlog.configure(**before)


def find(made: Place, fault: str, seeds: range) -> tuple[int, str] | None:
    """Plant a fault; the first seed that finds it and what it found, or None."""
    with planted(fault):
        for seed in seeds:
            try:
                wrong, _ = made.play(seed)
            except Exception as error:  # noqa: BLE001  a fault may break anything
                wrong = [f"{type(error).__name__}: {error}"]
            if wrong:
                return seed, wrong[0]
    return None


def play_all(seeds: range) -> list[tuple[int, list[str]]]:
    """Play many schedules; the seeds at which something was wrong."""
    played = [(seed, _place_of_process().play(seed)[0]) for seed in seeds]
    return [(seed, wrong) for seed, wrong in played if wrong]


_until_its_end = ExitStack()


@cache
def _place_of_process() -> Place:
    """The place of a process that does nothing else; its statements are compiled once."""
    return _until_its_end.enter_context(place())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no more schedules after this time")
    parser.add_argument("--faults", action="store_true")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.schedules)
    failed = _find_all(seeds) if asked.faults else _play_side_by_side(seeds, asked.processes, 60 * asked.minutes)
    sys.exit(failed)


def _find_all(seeds: range) -> bool:
    """Search for each planted fault, and print what was found; whether one was missed."""
    missed = False
    with place() as made:
        for fault in FAULTS:
            found = find(made, fault, seeds)
            missed = missed or found is None
            print(json.dumps({"fault": fault, "seed and finding": found}), flush=True)
    return missed


def _play_side_by_side(seeds: range, processes: int, seconds: float) -> bool:
    """Play schedules in some processes, and print what was wrong; whether anything was."""
    began, failed, n = time.monotonic(), False, 0
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        parts = iter([seeds[i : i + _PART] for i in range(0, len(seeds), _PART)])
        running = {pool.submit(play_all, part): part for part in islice(parts, processes + 1)}
        while running:
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                n += len(running.pop(future))
                for seed, wrong in future.result():
                    failed = True
                    print(json.dumps({"seed": seed, "wrong": wrong}), flush=True)
                if time.monotonic() - began < seconds and (part := next(parts, None)) is not None:
                    running[pool.submit(play_all, part)] = part
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = {"seconds": time.monotonic() - began, "processor_seconds": used.ru_utime + used.ru_stime}
    print(json.dumps({"schedules": n} | {name: round(value, 1) for name, value in took.items()}), flush=True)
    return failed


def _most_losses(entry: Entry) -> int:
    """Leases lost in a row after which a search is given up."""
    return MAX_LOST_LEASES + (DELIVERIES if entry.evaluations else 0)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


if __name__ == "__main__":
    main()
