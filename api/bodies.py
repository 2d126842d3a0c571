"""A limit on the total size of the request bodies under way, from before each is read until its request ends.

Turns bound what is computed at once, but a body is received before its request waits for a turn. The file of a form
lies on the disk meanwhile; its other fields and JSON are in memory.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from api.body_limit import expected_bytes, is_multipart
from api.problems import QueueFullError

_MIB = 2**20
_SMALL = _MIB  # a smaller body is not counted: turns and limits of requests bound their number
_OF_OWNER, _OF_ALL = 4, 8  # times the largest file
_PARSED = 8  # what parsed JSON takes in memory, times its text
_RETRY_AFTER_S = 5


class Bodies:
    """The bodies of a process's requests, over all its threads and event loops.

    Parameters
    ----------
    upload_mb : int
        Largest file of an upload, in MiB. The bodies of one owner's requests may take four times as much together,
        those of all eight times; one alone may always be sent.
    """

    def __init__(self, upload_mb: int) -> None:
        self._upload_mb = upload_mb
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()  # bytes by owner

    @contextmanager
    def hold(self, request: Request, owner_id: str) -> Iterator[None]:
        """Count a request's body as under way while the block runs; raises QueueFullError above a limit."""
        n_bytes = expected_bytes(request.headers, self._upload_mb) * (1 if is_multipart(request.headers) else _PARSED)
        if n_bytes <= _SMALL:
            yield
            return
        with self._lock:
            self._require_room(n_bytes, self._held[owner_id], _OF_OWNER)
            self._require_room(n_bytes, self._held.total(), _OF_ALL)
            self._held[owner_id] += n_bytes
        try:
            yield
        finally:
            with self._lock:
                self._held[owner_id] -= n_bytes
                self._held += Counter()  # drops owners without a body

    def _require_room(self, n_bytes: int, held: int, files: int) -> None:
        if held and held + n_bytes > files * self._upload_mb * _MIB:
            detail = "the requests under way hold as much data as they may together: ask again later"
            raise QueueFullError(detail, retry_after_s=_RETRY_AFTER_S)
