"""A table that nobody can read keeps those waiting who ask for it, for seconds, and nobody else."""

from __future__ import annotations

import threading
import time

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from autoprog.storage.database import Database
from tests.api.searching import make_search

POLLS = 60
# A reader gives up after 2 s, and so does who waits for its connection or its thread: on a busy machine many times
# that. Without it they wait as long as the lock is held, which is until they are done.
SOON_S, AT_ONCE_S = 60.0, 1.0


def test_a_locked_table_stops_neither_the_server_nor_those_who_ask_for_another(
    database: Database, client: TestClient, port: int
) -> None:
    if database.url.startswith("sqlite"):
        pytest.skip("nobody keeps a reader of SQLite waiting")
    search = make_search(client)
    url = f"http://127.0.0.1:{port}"
    polls: list[tuple[int, float]] = []

    def timed(path: str) -> tuple[int, float]:
        began = time.monotonic()
        status = httpx2.get(url + path, timeout=120).status_code
        return status, time.monotonic() - began

    crowd = [threading.Thread(target=lambda: polls.append(timed(f"/v1/searches/{search['id']}"))) for _ in range(POLLS)]
    with database.session() as locking:
        locking.execute(text("LOCK TABLE search IN ACCESS EXCLUSIVE MODE"))
        for thread in crowd:
            thread.start()
        alive = []
        while polls == [] and any(thread.is_alive() for thread in crowd):
            status, seconds = timed("/livez")
            assert status == 200
            alive.append(seconds)
        # One may have had no processor for a while; of a server that waits for the lock none would be at once.
        assert min(alive) < AT_ONCE_S, alive
        status, seconds = timed("/v1/cohorts")
        assert status in {200, 503}
        assert seconds < SOON_S
        for thread in crowd:
            thread.join()
    assert {status for status, _ in polls} == {503}
    assert max(seconds for _, seconds in polls) < SOON_S
    assert timed(f"/v1/searches/{search['id']}")[0] == 200
