"""Authentication, and the scopes of a key."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from api.dependencies import Context, ContextDependency, address_of, get_context
from api.problems import ForbiddenError, QueueFullError, UnauthorizedError
from api.single_sign_on.identity import Identity, read_identity
from autoprog.scopes import SCOPES, Scope
from autoprog.storage.repositories import KeyRepository, is_key
from autoprog.storage.tables import ApiKeyRow

if TYPE_CHECKING:
    from api.single_sign_on.provider import IdentityProvider


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a request."""

    owner_id: str
    scopes: frozenset[str]
    key_id: str | None = None  # None for the owner of a local server without keys


_bearer = HTTPBearer(
    auto_error=False,
    description=(
        "A key made by `autoprog keys create`, or a token of the identity provider. A local server needs none until a "
        "key is made."
    ),
)


async def authenticate(
    request: Request,
    context: ContextDependency,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    """Return the caller; raises UnauthorizedError, or QueueFullError above the requests or failures per minute."""
    known: Principal | None = getattr(request.state, "principal", None)
    if known is not None:  # `admit` authenticates before a JSON body is read
        return known
    identity, provider = None, context.identity_provider
    if credentials is not None and provider is not None and not is_key(credentials.credentials):
        # Before there is a place for the request: the provider may be slow.
        identity = await run_in_threadpool(_verify, request, context, provider, credentials.credentials)
    async with context.authenticating.take(address_of(request)):
        principal, due = await run_in_threadpool(_authenticate, request, context, credentials, identity)
    for note in due:
        await run_in_threadpool(note)
    return principal


def _verify(request: Request, context: Context, provider: IdentityProvider, token: str) -> Identity:
    with _counting_failures(request, context):
        return read_identity(provider.verify(token), provider.settings)


def _authenticate(
    request: Request, context: Context, credentials: HTTPAuthorizationCredentials | None, identity: Identity | None
) -> tuple[Principal, list[Callable[[], None]]]:
    with _counting_failures(request, context):
        principal, row = _find_key(context, credentials) if identity is None else identify(context, identity)
    count_request(context, principal.owner_id)
    request.state.principal = principal  # for the audit trail, too
    return principal, [] if row is None else context.uses.list_due(row)


@contextmanager
def _counting_failures(request: Request, context: Context) -> Iterator[None]:
    try:
        yield
    except UnauthorizedError:
        count_failure(request, context)
        raise


def count_failure(request: Request, context: Context) -> None:
    """Count a request without a valid key; raises QueueFullError above the failures per minute of its address."""
    if wait_s := context.failures.take(address_of(request)):
        detail = "too many requests without a valid key have come from this address: ask again later"
        raise QueueFullError(detail, retry_after_s=math.ceil(wait_s)) from None


def count_request(context: Context, owner_id: str) -> None:
    """Count a request; raises QueueFullError above the owner's requests per minute."""
    if wait_s := context.requests.take(owner_id):
        detail = f"more than {context.settings.requests_a_minute:,} requests in a minute: ask again later"
        raise QueueFullError(detail, retry_after_s=math.ceil(wait_s))


def _find_key(context: Context, credentials: HTTPAuthorizationCredentials | None) -> tuple[Principal, ApiKeyRow | None]:
    with context.database.session(read_only=True) as session:
        keys = context.keys(session)
        if context.is_local and not keys.were_made():
            return Principal(context.local_owner_id, frozenset(SCOPES)), None
        key = None if credentials is None else keys.authenticate(credentials.credentials)
        scopes = frozenset() if key is None else keys.scopes(key)
    if credentials is None:
        raise UnauthorizedError("send the header `Authorization: Bearer KEY`")
    if key is None:
        raise UnauthorizedError("the key is unknown or has ended")
    return Principal(key.owner_id, scopes, key.id), key


def identify(context: Context, identity: Identity) -> tuple[Principal, ApiKeyRow]:
    """Return the caller for whom the provider vouches, and its row; raises UnauthorizedError and ForbiddenError."""
    with context.database.session(read_only=True) as session:
        row = KeyRepository(session).find_person(identity.subject_sha256)
    if row is None and not identity.scopes:
        raise _lacks_role(context)
    if row is None or row.person != identity.name or set(row.scopes) != identity.scopes:
        with context.database.session() as session:
            row = KeyRepository(session).record_person(
                identity.subject_sha256, identity.name, identity.owner, identity.scopes
            )
    if row.revoked_at is not None:
        raise UnauthorizedError("this account is blocked on this server: ask whoever runs it")
    if not identity.scopes:  # recorded all the same, as the keys that she has made may do no more than she
        raise _lacks_role(context)
    return Principal(row.owner_id, identity.scopes, row.id), row


def _lacks_role(context: Context) -> ForbiddenError:
    claim = context.settings.oidc_scopes_claim
    return ForbiddenError(f"your account has no role on this server: see its claim {claim!r}")


def _requires(scope: Scope) -> Callable[[Principal], Coroutine[None, None, Principal]]:
    # A coroutine, as a function would take a thread of the pool.
    async def authorize(principal: Annotated[Principal, Depends(authenticate)]) -> Principal:
        if scope not in principal.scopes:
            raise ForbiddenError(f"the key lacks the scope {scope!r}")
        return principal

    return authorize


_AUTHORIZERS = {scope: _requires(scope) for scope in SCOPES}

Caller = Annotated[Principal, Depends(authenticate)]
Reader = Annotated[Principal, Depends(_AUTHORIZERS["read"])]
Writer = Annotated[Principal, Depends(_AUTHORIZERS["write"])]
Predictor = Annotated[Principal, Depends(_AUTHORIZERS["predict"])]
Approver = Annotated[Principal, Depends(_AUTHORIZERS["approve"])]


async def admit(request: Request, dependant: Dependant) -> Principal:
    """Check a route's scopes before the body is read; raises UnauthorizedError, QueueFullError and ForbiddenError."""
    principal = await authenticate(request, get_context(request), await _bearer(request))
    asked = {dependency.call for dependency in dependant.dependencies}
    for authorize in _AUTHORIZERS.values():
        if authorize in asked:
            await authorize(principal)
    return principal
