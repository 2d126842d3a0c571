"""A worker's slot: a child process, its hard limits, and its replacement after a kill."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import Any

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from autoprog.engine import child
from autoprog.engine.watch import End, Watch
from autoprog.errors import EngineUnavailableError
from autoprog.fork_server import start_fork_server
from autoprog.work import CallLimits, CallOutcome, CallStatus

_WATCH_S = 0.05
_STARTS = 3


class Slot:
    """A child process that runs one call at a time, is watched from outside, and is replaced after a kill."""

    # A Pebble pool of one process enforces the time limit, and replaces a process that ended by itself.
    def __init__(self, preload: Sequence[str], scratch: Path, threads: int) -> None:
        self._preload = tuple(preload)
        self._scratch = scratch
        self._threads = threads  # most of a call
        self._announced, self._announce = get_context("forkserver").Pipe(duplex=False)
        self._pool = self._new_pool()

    def start(self) -> None:
        """Fork the child; if that fails, the first call fails the same way."""
        start_fork_server(self._preload)
        self._fork()

    def run(self, key: str, payload: bytes, limits: CallLimits, cancelled: Event) -> CallOutcome:
        """Run one call until it ends, exceeds a limit or is `cancelled`; raises EngineUnavailableError."""
        why = None
        for _ in range(_STARTS):
            watch = Watch(self._announced, limits)
            try:
                return self._attempt(key, payload, watch, cancelled)
            except RuntimeError:
                # Pebble gives up a pool whose process ended between two calls or did not start.
                why = watch.failed_start() or why
                self._replace_pool()
        raise EngineUnavailableError(f"no child process can be started: {why or 'it ended at once, the log tells why'}")

    def stop(self) -> None:
        """Take no more calls; `close` has to follow."""
        self._pool.stop()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Kill the child."""
        self._stop_pool()
        self._announced.close()
        self._announce.close()

    def _attempt(self, key: str, payload: bytes, watch: Watch, cancelled: Event) -> CallOutcome:
        limits = watch.limits
        future = self._schedule(child.execute, key, payload, limits.memory_mb, timeout=watch.clock_s)
        while not future.done():
            end = End(CallStatus.CANCELLED, "cancelled") if cancelled.is_set() else watch.breach()
            if end is not None:
                watch.kill()
                killed = watch.outcome(key, end)  # told now, so that its time holds no replacement
                self._replace_pool()
                return killed
            wait([future], timeout=_WATCH_S)
        try:
            returned: CallOutcome = future.result()
        except TimeoutError:
            return watch.outcome(key, watch.too_late())
        except ProcessExpired as expired:
            return watch.outcome(key, watch.explain(expired.exitcode))
        return returned

    def _schedule(
        self, function: Callable[..., Any], *arguments: object, timeout: float | None = None
    ) -> ProcessFuture[Any]:
        try:
            return self._pool.schedule(function, args=arguments, timeout=timeout)
        except TypeError as error:
            # Multiprocessing raises this if the fork server died while another slot used it.
            raise RuntimeError("the fork server is gone") from error

    def _replace_pool(self) -> None:
        self._stop_pool()
        self._pool = self._new_pool()
        self._fork()

    def _fork(self) -> None:
        """Have the pool fork its child before a call asks for it."""
        with suppress(RuntimeError):
            self._schedule(os.getpid)

    def _stop_pool(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    def _new_pool(self) -> ProcessPool:
        return ProcessPool(
            max_workers=1,
            initializer=child.initialize,
            initargs=(self._announce, self._preload, self._scratch, self._threads),
            context=get_context("forkserver"),
        )
