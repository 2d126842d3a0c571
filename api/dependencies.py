"""Dependencies of the routes: the server's parts and a transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from fastapi.concurrency import contextmanager_in_threadpool
from sqlalchemy.orm import Session

from api.audit_trail import AuditTrail
from api.bodies import Bodies
from api.places import Places
from api.rate import Rate
from api.turns import Turns
from api.uses import Uses
from autoprog.app.live_problems import LiveProblems
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import BrowserSessionRepository, KeyRepository

if TYPE_CHECKING:
    from api.searches.events import Followers
    from api.single_sign_on.provider import IdentityProvider
    from autoprog.csmd import ArmClassifiers
    from autoprog.diagnosis import Sessions, Tree
    from autoprog.model import PrognosticModel

_LOCAL_OWNER = "local"


@dataclass(frozen=True)
class Context:
    """The parts of a server."""

    settings: Settings
    database: Database
    files: Files
    is_local: bool  # all clients are one owner, who needs no key until one is made
    engine_health: Callable[[], bool] | None  # whether a worker can be reached; None where searches run elsewhere
    # Loaders take the SHA-256 of files (of a tree: model's, tree's) and cache what they loaded last.
    load_model: Callable[[str], PrognosticModel]
    load_diagnosis: Callable[[str], Sessions]
    load_tree: Callable[[str, str], Tree]
    load_arms: Callable[[str], ArmClassifiers]
    live_problems: LiveProblems
    followers: Followers
    turns: Turns
    bodies: Bodies
    # Of requests that authenticate, and of those that have a session to read or to write.
    authenticating: Places
    reading: Places
    writing: Places
    audit: AuditTrail
    uses: Uses
    requests: Rate  # by owner
    failures: Rate  # by address, of requests without a valid key
    identity_provider: IdentityProvider | None = None

    @cached_property
    def local_owner_id(self) -> str:
        """The owner of everything on a local server."""
        with self.database.session() as session:
            return KeyRepository(session).ensure_owner(_LOCAL_OWNER).id

    def keys(self, session: Session) -> KeyRepository:
        """Owners and keys, which last as the settings say."""
        return KeyRepository(session, timedelta(days=self.settings.person_keys_days))

    def browser_sessions(self, session: Session) -> BrowserSessionRepository:
        """Sessions of browsers, which end with these keys."""
        return BrowserSessionRepository(session, self.keys(session))


def get_context(request: Request) -> Context:
    """Return the parts of the server that a request has reached."""
    context: Context = request.app.state.context
    return context


# A coroutine, as a function would take a thread of the pool.
async def _find_context(request: Request) -> Context:
    return get_context(request)


ContextDependency = Annotated[Context, Depends(_find_context)]


def address_of(request: Request) -> str:
    """Return the address of a request's client; empty if it is unknown."""
    return "" if request.client is None else request.client.host


def _find_owner(request: Request) -> str:
    """Return who gets a request's place: the owner, or the address of a client of whom no key is asked."""
    principal = getattr(request.state, "principal", None)
    return address_of(request) if principal is None else str(principal.owner_id)


async def _write_session(request: Request, context: ContextDependency) -> AsyncIterator[Session]:
    writing = context.database.session()
    async with context.writing.take(_find_owner(request)), contextmanager_in_threadpool(writing) as session:
        yield session


async def _read_session(request: Request, context: ContextDependency) -> AsyncIterator[Session]:
    async with context.reading.take(_find_owner(request)):
        # On the event loop: neither the begin nor the end of a reader's transaction sends or waits for anything.
        with context.database.session(read_only=True) as session:
            yield session


# Scope "function" ends the transaction before the response is sent: what a client reads has been committed. A route
# names its session after whoever asks, its turn and its form: it must wait for none of them with a place.
WriteSession = Annotated[Session, Depends(_write_session, scope="function")]
ReadSession = Annotated[Session, Depends(_read_session, scope="function")]
