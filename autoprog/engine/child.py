"""What runs inside a child process: its preparation, and one call after the other under a memory limit."""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import re
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_limits

from autoprog.engine.memory import MIB, data_limit, resident_bytes
from autoprog.evaluation import without_values
from autoprog.search.ports import CallOutcome, CallStatus
from autoprog.search.work import prepare

EXIT_OUT_OF_MEMORY = 86
"""Exit code of a child that could not allocate: its heap is not to be trusted with another call."""

_PR_SET_PDEATHSIG = 1
_BUFFERED_ORDER = 200
_REASON_LENGTH = 300
_ALLOCATION_FAILED = re.compile(r"(can't|cannot) allocate memory|not enough memory|bad_alloc", re.IGNORECASE)

_supervisor: Connection | None = None


def initialize(supervisor: Connection, preload: Sequence[str], scratch: Path) -> None:
    """Prepare a fresh child: it dies with its parent, uses one thread, has the plug-ins loaded and knows its folder.

    Parameters
    ----------
    supervisor : Connection
        Where each call announces its process.
    preload : sequence of str
        Plug-in modules.
    scratch : pathlib.Path
        Private folder that the children of the worker share.
    """
    global _supervisor  # noqa: PLW0603  (Pebble hands an initializer's results to no one)
    _supervisor = supervisor
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
    prepare(scratch)


def execute(key: str, payload: bytes, memory_mb: int) -> CallOutcome:
    """Run one call.

    Parameters
    ----------
    key : str
        The call's.
    payload : bytes
        Pickled (function, arguments).
    memory_mb : int
        MiB that it may allocate.

    Returns
    -------
    CallOutcome
        Succeeded with the pickled value, or failed. A call that runs out of memory ends the process.
    """
    assert _supervisor is not None  # noqa: S101
    began, start = time.process_time(), time.perf_counter()
    _supervisor.send((os.getpid(), resident_bytes(os.getpid()), began))
    try:
        with data_limit(memory_mb * MIB):
            function, arguments = pickle.loads(payload)  # noqa: S301  (written by the engine's client)
            result = function(*arguments)
        duration, computed = time.perf_counter() - start, time.process_time() - began
        value = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # noqa: BLE001  (SystemExit too is only the function's)
        if _is_out_of_memory(error):
            os._exit(EXIT_OUT_OF_MEMORY)
        duration, computed = time.perf_counter() - start, time.process_time() - began
        return CallOutcome(key, CallStatus.FAILED, reason=_describe(error), duration_s=duration, processor_s=computed)
    return CallOutcome(key, CallStatus.SUCCEEDED, value=value, duration_s=duration, processor_s=computed)


def _die_with_parent() -> None:
    """See to it that no child outlives its parent, even one that hangs.

    The kernel kills this process when the fork server ends, and the fork server ends when the last copy of its alive
    pipe is closed: the parent's, once this one is gone.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    server = getattr(forkserver, "_forkserver", None)
    alive = getattr(server, "_forkserver_alive_fd", None)
    if server is not None and alive is not None:
        os.close(alive)
        server._forkserver_alive_fd = None  # noqa: SLF001


def _use_one_thread() -> None:
    """Limit every numerical library that is loaded to one thread."""
    threadpool_limits(1)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _allocate_buffers() -> None:
    """Have numpy's and scipy's OpenBLAS allocate their buffers, 32 MiB each, at the first product that is not small.

    They are the process's, not a call's; and in a call whose limit leaves no room for them OpenBLAS tries for ever.
    """
    factor = np.ones((_BUFFERED_ORDER, _BUFFERED_ORDER))
    np.dot(factor, factor)
    dgemm(1.0, factor, factor)


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether this error, or one that led to it, says that memory could not be allocated."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, MemoryError) or _ALLOCATION_FAILED.search(str(cause)):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


def _describe(error: BaseException) -> str:
    """Type and first line of an error."""
    lines = without_values(str(error).strip()).splitlines()
    return f"{type(error).__name__}: {lines[0]}"[:_REASON_LENGTH] if lines else type(error).__name__
