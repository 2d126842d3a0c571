"""The memory that a process holds, and a limit on what it may add: on Linux, `RLIMIT_DATA`.

It counts private writable memory, touched or not, but no libraries or read-only maps of a cohort's file. Shared memory
escapes it, so resident memory is watched from outside too; elsewhere the watch is the only limit.
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
