"""The engine as the search sees it: a Dask client, and the cluster of one worker where there is no other."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Self

import dask
from distributed import Client, LocalCluster

from autoprog.engine.call_queue import ANSWER_S, DaskCallQueue, count_slots
from autoprog.engine.configuration import HTTP_ADDRESS, configure_dask
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
        Calls that its workers run at the same time; 0 where there is no worker.
    """

    reachable: bool
    slots: int


class DaskEngine:
    """Runs calls on the workers of a Dask scheduler; make one by `embedded` or `connect`, and close it.

    Parameters
    ----------
    address : str
        The scheduler's.
    patience_s : float
        Seconds to wait for a scheduler or a worker that is away before a run is given up.
    cluster : LocalCluster or None
        Closed with the engine.
    """

    def __init__(self, address: str, *, patience_s: float = 60.0, cluster: LocalCluster | None = None) -> None:
        self._address = address
        self._patience_s = patience_s
        self._cluster = cluster
        self._client: Client | None = None
        self._connecting = Lock()
        # The libraries below close themselves at exit too, but in an order in which they wait for each other.
        atexit.register(self.close)

    @classmethod
    def embedded(cls, slots: int, preload: Sequence[str] = ()) -> Self:
        """Make an engine whose only worker lives in this process.

        Parameters
        ----------
        slots : int
            Calls at once, at least 1.
        preload : sequence of str
            Plug-in modules that the children import; they register algorithms.

        Returns
        -------
        DaskEngine
            Its children are still starting, for a few seconds; calls wait for them.
        """
        configure_dask()
        # Scheduler and worker live and die together. A process that was suspended for longer than the scheduler waits
        # for a sign of its worker, as with a laptop's lid, would give up the only one that it has.
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
    def connect(cls, address: str, *, patience_s: float = 60.0) -> Self:
        """Make an engine over a cluster; the connection is made when it is first needed.

        Parameters
        ----------
        address : str
            Of the Dask scheduler, as in `tcp://127.0.0.1:8786`; with `tls://`, the certificates are those of Dask's
            own configuration.
        patience_s : float
            Seconds to wait for a scheduler or a worker that is away before a run is given up.

        Returns
        -------
        DaskEngine
            Not connected yet.
        """
        configure_dask()
        return cls(address, patience_s=patience_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the cluster; what this engine still runs is killed."""
        atexit.unregister(self.close)
        with self._connecting:
            if self._client is not None:
                self._client.close()
                self._client = None
        if self._cluster is not None:
            self._cluster.close()

    @property
    def slots(self) -> int:
        """Calls that run at the same time; 0 where there is no worker. Raises EngineUnavailableError."""
        try:  # one that is busy answers late
            return count_slots(self._connected(), max(ANSWER_S, self._patience_s))
        except OSError as error:
            raise EngineUnavailableError(f"the scheduler at {self._address} does not answer") from error

    def health(self) -> EngineHealth:
        """Ask the scheduler for its workers, for two seconds at most."""
        try:
            return EngineHealth(reachable=True, slots=count_slots(self._connected(), ANSWER_S))
        except OSError:
            return EngineHealth(reachable=False, slots=0)

    @contextmanager
    def open(self, stop: Callable[[], bool]) -> Iterator[DaskCallQueue]:
        """Open a queue of calls; see `autoprog.search.ports.Dispatcher`.

        Parameters
        ----------
        stop : callable () -> bool
            Asked every 50 ms while outcomes are waited for; once it returns true, running calls are killed and the
            rest is not started.

        Yields
        ------
        DaskCallQueue
            Its calls may wait for a scheduler or a worker for as long as this engine's patience lasts.
        """
        with closing(DaskCallQueue(self._connected, self._patience_s, stop)) as queue:
            yield queue

    def _connected(self) -> Client:
        """The client, made anew where the old one lost its scheduler. Raises OSError."""
        with self._connecting:
            if self._client is not None and self._client.status != "running":
                self._client.close()
                self._client = None
            if self._client is None:
                self._client = Client(self._address, timeout=_CONNECT_S, set_as_default=False, name="autoprog")
            return self._client
