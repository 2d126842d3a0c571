"""Liveness and readiness."""

from __future__ import annotations

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from api.dependencies import Context, ContextDependency
from api.openapi import problems
from autoprog.errors import AutoprogError, EngineUnavailableError
from autoprog.storage.files import has_room

router = APIRouter(tags=["health"])

# Readiness checks must not wait for the threads that serve requests.
_CHECKS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="readiness")


class NotReadyError(AutoprogError):
    """A part that the server needs is unavailable."""

    code = "not-ready"


class Liveness(BaseModel):
    """The process is running."""

    status: Literal["alive"] = "alive"


class Readiness(BaseModel):
    """The parts that were checked."""

    status: Literal["ready"] = "ready"
    database: Literal[True] = Field(default=True, description="Whether the database is reachable and migrated.")
    engine: Literal[True] | None = Field(
        description="Whether the engine is reachable. Null if searches run in other processes."
    )


@router.get("/livez", operation_id="get_liveness", summary="Check liveness")
async def get_liveness() -> Liveness:
    """Respond as long as the process runs, without using other parts or waiting for a thread."""
    return Liveness()


@router.get("/readyz", operation_id="get_readiness", summary="Check readiness", responses=problems(503))
async def get_readiness(context: ContextDependency) -> Readiness:
    """Check the database, the free space and the engine."""
    if complaints := await asyncio.get_running_loop().run_in_executor(_CHECKS, _complaints, context):
        raise NotReadyError("; ".join(complaints))
    return Readiness(engine=True if context.engine_health else None)


def _complaints(context: Context) -> list[str]:
    checks = (_database_complaint, _room_complaint, _engine_complaint)
    return [text for text in (check(context) for check in checks) if text]


def _database_complaint(context: Context) -> str | None:
    try:
        migrated = context.database.is_migrated()
    except SQLAlchemyError:
        return "the database cannot be reached"
    return None if migrated else "the database is not migrated; run `autoprog db upgrade`"


def _room_complaint(context: Context) -> str | None:
    places = {
        "database": context.database.has_room(),
        "stored files": context.files.has_room(),
        "temporary files": has_room(Path(tempfile.gettempdir())),
    }
    full = [name for name, has_some in places.items() if not has_some]
    return f"no room is left for {', '.join(full)}" if full else None


def _engine_complaint(context: Context) -> str | None:
    try:
        reachable = context.engine_health is None or context.engine_health()
    except EngineUnavailableError:
        reachable = False
    return None if reachable else "no worker can be reached"
