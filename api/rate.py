"""Rate limits: at most so many requests a minute, in bursts or spread out."""

from __future__ import annotations

import threading
import time

_MOST = 10_000
_ROUNDING_S = 1e-6


class Rate:
    """Counts for many at a time, in this process.

    Parameters
    ----------
    a_minute : int or None
        Most times for each; None for any number.
    """

    def __init__(self, a_minute: int | None) -> None:
        self._a_minute = a_minute
        self._lock = threading.Lock()
        self._free_at: dict[str, float] = {}

    def take(self, who: str) -> float:
        """Count once more for somebody.

        Parameters
        ----------
        who : str
            An owner, an address.

        Returns
        -------
        float
            0 where it may be done now; else nothing is counted, and these are the seconds until it may be.
        """
        if self._a_minute is None:
            return 0.0
        each_s = 60.0 / self._a_minute
        with self._lock:
            now = time.monotonic()
            if len(self._free_at) >= _MOST:
                self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            # When all that was done would be done, had it been done evenly: at most a minute ahead.
            free_at = max(now, self._free_at.get(who, now)) + each_s
            if free_at > now + 60.0 + _ROUNDING_S:
                return free_at - now - 60.0
            self._free_at[who] = free_at
            return 0.0
