"""Few requests compute at once, and none keeps those from a thread who only look."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.requests import ClientDisconnect

import api.models.routes
import api.turns
from api.problems import QueueFullError
from api.turns import Turns
from autoprog.evaluation import Status
from tests.api.searching import Driver, make_search, patient


async def _stays() -> bool:
    return False


async def _leaves() -> bool:
    return True


class Requests:
    """Requests that compute until they are told to end."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def send(self, name: str) -> None:
        """`ada-1` is one of Ada's."""
        self._ends[name] = asyncio.Event()
        self._tasks.append(asyncio.create_task(self._compute(name)))
        await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        self._ends[name].set()
        for _ in range(20):  # rounds of the event loop, which a time would not promise on a busy machine
            await asyncio.sleep(0)

    async def end_all(self) -> None:
        for end in self._ends.values():
            end.set()
        await asyncio.gather(*self._tasks)

    async def _compute(self, name: str) -> None:
        async with self.turns.turn(name.partition("-")[0], _stays):
            self.began.append(name)
            await self._ends[name].wait()


def test_owners_take_turns_however_many_one_sends() -> None:
    async def play() -> list[str]:
        requests = Requests(Turns(at_once=2))
        for name in ("ada-1", "ada-2", "ada-3", "ada-4", "bob-1", "cy-1"):
            await requests.send(name)
        assert requests.began == ["ada-1", "ada-2"]
        await requests.end("ada-1")
        assert requests.began[2:] == ["bob-1"]
        await requests.end("ada-2")
        assert requests.began[3:] == ["cy-1"]
        await requests.end("bob-1")
        assert requests.began[4:] == ["ada-3"]
        await requests.end_all()
        return requests.began

    assert asyncio.run(play())[5:] == ["ada-4"]


def test_who_has_left_is_not_begun_and_the_next_one_is() -> None:
    async def play() -> None:
        turns = Turns(at_once=1)
        requests = Requests(turns)
        await requests.send("ada-1")
        with pytest.raises(ClientDisconnect):
            async with turns.turn("bob", _leaves):
                raise AssertionError("nobody waits for this")
        await requests.send("cy-1")
        await requests.end("ada-1")
        assert requests.began == ["ada-1", "cy-1"]
        await requests.end_all()
        assert not turns._lines
        assert not turns._running.total()

    asyncio.run(play())


def test_an_owner_of_whom_enough_waits_is_put_off_and_the_others_are_not() -> None:
    async def play() -> None:
        requests = Requests(Turns(at_once=1, most_waiting=1))
        await requests.send("ada-1")
        await requests.send("ada-2")
        with pytest.raises(QueueFullError) as caught:
            async with requests.turns.turn("ada", _stays):
                raise AssertionError("it is not this one's turn")
        assert caught.value.retry_after_s > 0
        await requests.send("bob-1")
        await requests.end_all()
        assert sorted(requests.began) == ["ada-1", "ada-2", "bob-1"]

    asyncio.run(play())


def test_who_waits_without_a_client_to_look_for_wakes_once() -> None:
    """Hundreds may wait on a busy server, which would be busy with their waking."""
    wakings = 0
    wait = asyncio.wait

    async def counted(*given: Any, **named: Any) -> Any:
        nonlocal wakings
        wakings += 1
        return await wait(*given, **named)

    async def play() -> None:
        turns = Turns(at_once=1)

        async def visit() -> None:
            async with turns.turn("bob", patience_s=60.0):
                pass

        async with turns.turn("ada"):
            waiting = asyncio.create_task(visit())
            await asyncio.sleep(2.5 * api.turns._LOOK_S)
        await waiting

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(asyncio, "wait", counted)
        patched.setattr(api.turns, "_LOOK_S", 0.02)
        asyncio.run(play())
    assert wakings == 1


@pytest.fixture
def held_predictions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Predictions that compute until the test ends; how many have begun."""
    go_on = threading.Event()
    begun: list[None] = []

    def hold(*_: object) -> None:
        begun.append(None)
        assert go_on.wait(60)

    monkeypatch.setattr(api.models.routes.service, "predict", hold)
    yield lambda: len(begun)
    go_on.set()


def test_a_status_is_read_while_more_is_computed_than_there_are_threads(
    local_app: FastAPI, port: int, driver: Driver, held_predictions: Callable[[], int]
) -> None:
    url = f"http://127.0.0.1:{port}"
    with httpx2.Client(base_url=url, timeout=10) as client:
        search = make_search(client)  # type: ignore[arg-type]  # the two clients are of one kind
        driver.run(Status.SUCCEEDED)
        model_id = client.get(f"/v1/searches/{search['id']}").json()["model_id"]

        def predict() -> None:
            body = {"patients": [patient()]}
            httpx2.post(f"{url}/v1/models/{model_id}/predictions", json=body, timeout=60)

        crowd = [threading.Thread(target=predict) for _ in range(45)]
        for thread in crowd:
            thread.start()
        while not held_predictions():
            time.sleep(0.05)
        for path in ("/livez", "/readyz", f"/v1/searches/{search['id']}", "/v1/cohorts"):
            assert client.get(path).is_success, path
        assert held_predictions() <= local_app.state.context.turns._at_once
