"""How much memory a process holds, and the limit on how much more it may take.

On Linux the limit is `RLIMIT_DATA`: it counts private writable memory whether touched or not, and leaves out what the
address space holds anyway, such as libraries and read-only maps of a cohort's file. Shared memory escapes it, which is
why resident memory is watched from outside too. Elsewhere the watch is all there is.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

MIB = 1 << 20


def resident_bytes(pid: int) -> int | None:
    """Memory that a process keeps from others, without the pages of mapped files.

    Parameters
    ----------
    pid : int
        The process.

    Returns
    -------
    int or None
        Bytes; None if there is no such process.
    """
    if sys.platform != "linux":
        try:
            return int(psutil.Process(pid).memory_info().rss)
        except psutil.NoSuchProcess:
            return None
    fields = _status(pid)
    return None if fields is None else fields.get("RssAnon", 0) + fields.get("RssShmem", 0)


@contextmanager
def data_limit(budget: int) -> Iterator[None]:
    """Let this process allocate at most so much more than it holds now.

    Parameters
    ----------
    budget : int
        Bytes.

    Yields
    ------
    None
        While the limit holds.
    """
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
    """The sizes in /proc/PID/status, in bytes."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    lines = (line.split() for line in text.splitlines() if line.endswith(" kB"))
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, _ in lines}
