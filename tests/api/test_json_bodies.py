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
from httpx2 import Response

from api import json_request
from api.uploads import load_json
from autoprog.cohort.messages import HALF_A_PAIR
from autoprog.errors import InvalidInputError
from tests.api.conftest import MakeClient
from tests.api.diagnosing import MODELS, made, make_model
from tests.api.searching import SMALL, SMALL_SPEC, make_cohort, multipart, pointers, table

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

    monkeypatch.setattr(json_request, "load_json", parse)
    assert client.post("/v1/models/x/predictions", json={"patients": [{}]}).status_code == 404


def test_the_media_type_of_a_body_that_may_be_left_out_counts_where_one_came(client: TestClient) -> None:
    sessions = f"{MODELS}/{make_model(client)['id']}/sessions"
    assert (
        client.post(sessions, content=b'{"certainty": 0.5}', headers={"Content-Type": "text/plain"}).status_code == 415
    )
    assert client.post(sessions, content=b'{"certainty": 0.5}').status_code == 415
    assert client.post(sessions, headers={"Content-Type": "text/plain"}).status_code == 201
    assert client.post(sessions, content=b'{"certainty": 0.5}', headers=JSON).json()["certainty"] == 0.5


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


HALF = "\ud800"  # of a surrogate pair: JSON can spell it, no text in UTF-8 can hold it
_RULE = {"stratum": "high", "probability": 0.5}
_LEARNER = {"name": "l", "findings": [{"name": "pain"}], "labels": ["a", "b"]}


def _send(client: TestClient, path: str, body: object, key: str | None = None) -> Response:
    headers = JSON if key is None else {**JSON, "Idempotency-Key": key}
    return client.post(path, content=json.dumps(body), headers=headers)


def _nested(value: object, depth: int = 300) -> object:
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("settings", "pointer"),
    [
        ({"space": {"prediction": [HALF]}}, "/space/prediction/0"),
        ({"subgroups": [HALF]}, "/subgroups/0"),
        ({"prior_rules": [_RULE | {"conditions": [{"feature": HALF, "operator": ">=", "value": 1}]}]},
         "/prior_rules/0/conditions/0/feature"),
        ({"prior_rules": [_RULE | {"conditions": [{"feature": "sex", "operator": "=", "value": HALF}]}]},
         "/prior_rules/0/conditions/0/value"),
    ],
)  # fmt: skip
def test_half_a_pair_in_the_settings_of_a_search_is_a_fault(
    client: TestClient, settings: dict[str, Any], pointer: str
) -> None:
    response = _send(client, "/v1/searches", {"cohort_id": make_cohort(client)["id"], **settings}, key="k")
    assert response.status_code == 422
    assert {e["detail"] for e in response.json()["errors"] if e["pointer"].startswith(pointer)} == {HALF_A_PAIR}


@pytest.mark.parametrize(
    "value", [HALF, {HALF: 1}, _nested(1), _nested(HALF)], ids=["half", "key", "deep", "deep half"]
)
def test_what_no_text_can_hold_is_a_fault_of_any_field(client: TestClient, value: object) -> None:
    sessions = f"{MODELS}/{make_model(client)['id']}/sessions"
    models = f"/v1/diagnosis/learners/{made(client.post('/v1/diagnosis/learners', json=_LEARNER))['id']}/models"
    for key in (None, "k"):
        assert pointers(_send(client, sessions, {"certainty": value}, key)) == ["/certainty"]
    for field in ("name", "algorithm", "exponential_cost_base", "stop", "ties", "seed"):
        assert pointers(_send(client, models, {"name": "x", field: value}, field)) == [f"/{field}"]
    validations = {"cohort_id": "x", "subgroups": [value]}
    assert pointers(_send(client, "/v1/models/x/validations", validations)) == ["/subgroups/0"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"outcome": {"column": "died", "positive": HALF}}, "/spec/outcome/positive"),
        ({"na_values": [HALF]}, "/spec/na_values/0"),
        ({"features": {"sex": {"kind": "ordinal", "levels": ["m", "f", HALF]}}}, "/spec/features/sex/levels/2"),
    ],
)
def test_half_a_pair_in_a_spec_is_a_fault(client: TestClient, changes: dict[str, Any], pointer: str) -> None:
    response = client.post("/v1/cohorts", files=multipart({**SMALL_SPEC, **changes}, table(*SMALL)))
    assert response.status_code == 422
    assert [e["detail"] for e in response.json()["errors"] if e["pointer"] == pointer] == [HALF_A_PAIR]
