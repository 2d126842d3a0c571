"""Looking for work, again and again, until the process is asked to end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

_log = structlog.get_logger()


def poll(run_one: Callable[[], bool], shutdown: threading.Event, poll_s: float) -> None:
    """Do work as long as there is some, and look for more now and then.

    Parameters
    ----------
    run_one : callable () -> bool
        Does the next piece of work; false where there was none. What it raises is logged.
    shutdown : threading.Event
        Ends the loop between two pieces.
    poll_s : float
        Seconds between looks at an empty queue.
    """
    while not shutdown.is_set():
        try:
            found = run_one()
        except Exception:  # noqa: BLE001  the queue must outlive a fault of the database
            _log.exception("runner_error")
            found = False
        if not found:
            shutdown.wait(poll_s)
