"""Polling for work until the process is asked to end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

_log = structlog.get_logger()


def poll(run_one: Callable[[], bool], shutdown: threading.Event, poll_s: float) -> None:
    """Run work as long as there is some, and look again every `poll_s` seconds; errors are logged."""
    while not shutdown.is_set():
        try:
            found = run_one()
        except Exception:  # noqa: BLE001  the queue must outlive a fault of the database
            _log.exception("runner_error")
            found = False
        if not found:
            shutdown.wait(poll_s)
