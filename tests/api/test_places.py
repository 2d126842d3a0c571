"""Requests that wait for the database hold neither a thread nor a connection."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import anyio
import httpx2
import pytest

from api.app import create_app
from api.places import Places
from autoprog.errors import StoreUnavailableError
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import serving
from tests.system.server import ROOT


def test_places_are_taken_by_so_many_at_once_and_given_back() -> None:
    places, at_once, most = Places(2, 5.0), 0, 0

    async def visit() -> None:
        nonlocal at_once, most
        async with places.take():
            at_once += 1
            most = max(most, at_once)
            await anyio.sleep(0.01)
            at_once -= 1

    async def all_visit() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(7):
                group.start_soon(visit)

    anyio.run(all_visit)
    assert (at_once, most) == (0, 2)
    anyio.run(all_visit)  # of another event loop
    assert (at_once, most) == (0, 2)


def test_who_waits_too_long_is_told_so_and_takes_no_place() -> None:
    places = Places(1, 0.05)

    async def wait() -> None:
        async with places.take():
            with pytest.raises(StoreUnavailableError, match="too many requests wait for the database"):
                await places.take().__aenter__()
        async with places.take():
            pass

    anyio.run(wait)


def test_more_requests_than_threads_and_connections_are_all_answered(database: Database, files: Files) -> None:
    """Two connections to read, forty threads: before, those with a connection waited for a thread, and the reverse."""
    few = Database(database.url, connections=3)
    app = create_app(Settings(), few, files, local_owner=True)
    # Patient on a busy machine, too.
    app.state.context = replace(app.state.context, reading=Places(1, 120.0), authenticating=Places(1, 120.0))
    try:
        with serving(app) as port, ThreadPoolExecutor(80) as pool:
            url = f"http://127.0.0.1:{port}/v1/cohorts"
            answers = list(pool.map(lambda _: httpx2.get(url, timeout=60).status_code, range(320)))
    finally:
        few.close()
    assert answers == [200] * 320


def test_no_request_waits_for_its_turn_with_a_session() -> None:
    """Dependencies are solved in order: a session that comes first would take a place from others for all that time."""
    both = 0
    for file in sorted((ROOT / "api").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            asked = [ast.unparse(argument.annotation) for argument in node.args.args if argument.annotation]
            sessions = [i for i, name in enumerate(asked) if name in {"ReadSession", "WriteSession"}]
            if "Turn" in asked and sessions:
                both += 1
                assert asked.index("Turn") < sessions[0], f"{file.name}: {node.name}"
    assert both >= 3
