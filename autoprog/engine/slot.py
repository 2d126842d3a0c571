"""A worker's slot: a child process, its hard limits, and its replacement after a kill."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, get_context, resource_tracker
from pathlib import Path
from threading import Event, Lock
from typing import Any

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from autoprog.engine import child
from autoprog.engine.watch import End, Watch
from autoprog.errors import EngineUnavailableError
from autoprog.work import CallLimits, CallOutcome, CallStatus

_WATCH_S = 0.05
_STARTS = 3
_VARIABLES = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
) | {
    # Arrow's own allocator reserves 1 GiB of writable memory at its first use, which would count against the call.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_environment = Lock()


class Slot:
    """A child process that runs one call at a time, is watched from outside, and is replaced after a kill."""

    # A Pebble pool of one process enforces the time limit, and replaces a process that ended by itself.
    def __init__(self, preload: Sequence[str], scratch: Path) -> None:
        self._preload = tuple(preload)
        self._scratch = scratch
        self._announced, self._announce = get_context("forkserver").Pipe(duplex=False)
        self._pool = self._new_pool()

    def start(self) -> None:
        """Fork the child; if that fails, the first call fails the same way."""
        _start_forkserver(self._preload)
        with suppress(RuntimeError):
            self._schedule(os.getpid)

    def run(self, key: str, payload: bytes, limits: CallLimits, cancelled: Event) -> CallOutcome:
        """Run one call until it ends, exceeds a limit or is `cancelled`; raises EngineUnavailableError."""
        why = None
        for _ in range(_STARTS):
            watch = Watch(self._announced, limits)
            try:
                end = self._attempt(key, payload, watch, cancelled)
            except RuntimeError:
                # Pebble gives up a pool whose process ended between two calls or did not start.
                why = watch.failed_start()
                self._replace_pool()
            else:
                return end if isinstance(end, CallOutcome) else watch.outcome(key, end)
        raise EngineUnavailableError(f"no child process can be started: {why or 'it ended at once, the log tells why'}")

    def stop(self) -> None:
        """Take no more calls; `close` has to follow."""
        self._pool.stop()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Kill the child."""
        self._stop_pool()
        self._announced.close()
        self._announce.close()

    def _attempt(self, key: str, payload: bytes, watch: Watch, cancelled: Event) -> CallOutcome | End:
        limits = watch.limits
        future = self._schedule(child.execute, key, payload, limits.memory_mb, timeout=watch.clock_s)
        while not future.done():
            end = End(CallStatus.CANCELLED, "cancelled") if cancelled.is_set() else watch.breach()
            if end is not None:
                watch.kill()
                self._replace_pool()
                return end
            wait([future], timeout=_WATCH_S)
        try:
            outcome: CallOutcome = future.result()
        except TimeoutError:
            return watch.too_late()
        except ProcessExpired as expired:
            return watch.explain(expired.exitcode)
        return outcome

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

    def _stop_pool(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    def _new_pool(self) -> ProcessPool:
        return ProcessPool(
            max_workers=1,
            initializer=child.initialize,
            initargs=(self._announce, self._preload, self._scratch),
            context=get_context("forkserver"),
        )


def _start_forkserver(preload: Sequence[str]) -> None:
    """Start the process that children are forked from, unless it runs."""
    with _environment, _variables():
        forkserver.set_forkserver_preload(["autoprog.engine.preload", *preload])
        resource_tracker.ensure_running()  # it sets the mask of this thread
        with _interrupts_blocked():
            forkserver.ensure_running()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: a terminal sends it to all, and the first one decides what ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _variables() -> Iterator[None]:
    """Make a process that is started meanwhile load its libraries without thread pools and memory reserves."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(_VARIABLES)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
