"""Processor time of a process, which unlike the clock does not depend on the machine's load."""

from __future__ import annotations

import psutil


def processor_seconds(pid: int) -> float | None:
    """Return a process's user and system seconds over all threads; None if there is no such process."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return float(times.user + times.system)
