"""Rate limits: a number of requests a minute, in bursts or spread out."""

from __future__ import annotations

import threading
import time

_MOST = 10_000
_ROUNDING_S = 1e-6


class Rate:
    """Limit on how often each owner or address may act, within this process; None sets no limit."""

    def __init__(self, a_minute: int | None) -> None:
        self._a_minute = a_minute
        self._lock = threading.Lock()
        self._free_at: dict[str, float] = {}

    def take(self, who: str) -> float:
        """Count one action; return 0 if it may happen now, else count nothing and return the seconds to wait."""
        if self._a_minute is None:
            return 0.0
        each_s = 60.0 / self._a_minute
        with self._lock:
            now = time.monotonic()
            if len(self._free_at) >= _MOST:
                self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            # When all counted actions would be over if they were spread evenly: at most a minute ahead.
            free_at = max(now, self._free_at.get(who, now)) + each_s
            if free_at > now + 60.0 + _ROUNDING_S:
                return free_at - now - 60.0
            self._free_at[who] = free_at
            return 0.0
