"""Uploads above the limit, over a real socket: the server stops reading where the limit is."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fastapi.testclient import TestClient

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
