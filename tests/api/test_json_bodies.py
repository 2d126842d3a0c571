"""JSON bodies: nobody's is read before it is known who sends it, and a large one keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api import json_route
from api.uploads import load_json
from autoprog.errors import InvalidInputError
from tests.api.conftest import MakeClient
from tests.api.searching import pointers

JSON = {"Content-Type": "application/json"}


def _paths_with_a_body(app: FastAPI) -> Iterator[str]:
    for path, operations in app.openapi()["paths"].items():
        if "requestBody" in operations.get("post", {}):
            yield path.replace("{", "").replace("}", "")


async def _status_of(app: FastAPI, path: str, key: str | None, content_type: str) -> int:
    """The status of a POST whose body may not be touched."""
    headers = [(b"host", b"example.org"), (b"content-type", content_type.encode()), (b"content-length", b"999")]
    if key is not None:
        headers.append((b"authorization", key.encode()))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "https",
        "path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"", "headers": headers,
        "client": ("192.0.2.1", 1), "server": ("example.org", 443), "app": app,
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_a_body_is_not_touched_before_its_sender_is_known(
    keyed_app: FastAPI, client_of: MakeClient, content_type: str
) -> None:
    reader = client_of("ada", "read").headers["authorization"]
    paths = list(_paths_with_a_body(keyed_app))
    assert len(paths) > 15
    for path in paths:
        assert asyncio.run(_status_of(keyed_app, path, None, content_type)) == 401, path
        assert asyncio.run(_status_of(keyed_app, path, reader, content_type)) == 403, path


def test_a_body_is_not_parsed_where_requests_are_accepted(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*arguments: Any) -> object:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return load_json(*arguments)

    monkeypatch.setattr(json_route, "load_json", parse)
    assert client.post("/v1/models/x/predictions", json={"patients": [{}]}).status_code == 404


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json_is_a_fault(client: TestClient, content: bytes) -> None:
    response = client.post("/v1/models/x/predictions", content=content, headers=JSON)
    assert response.status_code == 422
    assert pointers(response) == [""]


def test_a_large_text_says_the_same_as_a_small_one() -> None:
    document = {"a": [1, -2.5, 1e300, 10**40, True, None, "x"], "b": {"c": []}}
    text = json.dumps(document).encode()
    assert load_json(text, "") == load_json(text + b" " * 2**21, "") == document
    assert [type(value) for value in load_json(text + b" " * 2**21, "")["a"][:4]] == [int, float, float, int]  # type: ignore[index]


@pytest.mark.parametrize("space", [b"", b" " * 2**21])
def test_constants_that_json_does_not_have(space: bytes) -> None:
    with pytest.raises(InvalidInputError, match="NaN is no JSON value"):
        load_json(b"[NaN]" + space, "")
    assert load_json(b"[-Infinity]" + space, "", float) == [-math.inf]
