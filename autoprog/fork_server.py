"""The fork server, from which the children of a worker are forked with their libraries loaded.

Loading takes seconds. A command or a fit that will search starts it first, and loads its own libraries meanwhile.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from threading import Lock

_VARIABLES = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
) | {
    # Arrow's own allocator reserves 1 GiB of writable memory at its first use, which would count against the call.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_environment = Lock()


def start_fork_server(plugins: Sequence[str] = ()) -> None:
    """Start the fork server of this process unless it runs; do not wait until it has loaded.

    Parameters
    ----------
    plugins : sequence of str
        Modules that it loads besides the libraries; those of the first call count.
    """
    with _environment, _variables():
        forkserver.set_forkserver_preload(["autoprog.engine.preload", *plugins])
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
