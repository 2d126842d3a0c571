"""Metrics for operators: requests of this process, and the state of the queue and the disks."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from http import HTTPMethod, HTTPStatus
from pathlib import Path

from fastapi import FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.dependencies import Context
from autoprog.errors import StoreUnavailableError
from autoprog.storage.files import free_bytes
from autoprog.storage.repositories import Backlog, QueueRepository
from autoprog.storage.tables import JobRow, SearchRow

_PATH = "/metrics"
_NOT_COUNTED = frozenset({"/livez", "/readyz", _PATH})
_METHODS = frozenset(HTTPMethod)
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
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


class RequestMetrics:
    """Requests of a process by route and class of status, and how long each took to begin its response.

    Parameters
    ----------
    registry : CollectorRegistry
        Where they are collected.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        route = ("handler", "method")
        self._requests = Counter(
            "http_requests", "requests by route, method and class of status", (*route, "status"), registry=registry
        )
        self._seconds = Histogram(
            "http_request_duration_seconds", "time until a response began", route, buckets=_BUCKETS, registry=registry
        )

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that has been routed."""
        # Whatever clients may make up, as a path or a method, has one name: each name takes memory for good.
        route = getattr(scope.get("route"), "path", "") or "none"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        if route not in _NOT_COUNTED:
            self._requests.labels(route, method, f"{status // 100}xx").inc()
            self._seconds.labels(route, method).observe(seconds)


class Measured:
    """Middleware that counts requests."""

    def __init__(self, app: ASGIApp, counts: RequestMetrics) -> None:
        self.app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its response back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, began = HTTPStatus.INTERNAL_SERVER_ERROR.value, time.perf_counter()
        seconds: float | None = None

        async def timed_send(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status, seconds = message["status"], time.perf_counter() - began
            await send(message)

        try:
            await self.app(scope, receive, timed_send)
        finally:
            self._counts.count(scope, status, time.perf_counter() - began if seconds is None else seconds)


def measure(app: FastAPI) -> CollectorRegistry:
    """Count requests, and collect the state, in a registry of the application's own."""
    registry = CollectorRegistry()
    registry.register(_State(app))
    app.add_middleware(Measured, counts=RequestMetrics(registry))
    return registry


def expose(app: FastAPI, registry: CollectorRegistry) -> None:
    """Add `/metrics`."""

    def show() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    app.add_api_route(_PATH, show, include_in_schema=False)
