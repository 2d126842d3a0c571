"""A Dask worker whose tasks only supervise: each call runs in a child process that can be killed."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock

from distributed import Reschedule, Status, Worker, WorkerPlugin, get_worker
from distributed.security import Security

from autoprog.engine.children import Children
from autoprog.engine.cluster.answers import write_answer
from autoprog.engine.cluster.configuration import HTTP_ADDRESS, configure_dask
from autoprog.engine.cluster.encryption import read_certificates
from autoprog.errors import EngineUnavailableError
from autoprog.work import CallLimits, CallOutcome, CallStatus

_PLUGIN = "autoprog-children"
_PATIENCE_S = 60
_ASKED = "asked to end"
_PAUSE_S = 1  # before a lost scheduler is joined again
_log = logging.getLogger(__name__)


class ChildrenPlugin(WorkerPlugin):  # type: ignore[misc]
    """The child processes of a Dask worker, one per thread."""

    name = _PLUGIN

    def __init__(self, slots: int, preload: Sequence[str]) -> None:
        self._children = Children(slots, preload)
        self._lock = Lock()
        self._running: dict[str, Event] = {}
        self._closing = False

    def setup(self, worker: Worker) -> None:  # noqa: ARG002  (Dask's signature)
        """Begin to start the children; calls wait until there is one."""
        self._children.start()

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002  (Dask's signature)
        """Kill every child and remove their folder; running calls go back to the scheduler."""
        with self._lock:
            self._closing = True
            for cancelled in self._running.values():
                cancelled.set()
        self._children.close()

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
        outcome = self._children.run(key, payload, limits, cancelled)
        if self._closing:
            raise Reschedule
        return outcome


def supervise(task: str, key: str, payload: bytes, limits: CallLimits) -> bytes:
    """Run a call as a Dask task, see `ChildrenPlugin.run`; return as `write_answer`, raise nothing but Reschedule."""
    worker = get_worker()
    children = worker.plugins.get(_PLUGIN)
    if children is None:
        return write_answer(f"the worker at {worker.address} was not started by `autoprog worker`")
    try:
        outcome: CallOutcome = children.run(task, key, payload, limits)
    except EngineUnavailableError as error:
        return write_answer(str(error))
    return write_answer(outcome)


def worker_main(
    scheduler: str,
    slots: int,
    preload: Sequence[str] = (),
    *,
    host: str | None = None,
    certificates: Path | None = None,
) -> int:
    """Run a worker of a cluster until the process is asked to end.

    A worker that has lost its scheduler joins it again, or one that was started at its address, with new children. A
    termination signal returns running calls to the scheduler, which sends them to another worker.

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
        Exit code: 0 after a termination signal; 1 if no scheduler answers in the first minute, as at a wrong address.
    """
    configure_dask()
    return asyncio.run(_serve(scheduler, slots, preload, host, read_certificates(certificates)))


async def _serve(
    scheduler: str, slots: int, preload: Sequence[str], host: str | None, security: Security | None
) -> int:
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    termination = asyncio.create_task(asked.wait())
    was_member = False
    while True:
        worker = Worker(
            scheduler,
            security=security,
            nthreads=slots,
            plugins=(ChildrenPlugin(slots, preload),),
            memory_limit=0,
            dashboard_address=HTTP_ADDRESS,
            host=host,
            death_timeout=_PATIENCE_S,
        )
        life = asyncio.create_task(_live(worker))
        await asyncio.wait({life, termination}, return_when=asyncio.FIRST_COMPLETED)
        if not life.done():
            await _leave(worker)
            life.cancel()
            return 0
        failure = life.exception()
        if failure is not None and not was_member:
            raise failure  # as of a plug-in; later, a scheduler that ends during a handshake raises any error
        was_member = was_member or life.result()
        if not was_member:
            termination.cancel()
            _log.error("the scheduler at %s cannot be reached", scheduler)
            return 1
        _log.warning("the scheduler at %s was lost: joining it again", scheduler, exc_info=failure)
        await asyncio.wait({termination}, timeout=_PAUSE_S)


async def _leave(worker: Worker) -> None:
    """Return running calls to the scheduler, if it was joined and is there, and close."""
    if worker.status is Status.running:
        with suppress(OSError):
            await worker.close_gracefully(reason=_ASKED)
    await worker.close(reason=_ASKED)


async def _live(worker: Worker) -> bool:
    """Join the scheduler and stay until it is lost; whether it was joined."""
    is_member = False
    with suppress(OSError):
        await worker
        is_member = True
        await worker.finished()
    return is_member
