"""The scheduler of a cluster: Dask's own, configured for calls that take seconds."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import dask
from distributed import Scheduler

from autoprog.engine.cluster.configuration import configure_dask
from autoprog.engine.cluster.encryption import read_certificates

_CONFIG = {
    # A call that waits should wait here and not at a busy worker, and be given to a free one at once.
    "distributed.scheduler.work-stealing-interval": "100ms",
    "distributed.scheduler.worker-saturation": 1.0,
}


def scheduler_main(port: int, *, host: str | None, certificates: Path | None, health: str) -> None:
    """Run a scheduler until the process is asked to end.

    Parameters
    ----------
    port : int
        Where workers and runners connect.
    host : str or None
        Address to listen on; by default all.
    certificates : Path or None
        Folder made by `make_certificates`. None for connections without encryption: whoever reaches the port can run
        code on every worker.
    health : str
        `HOST:PORT` where `/health` is served.

    Raises
    ------
    InvalidInputError
        If a certificate is missing.
    """
    configure_dask()
    dask.config.set(_CONFIG)
    security = read_certificates(certificates)

    async def serve() -> None:
        asked = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, asked.set)
        scheduler = Scheduler(
            host=host,
            port=port,
            protocol="tcp://" if security is None else "tls://",
            security=security,
            dashboard=False,
            dashboard_address=health,
        )
        async with scheduler:
            await asked.wait()

    asyncio.run(serve())
