"""Configuration of Dask: quiet, without dashboards, and quick to give up a task that kills workers."""

from __future__ import annotations

import logging

import dask
import dask.array  # scipy asks it whether an array is one of its own, and fails while a thread imports it

HTTP_ADDRESS = "127.0.0.1:0"
"""Address of Dask's HTTP servers, which start even without a dashboard: unreachable, and never twice on one port."""

_CONFIG = {
    # A call cannot take its worker down, so a worker that dies has another reason; one more try is enough.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.comm.timeouts.connect": "5s",
    "distributed.comm.compression": False,  # runners read no compressed answers
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}


def configure_dask() -> None:
    """Set what the engine needs in this process's Dask configuration."""
    dask.config.set(_CONFIG)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
