"""Lists: limits and cursors."""

from __future__ import annotations

import base64
import json

import pytest
from fastapi.testclient import TestClient

from autoprog.evaluation import Status
from tests.api.searching import Driver, make_cohort, make_search


def forged(position: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


def test_a_cursor_leads_through_all_cohorts_once(client: TestClient) -> None:
    made = [make_cohort(client)["id"] for _ in range(4)]
    first = client.get("/v1/cohorts", params={"limit": 2}).json()
    rest = client.get("/v1/cohorts", params={"cursor": first["next_cursor"]}).json()
    assert [item["id"] for item in first["items"] + rest["items"]] == made
    assert rest["next_cursor"] is None


def test_what_is_made_while_paging_comes_at_the_end(client: TestClient) -> None:
    made = [make_cohort(client)["id"] for _ in range(2)]
    first = client.get("/v1/cohorts", params={"limit": 1}).json()
    client.delete(f"/v1/cohorts/{made[0]}")
    new = make_cohort(client)["id"]
    rest = client.get("/v1/cohorts", params={"cursor": first["next_cursor"]}).json()
    assert [item["id"] for item in rest["items"]] == [made[1], new]


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "1.5"])
def test_a_limit_out_of_range_is_a_fault(client: TestClient, limit: str) -> None:
    response = client.get("/v1/models", params={"limit": limit})
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "/limit"


@pytest.mark.parametrize(
    "cursor",
    ["x", "%00", "ü", "e30", forged([]), forged(["2026-01-01", "x"]), forged(["9" * 400, "x"]),
     forged(["2026-01-01T00:00:00+00:00", "a\x00b"]), forged(["0001-01-01T00:00:00+14:00", "x"])],
)  # fmt: skip
@pytest.mark.parametrize("collection", ["cohorts", "searches", "models"])
def test_a_cursor_of_no_list_is_a_fault(client: TestClient, collection: str, cursor: str) -> None:
    response = client.get(f"/v1/{collection}", params={"cursor": cursor})
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "/cursor"


@pytest.mark.parametrize("sort", ["created", "score"])
@pytest.mark.parametrize("cursor", [forged([1e400, 1]), forged([None, -1]), forged([10**30]), forged(["x", 1]), "x"])
def test_a_cursor_of_another_order_is_a_fault(client: TestClient, driver: Driver, sort: str, cursor: str) -> None:
    path = f"/v1/searches/{make_search(client)['id']}/evaluations"
    driver.explore(driver.claim(), Status.SUCCEEDED)
    assert client.get(path, params={"sort": sort, "cursor": cursor}).status_code == 422
