"""Requests to a server that may be busy, restarting or away: retries, pauses, keys, and one kind of error."""

from __future__ import annotations

import random
import time
import weakref
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from uuid import uuid4

import httpx2

from autoprog.errors import AutoprogError, Fault

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 10.0
_BUSY = frozenset({429, 502, 503, 504})
_GONE, _CONFLICT = 404, 409
_PAGE = 200

Json = dict[str, Any]
# What a form holds: a name and a content, for a file; None and a text for another part.
Parts = Mapping[str, tuple[str | None, bytes]]


class ServerError(AutoprogError):
    """The server refused a request or could not be reached.

    Parameters
    ----------
    detail : str
        What happened, in words.
    problem : str
        The problem's type.
    status : int or None
        The HTTP status; None without a response.
    faults : tuple of Fault
        Every fault of the request.

    Attributes
    ----------
    problem : str
        The problem's type, such as `invalid-input` or `not-found`; `unreachable` without a response.
    status : int or None
        The HTTP status; None without a response.
    faults : tuple of Fault
        Every fault of the request, each with its place and its text; empty if the problem is another.
    """

    def __init__(self, detail: str, *, problem: str, status: int | None = None, faults: tuple[Fault, ...] = ()) -> None:
        named = "".join(f"\n  {fault.pointer}: {fault.detail}" for fault in faults)
        super().__init__(f"{detail}{named}")
        self.problem, self.status, self.faults = problem, status, faults

    @classmethod
    def of(cls, response: httpx2.Response) -> ServerError:
        """Read a problem document, or what else a proxy answered."""
        try:
            document = response.json()
            problem = str(document["type"]).rsplit("/", 1)[-1]
            detail = f"{document['title']}: {document['detail']}" if document.get("detail") else str(document["title"])
            faults = tuple(
                Fault(each["pointer"], each["detail"], tuple(each.get("values") or ()))
                for each in document.get("errors") or ()
            )
        except (ValueError, KeyError, TypeError):
            return cls(f"the server answered {response.status_code}", problem="unknown", status=response.status_code)
        return cls(detail, problem=problem, status=response.status_code, faults=faults)


class Connection:
    """Requests to one server; each is repeated until it is answered or `patience_s` have passed."""

    def __init__(
        self,
        url: str,
        key: str | None,
        *,
        timeout_s: float,
        patience_s: float,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._client = httpx2.Client(base_url=url, headers=headers, timeout=timeout_s, transport=transport)
        self._patience_s = patience_s
        # At the latest when nothing that came from this server is used any longer.
        self._close = weakref.finalize(self, self._client.close)

    def close(self) -> None:
        """Close the connections."""
        self._close()

    def get(self, path: str, **parameters: str | int) -> Json:
        """Get a document."""
        document: Json = self._send("GET", path, params=parameters).json()
        return document

    def content(self, path: str, **parameters: str) -> bytes:
        """Get a file."""
        return self._send("GET", path, params=parameters).content

    def items(self, path: str, **parameters: str | int) -> Iterator[Json]:
        """Get all items of a list, page by page."""
        cursor: str | None = None
        while True:
            page = self.get(path, limit=_PAGE, **parameters, **({} if cursor is None else {"cursor": cursor}))
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def post(self, path: str, document: Mapping[str, Any] | None = None, parts: Parts | None = None) -> Json:
        """Post a document or a form; sent again, it is done once, by its Idempotency-Key."""
        headers = {"Idempotency-Key": uuid4().hex}
        body: dict[str, Any] = {} if document is None else {"json": document}
        if parts is not None:
            body = {"files": dict(parts)}
        answer: Json = self._send("POST", path, headers=headers, **body).json()
        return answer

    def put(self, path: str, document: Mapping[str, Any]) -> Json:
        """Replace a document; sent again, it is the same."""
        answer: Json = self._send("PUT", path, json=document).json()
        return answer

    def delete(self, path: str, **parameters: str) -> None:
        """Delete a resource."""
        self._send("DELETE", path, params=parameters)

    def _send(self, method: str, path: str, **arguments: Any) -> httpx2.Response:  # noqa: ANN401  httpx2's arguments
        """Send until an answer is final; raises ServerError."""
        end, pause_s, repeated = time.monotonic() + self._patience_s, _FIRST_PAUSE_S, False
        while True:
            asked_s: float | None = None
            cause: Exception | None = None
            try:
                response = self._client.request(method, path, **arguments)
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                reason = str(error) or type(error).__name__
                failure = ServerError(f"{self._client.base_url} cannot be reached: {reason}", problem="unreachable")
                is_final, cause = isinstance(error, httpx2.UnsupportedProtocol), error
            else:
                # The first of two deletions may have been done without an answer.
                if response.is_success or (repeated and method == "DELETE" and response.status_code == _GONE):
                    return response
                failure = ServerError.of(response)
                is_final = not (response.status_code in _BUSY or (repeated and _is_under_way(response, failure)))
                asked_s = retry_after_s(response.headers.get("Retry-After"))
            wait_s = pause_s * random.uniform(0.5, 1.0) if asked_s is None else asked_s  # noqa: S311  no secret
            if is_final or time.monotonic() + wait_s > end:
                raise failure from cause
            time.sleep(wait_s)
            pause_s, repeated = min(2 * pause_s, _LONGEST_PAUSE_S), True


def _is_under_way(response: httpx2.Response, failure: ServerError) -> bool:
    """Whether the first of two requests with the same key still runs."""
    return response.status_code == _CONFLICT and "Idempotency-Key" in str(failure)


def retry_after_s(text: str | None) -> float | None:
    """Seconds of a `Retry-After`, which is a number or a date; None without one."""
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
