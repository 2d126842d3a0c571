"""A worker's child process: its preparation, and one call after another under a memory limit.

The memory that a process holds, and a limit on what it may add: on Linux, `RLIMIT_DATA`.

It counts private writable memory, touched or not, but no libraries or read-only maps of a cohort's file. Shared memory
escapes it, so resident memory is watched from outside too; elsewhere the watch is the only limit.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import re
import resource
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import psutil
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_limits

from autoprog.evaluation import without_values
from autoprog.search.tasks import prepare
from autoprog.work import CallOutcome, CallStatus, write_value

MIB = 1 << 20


def resident_bytes(pid: int) -> int | None:
    """Return the bytes that a process holds, without pages of mapped files; None if there is no such process."""
    if sys.platform != "linux":
        try:
            return int(psutil.Process(pid).memory_info().rss)
        except psutil.NoSuchProcess:
            return None
    fields = _status(pid)
    return None if fields is None else fields.get("RssAnon", 0) + fields.get("RssShmem", 0)


@contextmanager
def data_limit(budget: int) -> Iterator[None]:
    """Limit this process to `budget` bytes more than it holds now, while the block runs."""
    fields = _status(os.getpid()) if sys.platform == "linux" else None
    if fields is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = fields["VmData"] + budget
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _status(pid: int) -> dict[str, int] | None:
    """Return the sizes in /proc/PID/status, in bytes."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    lines = (line.split() for line in text.splitlines() if line.endswith(" kB"))
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, _ in lines}


EXIT_OUT_OF_MEMORY = 86
"""Exit code of a child that ran out of memory: its heap cannot be trusted with another call."""

_PR_SET_PDEATHSIG = 1
_BUFFERED_ORDER = 200
_REASON_LENGTH = 300
_ALLOCATION_FAILED = re.compile(r"(can't|cannot) allocate memory|not enough memory|bad_alloc", re.IGNORECASE)

_supervisor: Connection | None = None
_fork_server = 0  # its process


def initialize(supervisor: Connection, preload: Sequence[str], scratch: Path, threads: int) -> None:
    """Prepare a fresh child: it dies with its parent, uses one thread unless lent more, has loaded the plug-ins."""
    global _supervisor, _fork_server  # Pebble hands an initializer's results to no one
    _supervisor, _fork_server = supervisor, os.getppid()
    _die_with_parent()
    # Pebble's handler cannot run while C code holds the interpreter lock.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    try:
        for module in preload:
            importlib.import_module(module)
    except Exception as error:
        supervisor.send(f"plug-in {module} cannot be imported: {_describe(error)}")
        raise
    _use_one_thread()
    _allocate_buffers()
    prepare(scratch, threads)


def execute(key: str, payload: bytes, memory_mb: int) -> CallOutcome:
    """Run one pickled call within its memory limit; a call that runs out of memory ends the process."""
    assert _supervisor is not None  # noqa: S101
    modules, payload = pickle.loads(payload)  # noqa: S301  (written by the engine's client)
    for module in modules:
        _load(module)
    began, start = time.process_time(), time.perf_counter()
    _supervisor.send((os.getpid(), resident_bytes(os.getpid()), began))
    try:
        with data_limit(memory_mb * MIB):
            function, arguments = pickle.loads(payload)  # noqa: S301  (written by the engine's client)
            result = function(*arguments)
        duration, computed = time.perf_counter() - start, time.process_time() - began
        value = write_value(result)
    except BaseException as error:  # noqa: BLE001  (SystemExit too is only the function's)
        if _is_out_of_memory(error):
            os._exit(EXIT_OUT_OF_MEMORY)
        duration, computed = time.perf_counter() - start, time.process_time() - began
        return CallOutcome(key, CallStatus.FAILED, reason=_describe(error), duration_s=duration, processor_s=computed)
    return CallOutcome(key, CallStatus.SUCCEEDED, value=value, duration_s=duration, processor_s=computed)


def _load(module: str) -> None:
    """Import a module that the fork server has not loaded, and have it load what later children may need."""
    if module not in sys.modules:
        # A fork server that another library started would end by the signal: it has not loaded what answers to it.
        if "autoprog.engine.preload" in sys.modules and os.getppid() == _fork_server:
            os.kill(_fork_server, signal.SIGALRM)
        with suppress(Exception):  # the call imports it, too, and says what is wrong
            importlib.import_module(module)
        _use_one_thread()


def _die_with_parent() -> None:
    """Make sure that no child outlives its parent, even if it hangs."""
    # The kernel kills this process when the fork server ends. The fork server ends when the last copy of its alive pipe
    # is closed: once this process has closed its own, the parent's is the last.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    server = getattr(forkserver, "_forkserver", None)
    alive = getattr(server, "_forkserver_alive_fd", None)
    if server is not None and alive is not None:
        os.close(alive)
        server._forkserver_alive_fd = None  # noqa: SLF001


def _use_one_thread() -> None:
    """Limit every loaded numerical library to one thread."""
    threadpool_limits(1)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _allocate_buffers() -> None:
    """Make numpy's and scipy's OpenBLAS allocate their buffers of 32 MiB each."""
    # OpenBLAS does so at the first product that is not small. Within a call whose limit leaves no room for the buffers,
    # it would try forever.
    factor = np.ones((_BUFFERED_ORDER, _BUFFERED_ORDER))
    np.dot(factor, factor)
    dgemm(1.0, factor, factor)


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or one of its causes, says that memory could not be allocated."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, MemoryError) or _ALLOCATION_FAILED.search(str(cause)):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


def _describe(error: BaseException) -> str:
    """Return the type and first line of an error."""
    lines = without_values(str(error).strip()).splitlines()
    return f"{type(error).__name__}: {lines[0]}"[:_REASON_LENGTH] if lines else type(error).__name__
