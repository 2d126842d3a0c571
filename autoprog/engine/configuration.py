"""How Dask is set: quiet, without dashboards, and quick to give a deadly task up."""

from __future__ import annotations

import logging

import dask

HTTP_ADDRESS = "127.0.0.1:0"
"""Where Dask's HTTP servers listen, which start even without a dashboard: out of reach, and never twice on one port."""

_CONFIG = {
    # A call cannot take its worker down, so a worker that dies has another reason; one more try is enough.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.comm.timeouts.connect": "5s",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}


def configure_dask() -> None:
    """Set what the engine needs in Dask's configuration of this process."""
    dask.config.set(_CONFIG)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
