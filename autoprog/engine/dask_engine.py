"""The engine: a Dask client, with its own cluster of one worker unless it connects to another."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

import dask
from distributed import Client, LocalCluster
from distributed.security import Security

from autoprog.engine.call_queue import ANSWER_S, DaskCallQueue, count_slots
from autoprog.engine.configuration import HTTP_ADDRESS, configure_dask
from autoprog.engine.encryption import read_certificates
from autoprog.engine.worker import Children
from autoprog.errors import EngineUnavailableError

_CONNECT_S = 2


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """Whether calls can run now.

    Attributes
    ----------
    reachable : bool
        Whether the scheduler answers.
    slots : int
        Calls that its workers run at once; 0 without a worker.
    """

    reachable: bool
    slots: int


class DaskEngine:
    """Engine that runs calls on the workers of a Dask scheduler; make one by `embedded` or `connect`, and close it.

    Parameters
    ----------
    address : str
        The scheduler's address.
    patience_s : float
        Seconds without a scheduler or a worker after which a run is given up.
    cluster : LocalCluster or None
        Closed with the engine.
    security : Security or None
        Certificates; None for those of Dask's own configuration.
    """

    def __init__(
        self,
        address: str,
        *,
        patience_s: float = 60.0,
        cluster: LocalCluster | None = None,
        security: Security | None = None,
    ) -> None:
        self._address = address
        self._security = security
        self._patience_s = patience_s
        self._cluster = cluster
        self._client: Client | None = None
        self._connecting = Lock()
        # Dask's own exit handlers close it in an order in which they wait for each other.
        atexit.register(self.close)

    @classmethod
    def embedded(cls, slots: int, preload: Sequence[str] = ()) -> Self:
        """Make an engine whose only worker lives in this process.

        Parameters
        ----------
        slots : int
            Calls at once, at least 1.
        preload : sequence of str
            Plug-in modules that the children import to register algorithms.

        Returns
        -------
        DaskEngine
            Its children take a few seconds to start; calls wait for them.
        """
        configure_dask()
        # Scheduler and worker share one process. If it is suspended for longer than the scheduler waits for its worker,
        # as by closing a laptop, the scheduler would give up the only worker that it has.
        with dask.config.set({"distributed.scheduler.worker-ttl": None}):
            cluster = LocalCluster(
                processes=False,
                n_workers=1,
                threads_per_worker=slots,
                memory_limit=0,
                dashboard_address=HTTP_ADDRESS,
                worker_dashboard_address=HTTP_ADDRESS,
                plugins=(Children(slots, preload),),
            )
        return cls(cluster.scheduler_address, cluster=cluster)

    @classmethod
    def connect(cls, address: str, *, certificates: Path | None = None, patience_s: float = 60.0) -> Self:
        """Make an engine over a cluster; it connects at its first use.

        Parameters
        ----------
        address : str
            The scheduler's address, such as `tls://127.0.0.1:8786`.
        certificates : Path or None
            Folder made by `make_certificates`; None for what Dask's own configuration says.
        patience_s : float
            Seconds without a scheduler or a worker after which a run is given up.

        Returns
        -------
        DaskEngine
            Not connected yet.

        Raises
        ------
        InvalidInputError
            If a certificate is missing.
        """
        configure_dask()
        return cls(address, patience_s=patience_s, security=read_certificates(certificates))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect; calls that this engine still runs are killed."""
        atexit.unregister(self.close)
        with self._connecting:
            if self._client is not None:
                self._client.close()
                self._client = None
        if self._cluster is not None:
            self._cluster.close()

    @property
    def slots(self) -> int:
        """Number of calls that run at once; 0 without a worker. Raises EngineUnavailableError."""
        try:  # a busy scheduler answers late
            return count_slots(self._connected(), max(ANSWER_S, self._patience_s))
        except OSError as error:
            raise EngineUnavailableError(f"the scheduler at {self._address} does not answer") from error

    def health(self) -> EngineHealth:
        """Ask the scheduler for its workers, for at most two seconds."""
        try:
            return EngineHealth(reachable=True, slots=count_slots(self._connected(), ANSWER_S))
        except OSError:
            return EngineHealth(reachable=False, slots=0)

    @contextmanager
    def open(self, stop: Callable[[], bool]) -> Iterator[DaskCallQueue]:
        """Open a queue of calls; see `autoprog.work.Dispatcher`.

        Parameters
        ----------
        stop : callable () -> bool
            Asked every 50 ms while outcomes are awaited; once true, running calls are killed and no others started.

        Yields
        ------
        DaskCallQueue
            Its calls wait for a scheduler or a worker until this engine's patience ends.
        """
        with closing(DaskCallQueue(self._connected, self._patience_s, stop)) as queue:
            yield queue

    def _connected(self) -> Client:
        """Return the client, a new one if the old one lost its scheduler; raises OSError."""
        with self._connecting:
            if self._client is not None and self._client.status != "running":
                lost, self._client = self._client, None
                # Closing it tells how its own attempt to connect again ended: with TLS that may be a ValueError.
                with suppress(OSError, ValueError):
                    lost.close()
            if self._client is None:
                try:
                    self._client = Client(
                        self._address,
                        security=self._security,
                        timeout=_CONNECT_S,
                        set_as_default=False,
                        name="autoprog",
                    )
                except ValueError as error:
                    raise ConnectionError(
                        "the connection to the scheduler broke off before it was encrypted"
                    ) from error
            return self._client
