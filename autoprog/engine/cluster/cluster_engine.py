"""The engine of a cluster: a client of its scheduler."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from autoprog.engine.cluster.call_queue import ANSWER_S, DaskCallQueue
from autoprog.engine.cluster.client import CallClient
from autoprog.engine.cluster.configuration import configure_dask
from autoprog.engine.cluster.encryption import read_certificates
from autoprog.engine.local_engine import EngineHealth
from autoprog.errors import EngineUnavailableError

_CONNECT_S = 2


class ClusterEngine:
    """Engine that runs calls on the workers of a Dask scheduler; it connects at its first use. Close it.

    Parameters
    ----------
    address : str
        The scheduler's address, such as `tls://127.0.0.1:8786`.
    certificates : Path or None
        Folder made by `make_certificates`; None for what Dask's own configuration says.
    patience_s : float
        Seconds without a scheduler or a worker after which a run is given up.

    Raises
    ------
    InvalidInputError
        If a certificate is missing.
    """

    def __init__(self, address: str, *, certificates: Path | None = None, patience_s: float = 60.0) -> None:
        configure_dask()
        self._address = address
        self._security = read_certificates(certificates)
        self._patience_s = patience_s
        self._client: CallClient | None = None
        self._connecting = Lock()
        # Dask's own exit handlers close it in an order in which they wait for each other.
        atexit.register(self.close)

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

    @property
    def slots(self) -> int:
        """Number of calls that run at once; 0 without a worker. Raises EngineUnavailableError."""
        try:  # a busy scheduler answers late
            return self._connected().count_slots(max(ANSWER_S, self._patience_s))
        except OSError as error:
            raise EngineUnavailableError(f"the scheduler at {self._address} does not answer") from error

    def health(self) -> EngineHealth:
        """Ask the scheduler for its workers, for at most two seconds."""
        try:
            return EngineHealth(reachable=True, slots=self._connected().count_slots(ANSWER_S))
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

    def _connected(self) -> CallClient:
        """Return the client, a new one if the old one lost its scheduler; raises OSError."""
        with self._connecting:
            if self._client is not None and self._client.status != "running":
                lost, self._client = self._client, None
                with suppress(OSError):
                    lost.close()
            if self._client is None:
                self._client = CallClient(self._address, self._security, _CONNECT_S)
            return self._client
