"""Processor time of a process. Unlike the clock it does not depend on the load of the machine."""

from __future__ import annotations

import psutil


def processor_seconds(pid: int) -> float | None:
    """Seconds that the threads of a process have computed, in user and system mode; None if there is none such."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return float(times.user + times.system)
