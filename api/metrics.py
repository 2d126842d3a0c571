"""Metrics for operators: requests of this process, and the state of the queue and the disks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_fastapi_instrumentator import Instrumentator
from sqlalchemy.exc import SQLAlchemyError

from api.dependencies import Context
from autoprog.errors import StoreUnavailableError
from autoprog.storage.files import free_bytes
from autoprog.storage.repositories import Backlog, QueueRepository
from autoprog.storage.tables import JobRow, SearchRow

_BACKLOG: Mapping[str, str] = {
    "waiting": "searches or jobs that wait for a runner",
    "waiting_seconds": "time since the oldest of these was queued",
    "running": "searches or jobs that run",
    "left": "of those that run: the lease has run out, so no runner works on them",
    "lost_leases": "of those that run: most leases lost in a row",
    "failed": "searches or jobs that failed within the last hour",
}


class _State(Collector):
    """The state of the whole installation, as this process sees it: every API reports the same queue."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def collect(self) -> Iterator[Metric]:
        """Read the state, once per request for the metrics."""
        context: Context = self._app.state.context
        yield from _collect_backlog(context)
        free = GaugeMetricFamily(
            "autoprog_free_bytes", "free space of the disks that are seen from here", labels=["place"]
        )
        places = {
            "database": context.database.free_bytes(),
            "files": context.files.free_bytes(),
            "temporary": free_bytes(Path(tempfile.gettempdir())),
        }
        for place, n_bytes in places.items():
            if n_bytes is not None:
                free.add_metric([place], n_bytes)
        yield free


def _collect_backlog(context: Context) -> Iterator[Metric]:
    try:
        with context.database.session(read_only=True) as session:
            queue = QueueRepository(session)
            found: dict[str, Backlog] = {"search": queue.backlog(SearchRow), "job": queue.backlog(JobRow)}
    except (StoreUnavailableError, SQLAlchemyError):  # the latter without tables
        found = {}
    yield GaugeMetricFamily("autoprog_database_up", "whether the database answers and has tables", len(found) > 0)
    gauges = {name: GaugeMetricFamily(f"autoprog_{name}", text, labels=["kind"]) for name, text in _BACKLOG.items()}
    for kind, backlog in found.items():
        for gauge, value in zip(gauges.values(), backlog, strict=True):
            gauge.add_metric([kind], value)
    yield from gauges.values()


def measure(app: FastAPI) -> Instrumentator:
    """Count requests by route and status, and collect the state, in a registry of the application's own."""
    registry = CollectorRegistry()
    registry.register(_State(app))
    return Instrumentator(registry=registry, excluded_handlers=["/livez", "/readyz", "/metrics"]).instrument(app)
