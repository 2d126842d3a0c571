"""`Idempotency-Key`: a POST that is sent again gets the first response again."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from fastapi.dependencies.models import Dependant
from pydantic import BaseModel
from sqlalchemy.orm import Session

from api.auth import Caller, Principal, Writer
from api.dependencies import ContextDependency, get_context
from api.json_request import JsonRequest
from api.problems import MEDIA_TYPE, build_problem
from api.uploads import compute_digest
from autoprog.errors import ConflictError, Fault, InvalidInputError, StoreUnavailableError
from autoprog.storage.database import Database, is_id, new_id
from autoprog.storage.repositories import IdempotencyRepository, StoredAnswer
from autoprog.storage.repositories.idempotency import LEASE_S
from autoprog.storage.tables import MAX_ROUTE


def answer(status: int, document: BaseModel, **headers: str) -> StoredAnswer:
    """Make a response that can be sent again; header names have underscores for hyphens: `Retry_After="1"`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return StoredAnswer(status, {"Content-Type": "application/json", **named}, document.model_dump_json().encode())


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request whose work is done once per key."""

    database: Database
    owner_id: str
    route: str  # method and path, or their digest
    path: str
    key: str | None  # without one the work is done every time
    fingerprint: Callable[[], str]  # digest of the body as it was sent, without defaults
    faults: tuple[Fault, ...] = ()  # the key's, to be reported with those of the body
    attempt: str = field(default_factory=new_id)  # tells this request from others with the same key

    # `fingerprint` replaces the request's own if the handler reads the body itself. Raises InvalidInputError if the key
    # came with another body before, ConflictError if the first request is still running.
    def run(self, work: Callable[[Session], StoredAnswer], fingerprint: Callable[[], str] | None = None) -> Response:
        """Do the work in a transaction, or return the first response to the same key."""
        if self.key is None:
            with self.database.session() as session:
                return _response(work(session))
        body_sha256 = (fingerprint or self.fingerprint)()
        with self.database.session() as session:
            first = self._record(session).begin(body_sha256)
        if first is not None:
            return _response(first, {"Idempotency-Replayed": "true"})
        with heard(self.database, self._record):
            try:
                with self.database.session() as session:
                    done = self._about(work(session))
                    self._record(session).finish(done)
            except Exception as error:
                self._remember_failure(error)
                raise
        return _response(done)

    def _record(self, session: Session) -> IdempotencyRepository:
        return IdempotencyRepository(session, self.owner_id, self.route, self.key or "", self.attempt)

    def _about(self, done: StoredAnswer) -> StoredAnswer:
        """Add the resource that a response is about: the one made, or else the last one in the path."""
        ids = [part for part in done.headers.get("Location", self.path).split("/") if is_id(part)]
        return replace(done, subject_id=ids[-1] if ids else None)

    def _remember_failure(self, error: Exception) -> None:
        document = build_problem(error, self.path)
        # A request whose lease has ended has lost its record, or another request has taken it over. Where nothing can
        # be written, the key is free again once the lease ends; if the answer was written, it is repeated.
        with suppress(ConflictError, StoreUnavailableError), self.database.session() as session:
            if document.status >= HTTPStatus.INTERNAL_SERVER_ERROR or document.status == HTTPStatus.TOO_MANY_REQUESTS:
                self._record(session).forget()
            else:
                for fault in document.errors or ():
                    fault.values = None  # the file's values are for this answer only, and are stored nowhere
                body = document.model_dump_json(exclude_none=True).encode()
                refusal = StoredAnswer(document.status, {"Content-Type": MEDIA_TYPE}, body)
                self._record(session).finish(self._about(refusal))


@contextmanager
def heard(database: Database, record: Callable[[Session], IdempotencyRepository]) -> Iterator[None]:
    """Extend the lease of a request's record while the block runs."""
    done = threading.Event()

    def extend() -> None:
        while not done.wait(LEASE_S / 3):
            with suppress(StoreUnavailableError), database.session() as session:
                record(session).extend()

    thread = threading.Thread(target=extend, name="request with a key", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _response(stored: StoredAnswer, headers: Mapping[str, str] | None = None) -> Response:
    return Response(stored.body, stored.status, {**stored.headers, **(headers or {})})


_KEY = r"^[\x21-\x7e]{1,255}$"
_DESCRIPTION = (
    "New text for each request. A repeated request with the same key and body gets the first response again, for 24 "
    "hours. Responses are not kept for failures of the server (5xx), a full queue (429), and requests refused before "
    "they are read (401, 403, 413, 415). A kept refusal does not quote the file's values again."
)


def _once(
    request: Request,
    context: ContextDependency,
    principal: Caller,
    idempotency_key: Annotated[str | None, Header(pattern=_KEY, description=_DESCRIPTION)] = None,
) -> IdempotentRequest:
    path = request.url.path
    fingerprint = request.fingerprint if isinstance(request, JsonRequest) else _nothing_sent
    route = stored_route(request)
    return IdempotentRequest(context.database, principal.owner_id, route, path, idempotency_key, fingerprint)


def stored_route(request: Request) -> str:
    """Method and path; a digest of them if PostgreSQL could not store them."""
    route = f"{request.method} {request.url.path}"
    if len(route) <= MAX_ROUTE and route.isprintable():
        return route
    return hashlib.sha256(route.encode("utf-8", "surrogatepass")).hexdigest()


def _nothing_sent() -> str:
    return compute_digest(None)


def _collecting_once(
    request: Request,
    context: ContextDependency,
    principal: Writer,  # before the body is read
    idempotency_key: Annotated[
        str | None, Header(description=_DESCRIPTION, json_schema_extra={"pattern": _KEY})
    ] = None,
) -> IdempotentRequest:
    """Return the request; a bad key becomes a fault."""
    # For bodies that the service validates: FastAPI finds nothing wrong there, and would report the key alone.
    once = _once(request, context, principal, idempotency_key)
    if idempotency_key is None or re.fullmatch(_KEY, idempotency_key):
        return once
    fault = Fault("/headers/idempotency-key", "must be 1 to 255 visible characters of ASCII")
    return replace(once, key=None, faults=(fault,))


OnceDependency = Annotated[IdempotentRequest, Depends(_once)]
CollectingOnceDependency = Annotated[IdempotentRequest, Depends(_collecting_once)]


def takes_key(dependant: Dependant) -> bool:
    """Whether a route takes an `Idempotency-Key`."""
    return any(dependency.call in {_once, _collecting_once} for dependency in dependant.dependencies)


def refuse(request: Request, principal: Principal, error: InvalidInputError) -> Response:
    """Refuse a body that no handler has seen, and keep the refusal like other responses; raises InvalidInputError."""
    key = request.headers.get("Idempotency-Key")
    if key is None or not re.match(_KEY, key):
        raise error

    def work(_: Session) -> StoredAnswer:
        raise error

    return _once(request, get_context(request), principal, key).run(work)
