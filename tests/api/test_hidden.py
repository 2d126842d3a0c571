"""What a document says twice, and names that do not look like what they are."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.diagnosing import MODELS
from tests.api.searching import SMALL, SMALL_SPEC, multipart, pointers, table
from tests.api.selecting import PIMA, PROBLEMS

STREAMS = "/v1/feature-selection/streams"
TURNED = "asthma\u202eenoemunp"
OBJECTS = [{"name": TURNED}, {"name": "b"}]


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        (MODELS, {"name": TURNED, "objects": [{"name": "a"}], "queries": [{"name": "q"}], "responses": [[1]]}, "/name"),
        (MODELS, {"name": "m", "objects": OBJECTS, "queries": [{"name": "q"}], "responses": [[1], [0]]},
         "/objects/0/name"),
        (PROBLEMS, {**PIMA, "name": TURNED}, "/name"),
        (PROBLEMS, {**PIMA, "tests": [{"name": TURNED, "cost": 1}, {"name": "b", "cost": 2}]}, "/tests/0/name"),
        (STREAMS, {"features": ["a", TURNED]}, "/features/1"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_what_is_seen_is_refused(
    client: TestClient, path: str, body: dict[str, Any], place: str
) -> None:
    response = client.post(path, json=body)
    assert response.status_code == 422
    assert pointers(response) == [place]


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/v1/searches", '{"cohort_id": "a", "budget": {"time_s": 60, "time_s": 600}}', "/budget/time_s"),
        (STREAMS, '{"features": ["a"], "features": ["b"]}', "/features"),
        (MODELS, '{"name": "a", "objects": [{"name": "a", "name": "b"}]}', "/objects/0/name"),
    ],
)
def test_a_key_that_stands_twice_is_refused(client: TestClient, path: str, body: str, place: str) -> None:
    response = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert pointers(response) == [place]


def test_a_key_that_stands_twice_in_a_part_is_refused(client: TestClient) -> None:
    parts = multipart(SMALL_SPEC, table(*SMALL))
    parts[1] = ("spec", (None, '{"name": "a", "name": "b"}', "application/json"))
    response = client.post("/v1/cohorts", files=parts)
    assert response.status_code == 422
    assert pointers(response) == ["/spec/name"]
