"""Dependency of routes that compute: it waits for a turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request

from api.auth import Principal, authenticate
from api.dependencies import ContextDependency


async def _take_turn(
    request: Request, context: ContextDependency, principal: Annotated[Principal, Depends(authenticate)]
) -> AsyncIterator[None]:
    async with context.turns.turn(principal.owner_id, request.is_disconnected):
        yield


# Scope "function": the turn ends when the response is ready, however slowly it is fetched. A route that reads a body
# by hand names this dependency after it, so that a client that is still sending holds no turn.
Turn = Annotated[None, Depends(_take_turn, scope="function")]
