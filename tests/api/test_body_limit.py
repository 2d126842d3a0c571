"""Uploads above the limit, over a real socket: the server stops reading where the limit is."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.body_limit import SMALL_FORM
from api.json_route import JsonRoute
from tests.api.conftest import routes_of
from tests.api.diagnosing import packed
from tests.api.searching import multipart

MIB = 2**20


@pytest.fixture
def connection(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connected:
        yield connected


def _head(*headers: str) -> bytes:
    return "\r\n".join(("POST /v1/cohorts HTTP/1.1", "Host: 127.0.0.1", *headers, "", "")).encode()


def _read_all(connection: socket.socket) -> bytes:
    answer = b""
    while piece := connection.recv(65_536):
        answer += piece
    return answer


def test_a_body_declared_too_long_is_not_read(connection: socket.socket) -> None:
    connection.sendall(
        _head("Content-Type: multipart/form-data; boundary=b", f"Content-Length: {400 * MIB}", "Expect: 100-continue")
    )
    answer = _read_all(connection)  # to its end: the server hangs up without a byte of the body
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"application/problem+json" in answer
    assert b"connection: close" in answer.lower()


def test_a_body_of_unknown_length_is_read_up_to_the_limit(connection: socket.socket) -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    chunk = b"%x\r\n%s\r\n" % (65_536, b"x" * 65_536)
    connection.sendall(_head("Content-Type: multipart/form-data; boundary=b", "Transfer-Encoding: chunked"))
    connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
    sent, answer = 0, b""
    with suppress(ConnectionError):
        for _ in range(400 * 16):
            connection.sendall(chunk)
            sent += len(chunk)
            if select.select([connection], [], [], 0.002)[0]:
                answer = connection.recv(65_536)
                break
    assert sent < 32 * MIB  # of 400 MiB: the limit and what was under way
    # A client that is still sending may see the connection reset before it can read the answer.
    assert answer.startswith(b"HTTP/1.1 413") or answer == b""


def test_a_body_of_unknown_length_above_the_limit_is_too_large(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
        yield from (bytes(MIB) for _ in range(4))

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    response = client.post("/v1/cohorts", content=pieces(), headers=headers)
    assert response.status_code == 413
    assert "read no further" in response.json()["detail"]
    assert response.headers["connection"] == "close"


def test_a_client_that_hangs_up_does_no_harm(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as hasty:
        hasty.sendall(_head("Content-Type: multipart/form-data; boundary=b", "Content-Length: 1000") + b"--b")
    with socket.create_connection(("127.0.0.1", port), timeout=20) as next_one:
        next_one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert _read_all(next_one).startswith(b"HTTP/1.1 200")


def test_a_file_above_the_limit_is_too_large(client: TestClient) -> None:
    response = client.post("/v1/cohorts", files=multipart(content=b"x" * (MIB + 1)))
    assert response.status_code == 413
    assert response.json()["type"] == "/problems/too-large"


def test_a_part_may_be_as_large_as_a_file(client: TestClient) -> None:
    names = [{"name": f"object {i} " + "x" * 16, "group": f"g{i % 3}"} for i in range(15_000)]
    spec = {"name": "packed", "objects": names, "queries": [{"name": f"q{i}"} for i in range(3)]}
    part = json.dumps(spec).ljust(MIB)
    matrix = packed([[i % 2, i % 3 == 0, i % 5 == 0] for i in range(15_000)])
    for text, status in ((part, 201), (part + " ", 413)):
        parts = [("file", ("m", matrix)), ("spec", (None, text, "application/json"))]
        response = client.post("/v1/diagnosis/models", files=parts)
        assert response.status_code == status, response.text
    assert response.json()["type"] == "/problems/too-large"
    assert "the part spec exceeds 1 MiB" in response.json()["detail"]


def test_other_bodies_have_a_limit_too(client: TestClient) -> None:
    response = client.post("/v1/searches", json={"cohort_id": "x" * 2 * MIB})
    assert response.status_code == 413
    assert "1 MiB" in response.json()["detail"]


def test_a_file_at_the_limit_is_read(client: TestClient) -> None:
    content = b"age,died\n" + b"".join(b"%d,%d\n" % (40 + i % 30, i % 2) for i in range((MIB - 9) // 5))
    spec = {"name": "long", "outcome": {"column": "died", "positive": 1}}
    assert MIB - 5 <= len(content) <= MIB
    assert client.post("/v1/cohorts", files=multipart(spec, content)).status_code == 201


def _form_of(n_bytes: int) -> Iterator[bytes]:
    yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    yield from (bytes(2**14) for _ in range(n_bytes // 2**14))
    yield b"\r\n--b--\r\n"


@pytest.mark.parametrize("path", ["/login", "/language", "/settings/keys", f"/diagnosis/sessions/{'0' * 32}"])
def test_a_form_of_whoever_has_not_logged_in_is_small(keyed_app: FastAPI, path: str) -> None:
    site = "https://example.org"
    anyone = TestClient(keyed_app, base_url=site, headers={"Origin": site}, follow_redirects=False)
    multipart = {"Content-Type": "multipart/form-data; boundary=b"}
    for content in (_form_of(MIB), b"".join(_form_of(MIB))):  # of unknown and of known length
        response = anyone.post(path, content=content, headers=multipart)
        assert response.status_code == 413
    assert anyone.post(path, data={"key": "x" * MIB}).status_code == 413
    assert anyone.post(path, content=_form_of(SMALL_FORM // 2), headers=multipart).status_code != 413


def test_every_form_that_is_read_before_its_sender_is_known_is_small(keyed_app: FastAPI) -> None:
    early = [route for route in routes_of(keyed_app) if route.body_field and not isinstance(route, JsonRoute)]
    assert len(early) >= 8
    assert [route.path for route in early if route.max_body_size != SMALL_FORM] == []


@pytest.mark.parametrize("path", ["/start", "/diagnosis/new", f"/models/{'0' * 32}/calculator"])
def test_a_large_form_is_read_only_after_a_log_in(keyed_app: FastAPI, path: str) -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    site = "https://example.org"
    anyone = TestClient(keyed_app, base_url=site, headers={"Origin": site}, follow_redirects=False)
    response = anyone.post(path, content=never(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert response.status_code == 303
    assert response.headers["location"].startswith("/login")
