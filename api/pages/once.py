"""Forms whose button is pressed twice: what the first press made is shown again."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

from fastapi import Request
from markupsafe import Markup
from sqlalchemy.orm import Session

from api.dependencies import Context
from api.idempotency import heard, stored_route
from api.uploads import compute_digest
from autoprog.errors import ConflictError
from autoprog.storage.database import new_id
from autoprog.storage.repositories import IdempotencyRepository, StoredAnswer

FIELD = "once"
"""Name of the hidden field; its value is new each time that the form is shown."""

_TRIES, _WAIT_S = 50, 0.1  # for a press that is still at work


class Made(NamedTuple):
    """The search or session that a form has made."""

    id: str
    is_repeated: bool  # an earlier press of the same form made it


def once_field() -> Markup:
    """Return the hidden field that tells a form from others."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, new_id())


def make_once(
    request: Request,
    context: Context,
    owner_id: str,
    token: str,
    said: object,
    work: Callable[[Session], str],
) -> Made:
    """Do the work of a form and return the identifier of what it made, or that of an earlier press of the same form.

    Parameters
    ----------
    request : Request
        The form's.
    context : Context
        With the database.
    owner_id : str
        The owner.
    token : str
        Value of the form's hidden field; without one the work is always done.
    said : object
        The form's other fields: with others the same form, shown again by the browser, is another request.
    work : callable
        Makes something in a transaction and returns its identifier.

    Raises
    ------
    ConflictError
        If an earlier press takes more than some seconds.
    """
    if not token:
        with context.database.session() as session:
            return Made(work(session), is_repeated=False)
    digest, attempt, route = compute_digest([token, said]), new_id(), stored_route(request)

    def record(session: Session) -> IdempotencyRepository:
        return IdempotencyRepository(session, owner_id, route, digest, attempt)

    first = _begin(context, record, digest)
    if first is not None:
        return Made(str(first.subject_id), is_repeated=True)
    try:
        with heard(context.database, record), context.database.session() as session:
            made = work(session)
            record(session).finish(StoredAnswer(HTTPStatus.SEE_OTHER, {}, b"", made))
    except Exception:
        with context.database.session() as session:
            record(session).forget()
        raise
    return Made(made, is_repeated=False)


def _begin(context: Context, record: Callable[[Session], IdempotencyRepository], digest: str) -> StoredAnswer | None:
    for _ in range(_TRIES):
        try:
            with context.database.session() as session:
                return record(session).begin(digest)
        except ConflictError:
            time.sleep(_WAIT_S)
    raise ConflictError("this form is still being worked on: look again in a moment")
