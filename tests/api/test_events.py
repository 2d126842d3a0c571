"""Following a search as server-sent events."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.sse import ServerSentEvent
from fastapi.testclient import TestClient
from sqlalchemy import event

from api.searches import events as events_module
from api.searches.events import Followed, Followers
from autoprog.errors import StoreUnavailableError
from autoprog.evaluation import Status
from autoprog.storage.database import Database
from autoprog.storage.repositories import KeyRepository, SearchRepository
from autoprog.storage.tables import SearchRow
from tests.api.conftest import MakeClient, serving
from tests.api.searching import Driver, make_search

Event = tuple[str, int, dict[str, object]]


def read_events(text: str) -> list[Event]:
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append((fields["event"], int(fields["id"]), json.loads(fields["data"])))
    return events


@contextmanager
def counted(database: Database, statements: list[str]) -> Iterator[None]:
    """Note each statement that is sent to the database on a connection that reads."""

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    event.listen(database._reader, "before_cursor_execute", note)
    yield
    event.remove(database._reader, "before_cursor_execute", note)


def test_a_finished_search_is_told_from_its_beginning(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    driver.run(Status.SUCCEEDED, Status.TIMEOUT)
    response = client.get(f"/v1/searches/{search['id']}/events")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    events = read_events(response.text)
    assert [kind for kind, _, _ in events] == ["phase", "evaluation", "evaluation", "finished"]
    assert [number for _, number, _ in events] == [1, 2, 3, 4]
    assert events[0][2] == {"phase": "search"}
    assert events[1][2]["status"] == "succeeded"
    assert events[2][2]["score"] is None
    assert events[3][2]["status"] == "succeeded"
    assert events[3][2]["model_id"] == client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    assert "risks" not in response.text


@pytest.mark.parametrize(("last", "numbers"), [(0, [1, 2, 3]), (2, [3]), (3, [3]), (999, [999])])
def test_a_broken_stream_goes_on_where_it_broke(
    client: TestClient, driver: Driver, last: int, numbers: list[int]
) -> None:
    search = make_search(client)
    driver.run(Status.SUCCEEDED)
    response = client.get(f"/v1/searches/{search['id']}/events", headers={"Last-Event-ID": str(last)})
    events = read_events(response.text)
    assert [number for _, number, _ in events] == numbers
    assert events[-1][0] == "finished"
    assert events[-1][2]["status"] == "succeeded"


def test_a_running_search_is_told_as_it_goes(client: TestClient, driver: Driver) -> None:
    search = make_search(client)
    claim = driver.claim()
    driver.explore(claim, Status.SUCCEEDED)
    late = threading.Timer(0.7, driver.finish, [claim])
    late.start()
    try:
        events = read_events(client.get(f"/v1/searches/{search['id']}/events").text)
    finally:
        late.join()
    assert [kind for kind, _, _ in events] == ["phase", "evaluation", "finished"]


def test_a_cancelled_search_ends_its_stream(client: TestClient) -> None:
    search = make_search(client)
    client.post(f"/v1/searches/{search['id']}/cancel")
    (event,) = read_events(client.get(f"/v1/searches/{search['id']}/events").text)
    assert event[0] == "finished"
    assert event[2]["status"] == "cancelled"


def test_a_search_that_is_deleted_ends_its_stream(client: TestClient) -> None:
    search = make_search(client)
    late = threading.Timer(0.7, client.delete, [f"/v1/searches/{search['id']}"])
    late.start()
    try:
        assert read_events(client.get(f"/v1/searches/{search['id']}/events").text) == []
    finally:
        late.join()


def test_the_events_of_another_owner_are_not_found(client_of: MakeClient) -> None:
    search = make_search(client_of("ada"))
    response = client_of("bob").get(f"/v1/searches/{search['id']}/events")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("last", ["x", "-1", "99999999999999999999"])
def test_a_last_event_that_cannot_be_is_a_fault(client: TestClient, last: str) -> None:
    search = make_search(client)
    response = client.get(f"/v1/searches/{search['id']}/events", headers={"Last-Event-ID": last})
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "/headers/last-event-id"


def test_a_follower_who_leaves_is_let_go(client: TestClient, port: int) -> None:
    search = make_search(client)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as follower:
        path = f"/v1/searches/{search['id']}/events"
        follower.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert follower.recv(1000).startswith(b"HTTP/1.1 200")
    # The server's fixture sees that nothing is left running.


def test_a_quiet_stream_is_kept_open(client: TestClient, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastapi.routing._PING_INTERVAL", 0.2)
    search = make_search(client)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as follower:
        path = f"/v1/searches/{search['id']}/events"
        follower.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = b""
        while b": ping" not in received:
            chunk = follower.recv(1000)
            assert chunk, "the server ended the stream"
            received += chunk


def test_a_stream_ends_with_its_key(database: Database, keyed_app: FastAPI, client_of: MakeClient) -> None:
    ada = client_of("ada")
    search = make_search(ada)
    with serving(keyed_app) as port:
        stream = httpx2.stream(
            "GET", f"http://127.0.0.1:{port}/v1/searches/{search['id']}/events", headers=ada.headers, timeout=30
        )
        with stream as response:
            assert response.status_code == 200
            with database.session() as session:
                KeyRepository(session).revoke(ada.headers["authorization"].split("_")[1])
            assert [line for line in response.iter_lines() if line.startswith("event")] == []


def test_many_followers_are_one_question_to_the_database(
    database: Database, client: TestClient, local_app: FastAPI, driver: Driver, port: int
) -> None:
    search = make_search(client)
    claim = driver.claim()
    path = f"/v1/searches/{search['id']}/events"
    seen: list[list[str]] = []

    def follow() -> None:
        text = httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=30).text
        seen.append([kind for kind, _, _ in read_events(text)])

    statements: list[str] = []
    threads = [threading.Thread(target=follow) for _ in range(20)]
    with counted(database, statements):
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while len(local_app.state.context.followers._waiting) < 20:
            assert time.monotonic() < deadline, "not all wait"
            time.sleep(0.1)
        statements.clear()
        time.sleep(1.5)
        while_waiting = len(statements)
    driver.explore(claim, Status.SUCCEEDED)
    driver.finish(claim)
    for thread in threads:
        thread.join(30)
    assert seen == [["phase", "evaluation", "finished"]] * 20
    assert 0 < while_waiting <= 30  # five looks; a look for each stream would be 300


def _follow(followers: Followers, database: Database, search_id: str) -> AsyncIterator[ServerSentEvent]:
    with database.session(read_only=True) as session:
        owner_id = session.get_one(SearchRow, search_id).owner_id
    return followers.follow(Followed(owner_id, search_id, 0, None))


async def _until_waiting(followers: Followers, n: int) -> None:
    async with asyncio.timeout(60):
        while len(followers._waiting) < n:  # noqa: ASYNC110  nothing tells it
            await asyncio.sleep(0.01)


def test_followers_are_told_more_after_the_event_loop_was_late(
    database: Database, client: TestClient, local_app: FastAPI, driver: Driver
) -> None:
    followers = local_app.state.context.followers
    search = make_search(client)
    claim = driver.claim()

    async def play() -> list[str | None]:
        stream = _follow(followers, database, str(search["id"]))
        first = asyncio.ensure_future(anext(stream))
        await _until_waiting(followers, 1)
        driver.explore(claim, Status.SUCCEEDED)
        time.sleep(1.5)  # noqa: ASYNC251  the loop is late by several looks
        told = [(await first).event]
        driver.finish(claim)
        async with asyncio.timeout(20):
            return told + [event.event async for event in stream]

    assert asyncio.run(play()) == ["phase", "evaluation", "finished"]


def test_followers_go_on_after_a_thread_could_not_be_started(
    database: Database, client: TestClient, local_app: FastAPI, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    followers = local_app.state.context.followers
    search = make_search(client)
    claim = driver.claim()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "followers":
            raise RuntimeError("can't start new thread")
        start(thread)

    async def play() -> list[str | None]:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RuntimeError, match="new thread"):
                await anext(_follow(followers, database, str(search["id"])))
        assert not followers._waiting
        stream = _follow(followers, database, str(search["id"]))
        first = asyncio.ensure_future(anext(stream))
        await _until_waiting(followers, 1)
        driver.explore(claim)
        driver.finish(claim)
        async with asyncio.timeout(20):
            return [(await first).event] + [event.event async for event in stream]

    assert asyncio.run(play()) == ["phase", "finished"]


def test_followers_of_other_searches_go_on_when_one_is_deleted_during_a_look(
    database: Database, client: TestClient, local_app: FastAPI, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    followers = local_app.state.context.followers
    kept, deleted = (str(make_search(client)["id"]) for _ in range(2))
    claim = driver.claim()
    find = SearchRepository.places

    def find_and_delete(repository: SearchRepository, search_ids: Collection[str]) -> Mapping[str, Any]:
        found = find(repository, search_ids)
        if deleted in found and found[deleted].has_ended:
            client.delete(f"/v1/searches/{deleted}")
        return found

    async def play() -> list[list[str | None]]:
        streams = [_follow(followers, database, search_id) for search_id in (kept, deleted)]
        firsts = [asyncio.ensure_future(anext(stream, None)) for stream in streams]
        await _until_waiting(followers, 2)
        monkeypatch.setattr(SearchRepository, "places", find_and_delete)
        await asyncio.to_thread(client.post, f"/v1/searches/{deleted}/cancel")
        async with asyncio.timeout(20):
            await firsts[1]
            driver.explore(claim)
            driver.finish(claim)
            first = await firsts[0]
            return [[] if first is None else [first.event] + [event.event async for event in streams[0]]]

    assert asyncio.run(play()) == [["phase", "finished"]]


@pytest.mark.parametrize("outage_s", [60.0, 0.0])
def test_followers_wait_for_a_database_that_does_not_answer_for_some_time(
    outage_s: float,
    database: Database,
    client: TestClient,
    local_app: FastAPI,
    driver: Driver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    followers = local_app.state.context.followers
    search = make_search(client)
    claim = driver.claim()
    find, failed = SearchRepository.places, threading.Event()

    def fail_twice(repository: SearchRepository, search_ids: Collection[str]) -> Mapping[str, Any]:
        if len(looks) < 2:
            looks.append(search_ids)
            raise StoreUnavailableError("no answer")
        failed.set()
        return find(repository, search_ids)

    async def play() -> list[str | None]:
        stream = _follow(followers, database, str(search["id"]))
        first = asyncio.ensure_future(anext(stream))
        async with asyncio.timeout(20):
            if outage_s:
                await asyncio.to_thread(failed.wait)
                driver.explore(claim)
                driver.finish(claim)
            return [(await first).event] + [event.event async for event in stream]

    looks: list[Collection[str]] = []
    monkeypatch.setattr(SearchRepository, "places", fail_twice)
    monkeypatch.setattr(events_module, "_OUTAGE_S", outage_s)
    if outage_s:
        assert asyncio.run(play()) == ["phase", "finished"]
    else:
        with pytest.raises(StoreUnavailableError):
            asyncio.run(play())
