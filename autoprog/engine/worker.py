"""A Dask worker whose tasks only supervise: each call runs in a child process that can be killed."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import LifoQueue
from threading import Event, Lock, Thread

from distributed import Reschedule, Worker, WorkerPlugin, get_worker
from distributed.security import Security

from autoprog.engine.configuration import HTTP_ADDRESS, configure_dask
from autoprog.engine.encryption import read_certificates
from autoprog.engine.scratch import Scratch
from autoprog.engine.slot import Slot
from autoprog.errors import EngineUnavailableError
from autoprog.work import CallLimits, CallOutcome, CallStatus

_PLUGIN = "autoprog-children"
_PATIENCE_S = 60
_log = logging.getLogger(__name__)


class Children(WorkerPlugin):  # type: ignore[misc]
    """The child processes of a Dask worker, one per thread, and the folder that they share."""

    name = _PLUGIN

    def __init__(self, slots: int, preload: Sequence[str]) -> None:
        self._scratch = Scratch()
        self._slots = [Slot(preload, self._scratch.folder) for _ in range(slots)]
        self._free: LifoQueue[Slot] = LifoQueue()
        self._lock = Lock()
        self._running: dict[str, Event] = {}
        self._closing = False
        self._starting = Thread(target=self._start, name="autoprog-start-children", daemon=True)

    def setup(self, worker: Worker) -> None:  # noqa: ARG002  (Dask's signature)
        """Begin to start the children; calls wait until there is one."""
        self._starting.start()

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002  (Dask's signature)
        """Kill every child and remove their folder; running calls go back to the scheduler."""
        with self._lock:
            self._closing = True
            for cancelled in self._running.values():
                cancelled.set()
        self._starting.join()
        for _ in self._slots:
            self._free.get()
        for slot in self._slots:
            slot.stop()
        for slot in self._slots:
            slot.close()
        self._scratch.close()

    def transition(self, key: str, start: str, finish: str, **_: object) -> None:
        """Follow Dask's tasks: a running one that is released was cancelled, or its client is gone."""
        with self._lock:
            if finish == "executing":
                self._running[key] = Event()
            elif start == "executing":
                cancelled = self._running.pop(key, None)
                if cancelled is not None and finish == "released":
                    cancelled.set()

    def run(self, task: str, key: str, payload: bytes, limits: CallLimits) -> CallOutcome:
        """Run the call of a Dask task in a free child; raises Reschedule if this worker is closing."""
        with self._lock:
            cancelled = self._running.get(task)
            closing = self._closing
        if closing:
            raise Reschedule
        if cancelled is None:
            return CallOutcome(key, CallStatus.CANCELLED)
        slot = self._free.get()
        try:
            outcome = slot.run(key, payload, limits, cancelled)
        finally:
            self._free.put(slot)
        if self._closing:
            raise Reschedule
        return outcome

    def _start(self) -> None:
        for slot in self._slots:
            try:
                slot.start()
            finally:
                self._free.put(slot)


def supervise(task: str, key: str, payload: bytes, limits: CallLimits) -> CallOutcome:
    """Run a call as a Dask task; see `Children.run`."""
    worker = get_worker()
    children = worker.plugins.get(_PLUGIN)
    if children is None:
        msg = f"the worker at {worker.address} was not started by `autoprog worker`"
        raise EngineUnavailableError(msg)
    outcome: CallOutcome = children.run(task, key, payload, limits)
    return outcome


def worker_main(
    scheduler: str,
    slots: int,
    preload: Sequence[str] = (),
    *,
    host: str | None = None,
    certificates: Path | None = None,
) -> int:
    """Run a worker of a cluster until the scheduler is lost or the process is asked to end.

    A termination signal returns running calls to the scheduler, which sends them to another worker.

    Parameters
    ----------
    scheduler : str
        The scheduler's address, such as `tls://scheduler:8786`.
    slots : int
        Calls at once, at least 1.
    preload : sequence of str
        Plug-in modules, the same on every worker.
    host : str or None
        Address to listen on; by default that of the interface that reaches the scheduler.
    certificates : Path or None
        Folder made by `make_certificates`; None for what Dask's own configuration says.

    Returns
    -------
    int
        Exit code: 0 after a termination signal, else 1, so that a restart policy starts the worker again.
    """
    configure_dask()
    return asyncio.run(_serve(scheduler, slots, preload, host, read_certificates(certificates)))


async def _serve(
    scheduler: str, slots: int, preload: Sequence[str], host: str | None, security: Security | None
) -> int:
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    worker = Worker(
        scheduler,
        security=security,
        nthreads=slots,
        plugins=(Children(slots, preload),),
        memory_limit=0,
        dashboard_address=HTTP_ADDRESS,
        host=host,
        death_timeout=_PATIENCE_S,
    )
    life = asyncio.create_task(_live(worker))
    termination = asyncio.create_task(asked.wait())
    await asyncio.wait({life, termination}, return_when=asyncio.FIRST_COMPLETED)
    if life.done():
        termination.cancel()
        _log.error("the scheduler at %s cannot be reached", scheduler)
        return 1
    await worker.close_gracefully(reason="asked to end")
    life.cancel()
    return 0


async def _live(worker: Worker) -> None:
    with suppress(OSError):
        await worker
        await worker.finished()
