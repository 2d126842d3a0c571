"""What requests may hold of what was sent to them, while they wait for their turn."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from httpx2 import Response

from api.bodies import Bodies
from api.problems import QueueFullError
from api.turns import Turns
from autoprog.storage.database import Database
from tests.api.conftest import MakeClient
from tests.api.searching import SPEC, multipart
from tests.storage.support import add_owner

MIB = 2**20
FORM, JSON = "multipart/form-data; boundary=b", "application/json"


def request_of(n_bytes: int | None, content_type: str = FORM) -> Request:
    """A request with a body of this length; None for one that does not tell it."""
    length = (b"transfer-encoding", b"chunked") if n_bytes is None else (b"content-length", str(n_bytes).encode())
    return Request({"type": "http", "headers": [length, (b"content-type", content_type.encode())]})


def is_taken(bodies: Bodies, request: Request, owner: str = "ada") -> bool:
    try:
        with bodies.hold(request, owner):
            return True
    except QueueFullError:
        return False


def test_bodies_of_an_owner_are_bounded_together_and_another_s_are_not() -> None:
    bodies = Bodies(upload_mb=10)
    with bodies.hold(request_of(15 * MIB), "ada"), bodies.hold(request_of(15 * MIB), "ada"):
        assert is_taken(bodies, request_of(10 * MIB))
        assert not is_taken(bodies, request_of(10 * MIB + 1))
        assert not is_taken(bodies, request_of(None)), "it may become as long as any"
        assert is_taken(bodies, request_of(MIB)), "small ones are not counted"
        assert is_taken(bodies, request_of(15 * MIB), "bob")
    assert is_taken(bodies, request_of(15 * MIB))
    assert not bodies._held


def test_bodies_of_all_owners_are_bounded_together() -> None:
    bodies = Bodies(upload_mb=10)
    with ExitStack() as held:
        for number in range(5):
            held.enter_context(bodies.hold(request_of(15 * MIB), f"owner {number}"))
        assert not is_taken(bodies, request_of(15 * MIB))
        assert is_taken(bodies, request_of(5 * MIB))


def test_json_counts_for_what_it_takes_once_it_is_parsed() -> None:
    bodies = Bodies(upload_mb=10)
    with bodies.hold(request_of(3 * MIB, JSON), "ada"):
        assert is_taken(bodies, request_of(2 * MIB, JSON))
        assert not is_taken(bodies, request_of(3 * MIB, JSON))
    with bodies.hold(request_of(10 * MIB, JSON), "ada"):  # alone any is taken
        assert not is_taken(bodies, request_of(2 * MIB, JSON))


def _send_form(client: TestClient) -> Response:
    return client.post("/v1/cohorts", files=multipart({**SPEC, "description": "x" * MIB}))


def _send_json(client: TestClient) -> Response:
    return client.post("/v1/feature-selection/streams", json={"features": ["x" * (MIB // 4)]})


def _send_json_or_form(client: TestClient) -> Response:
    return client.post("/v1/searches", json={"cohort_id": "x" * (MIB // 4)})


@pytest.mark.parametrize("send", [_send_form, _send_json_or_form, _send_json])
def test_a_body_too_many_is_put_off(keyed_app: FastAPI, client_of: MakeClient, database: Database, send: Any) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    with database.session() as session:
        owner_id = add_owner(session, "ada")
    with keyed_app.state.context.bodies.hold(request_of(4 * MIB), owner_id):
        refused = send(ada)
        assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-requests")
        assert int(refused.headers["retry-after"]) > 0
        assert send(bob).status_code != 429
    assert send(ada).status_code != 429


def test_the_form_of_a_page_counts_too(local_app: FastAPI, client: TestClient) -> None:
    context = local_app.state.context
    form = [("file", ("patients.csv", b"x" * MIB))]
    with context.bodies.hold(request_of(4 * MIB), context.local_owner_id):
        assert client.post("/start/columns", files=form).status_code == 429
    assert client.post("/start/columns", files=form).status_code != 429
    assert not context.bodies._held


def test_a_file_is_not_read_before_its_request_has_its_turn(
    local_app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[None] = []
    read = SpooledTemporaryFile.read

    def note(file: Any, *arguments: int) -> bytes:
        reads.append(None)
        return read(file, *arguments)

    monkeypatch.setattr(SpooledTemporaryFile, "read", note)
    turns = Turns(at_once=1)
    local_app.state.context = replace(local_app.state.context, turns=turns)
    before = turns._stand_in_line("another")
    answers: list[int] = []
    upload = threading.Thread(target=lambda: answers.append(client.post("/v1/cohorts", files=multipart()).status_code))
    upload.start()
    deadline = time.monotonic() + 30
    while not turns._lines:
        assert time.monotonic() < deadline, "it does not wait"
        time.sleep(0.01)
    assert not reads
    turns._leave("another", before)
    upload.join()
    assert answers == [201]
    assert reads
