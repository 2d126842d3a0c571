"""Requests that wait for the database hold neither a thread nor a connection."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant

import api.auth
import api.pages.sessions
from api.app import create_app
from api.computing import _take_turn
from api.dependencies import _read_session, _write_session
from api.places import Places
from autoprog.errors import StoreUnavailableError
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import routes_of, serving


def test_places_are_taken_by_so_many_at_once_and_given_back() -> None:
    places, at_once, most = Places(2, 5.0), 0, 0

    async def visit() -> None:
        nonlocal at_once, most
        async with places.take("ada"):
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
        async with places.take("ada"):
            with pytest.raises(StoreUnavailableError, match="too many requests wait for the database"):
                await places.take("bob").__aenter__()
        async with places.take("ada"):
            pass

    anyio.run(wait)


def test_places_go_to_owners_in_turn_however_many_requests_one_sends() -> None:
    served: list[str] = []

    async def visit(owner: str) -> None:
        async with places.take(owner):
            served.append(owner)
            await anyio.lowlevel.checkpoint()

    async def all_visit() -> None:
        async with anyio.create_task_group() as group:
            for owner in [*["ada"] * 20, "bob", "cy"]:
                group.start_soon(visit, owner)

    places = Places(1, 5.0)
    anyio.run(all_visit)
    assert served == ["ada", "bob", "cy", *["ada"] * 19]


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


def _solved(dependant: Dependant) -> Iterator[Any]:
    """What a route depends on, in the order in which it is asked for."""
    for each in dependant.dependencies:
        yield from _solved(each)
        yield each.call


def test_no_request_waits_for_its_caller_its_turn_or_its_form_with_a_session(keyed_app: FastAPI) -> None:
    """Dependencies are solved in order: a session that comes first would take a place from others for all that time."""
    authentication = {api.auth.authenticate, api.pages.sessions.require_session}
    n, early, late = 0, [], []
    for route in routes_of(keyed_app):
        order = list(_solved(route.dependant))
        sessions = [i for i, call in enumerate(order) if call in {_read_session, _write_session}]
        if not sessions:
            continue
        n += 1
        if authentication.isdisjoint(order[: sessions[0]]):
            early.append(route.path)
        waited_for = {*authentication, *api.auth._AUTHORIZERS.values(), _take_turn}
        if any(call in waited_for or getattr(call, "__name__", "") == "_receive" for call in order[sessions[0] + 1 :]):
            late.append(route.path)
    assert n >= 90
    assert (early, late) == ([], [])
