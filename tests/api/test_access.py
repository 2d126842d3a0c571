"""Who may do what: keys, scopes, owners, and the guard of a server without keys."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import update

from api.places import Places
from autoprog.evaluation import Status
from autoprog.scopes import SCOPES
from autoprog.storage.connections import WRITER
from autoprog.storage.database import Database
from autoprog.storage.repositories import KeyRepository
from autoprog.storage.tables import ApiKeyRow
from tests.api.conftest import LOCAL, MakeClient
from tests.api.searching import Driver, make_cohort, make_search, multipart, patient
from tests.engine.cluster import wait_until
from tests.storage.support import wait_until_someone_waits


@pytest.mark.parametrize("header", [None, "", "Basic YTpi", "Bearer", "Bearer ap_x_y", "Bearer " + "ü" * 40])
def test_without_a_key_there_is_nothing(keyed_app: FastAPI, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    response = TestClient(keyed_app, headers=headers).get("/v1/cohorts")
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "/problems/unauthorized"


def test_a_body_is_not_read_before_its_sender_is_known(keyed_app: FastAPI) -> None:
    assert TestClient(keyed_app).post("/v1/cohorts", files=multipart()).status_code == 401


def test_a_revoked_key_opens_nothing(database: Database, client_of: MakeClient) -> None:
    client = client_of("ada")
    assert client.get("/v1/cohorts").status_code == 200
    with database.session() as session:
        KeyRepository(session).revoke(client.headers["authorization"].split("_")[1])
    assert client.get("/v1/cohorts").status_code == 401


def test_it_is_known_when_a_key_was_last_used(database: Database, client_of: MakeClient) -> None:
    client = client_of("ada")

    def used_at() -> datetime | None:
        with database.session(read_only=True) as session:
            ((_, row),) = KeyRepository(session).all("ada")
            return row.used_at

    assert used_at() is None
    client.get("/v1/cohorts")
    first = used_at()
    assert first is not None
    client.get("/v1/cohorts")
    assert used_at() == first  # to the hour


def test_a_use_that_cannot_be_noted_keeps_no_other_request_waiting(
    database: Database, keyed_app: FastAPI, client_of: MakeClient
) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    assert bob.get("/v1/cohorts").status_code == 200
    keyed_app.state.context = replace(keyed_app.state.context, authenticating=Places(1, 1.0))
    with ThreadPoolExecutor() as pool:
        with database.session() as session:  # who writes to the table waits
            session.execute(update(ApiKeyRow).values(used_at=ApiKeyRow.used_at))
            first = pool.submit(ada.get, "/v1/cohorts")
            wait_until(lambda: len(keyed_app.state.context.uses._tried) > 1)  # Ada's, after Bob's
            wait_until_someone_waits(database)
            assert bob.get("/v1/cohorts").status_code == 200
            began = time.monotonic()
            assert ada.get("/v1/cohorts").status_code == 200
            assert time.monotonic() - began < WRITER.lock_s
        assert first.result(60).status_code == 200


ROUTES = [
    ("GET", "/v1/cohorts", "read"),
    ("POST", "/v1/cohorts", "write"),
    ("GET", "/v1/cohorts/x", "read"),
    ("DELETE", "/v1/cohorts/x", "write"),
    ("GET", "/v1/cohorts/x/meta-features", "read"),
    ("GET", "/v1/cohorts/x/outlook", "read"),
    ("GET", "/v1/searches", "read"),
    ("POST", "/v1/searches", "write"),
    ("GET", "/v1/searches/x", "read"),
    ("DELETE", "/v1/searches/x", "write"),
    ("POST", "/v1/searches/x/cancel", "write"),
    ("POST", "/v1/searches/x/continuations", "write"),
    ("GET", "/v1/searches/x/events", "read"),
    ("GET", "/v1/searches/x/evaluations", "read"),
    ("GET", "/v1/searches/x/ensemble", "read"),
    ("GET", "/v1/searches/x/rules", "read"),
    ("GET", "/v1/searches/x/decomposition", "read"),
    ("GET", "/v1/searches/x/report", "read"),
    ("GET", "/v1/searches/x/figures/x", "read"),
    ("POST", "/v1/searches/x/predictions", "predict"),
    ("GET", "/v1/models", "read"),
    ("GET", "/v1/models/x", "read"),
    ("DELETE", "/v1/models/x", "write"),
    ("POST", "/v1/models/x/predictions", "predict"),
    ("POST", "/v1/models/x/next-tests", "predict"),
    ("POST", "/v1/models/x/recalibrations", "write"),
    ("GET", "/v1/models/x/validations", "read"),
    ("POST", "/v1/models/x/validations", "write"),
    ("GET", "/v1/models/x/validations/x", "read"),
    ("GET", "/v1/models/x/validations/x/report", "read"),
    ("GET", "/v1/models/x/validations/x/figures/x", "read"),
    ("DELETE", "/v1/models/x/validations/x", "write"),
    ("GET", "/v1/models/x/status-changes", "read"),
    ("POST", "/v1/models/x/status-changes", "approve"),
    ("GET", "/v1/models/x/status-changes/x", "read"),
    ("GET", "/v1/prediction-policy", "read"),
    ("PUT", "/v1/prediction-policy", "approve"),
    ("GET", "/v1/space", "read"),
]

DIAGNOSIS_ROUTES = [
    ("GET", "/v1/diagnosis/models", "read"),
    ("POST", "/v1/diagnosis/models", "write"),
    ("GET", "/v1/diagnosis/models/x", "read"),
    ("DELETE", "/v1/diagnosis/models/x", "write"),
    ("GET", "/v1/diagnosis/models/x/tree", "read"),
    ("POST", "/v1/diagnosis/models/x/tree", "write"),
    ("GET", "/v1/diagnosis/models/x/optimum", "read"),
    ("GET", "/v1/diagnosis/models/x/sessions", "read"),
    ("POST", "/v1/diagnosis/models/x/sessions", "write"),
    ("GET", "/v1/diagnosis/sessions/x", "read"),
    ("DELETE", "/v1/diagnosis/sessions/x", "write"),
    ("POST", "/v1/diagnosis/sessions/x/answers", "write"),
    ("GET", "/v1/diagnosis/sessions/x/batch", "read"),
    ("DELETE", "/v1/diagnosis/sessions/x/answers/x", "write"),
    ("POST", "/v1/diagnosis/multiway-questions", "predict"),
    ("GET", "/v1/diagnosis/learners", "read"),
    ("POST", "/v1/diagnosis/learners", "write"),
    ("GET", "/v1/diagnosis/learners/x", "read"),
    ("DELETE", "/v1/diagnosis/learners/x", "write"),
    ("POST", "/v1/diagnosis/learners/x/cases", "write"),
    ("POST", "/v1/diagnosis/learners/x/models", "write"),
    ("GET", "/v1/jobs", "read"),
    ("GET", "/v1/jobs/x", "read"),
]

_PROBLEMS, _STREAMS = "/v1/test-selection/problems", "/v1/feature-selection/streams"
_LEARNERS, _CATALOGUES = "/v1/threshold-learners", "/v1/test-catalogues"
SELECTION_ROUTES = [
    ("GET", _CATALOGUES, "read"),
    ("POST", _CATALOGUES, "write"),
    ("GET", f"{_CATALOGUES}/x", "read"),
    ("DELETE", f"{_CATALOGUES}/x", "write"),
    ("GET", _PROBLEMS, "read"),
    ("POST", _PROBLEMS, "write"),
    ("GET", f"{_PROBLEMS}/x", "read"),
    ("DELETE", f"{_PROBLEMS}/x", "write"),
    ("GET", f"{_PROBLEMS}/x/disagreements", "read"),
    ("GET", f"{_PROBLEMS}/x/rounds", "read"),
    ("POST", f"{_PROBLEMS}/x/rounds", "write"),
    ("GET", f"{_PROBLEMS}/x/rounds/x", "read"),
    ("DELETE", f"{_PROBLEMS}/x/rounds/x", "write"),
    ("POST", f"{_PROBLEMS}/x/rounds/x/feedback", "write"),
    ("GET", f"{_PROBLEMS}/x/replays", "read"),
    ("POST", f"{_PROBLEMS}/x/replays", "write"),
    ("GET", f"{_PROBLEMS}/x/replays/x", "read"),
    ("DELETE", f"{_PROBLEMS}/x/replays/x", "write"),
    ("POST", "/v1/models/x/comparisons", "write"),
    ("GET", "/v1/searches/x/explanation", "read"),
    ("POST", "/v1/searches/x/explanation", "write"),
    ("GET", "/v1/searches/x/test-frontiers", "read"),
    ("POST", "/v1/searches/x/test-frontiers", "write"),
    ("GET", "/v1/searches/x/test-frontiers/x", "read"),
    ("DELETE", "/v1/searches/x/test-frontiers/x", "write"),
    ("POST", "/v1/searches/x/test-frontiers/x/missing-tests", "predict"),
    ("GET", _STREAMS, "read"),
    ("POST", _STREAMS, "write"),
    ("GET", f"{_STREAMS}/x", "read"),
    ("DELETE", f"{_STREAMS}/x", "write"),
    ("GET", f"{_STREAMS}/x/selections", "read"),
    ("POST", f"{_STREAMS}/x/selections", "write"),
    ("GET", f"{_STREAMS}/x/selections/x", "read"),
    ("DELETE", f"{_STREAMS}/x/selections/x", "write"),
    ("POST", f"{_STREAMS}/x/observations", "write"),
    ("GET", _LEARNERS, "read"),
    ("POST", _LEARNERS, "write"),
    ("GET", f"{_LEARNERS}/x", "read"),
    ("DELETE", f"{_LEARNERS}/x", "write"),
    ("POST", f"{_LEARNERS}/x/cases", "write"),
]
ERASURE_ROUTES = [
    ("GET", "/v1/patient-erasures", "read"),
    ("POST", "/v1/patient-erasures", "write"),
    ("POST", "/v1/patient-erasures/previews", "write"),
    ("GET", "/v1/patient-erasures/x", "read"),
]

ALL_ROUTES = [*ROUTES, *DIAGNOSIS_ROUTES, *SELECTION_ROUTES, *ERASURE_ROUTES]
_WITH_JSON = ("/diagnosis/", "/models/", "-selection/", "/threshold-learners", "/test-", "/continuations")


def test_the_table_of_routes_is_complete(keyed_app: FastAPI) -> None:
    paths = keyed_app.openapi()["paths"]
    documented = {(method.upper(), path) for path, item in paths.items() if path.startswith("/v1") for method in item}
    documented = {(method, re.sub(r"\{\w+\}", "x", path)) for method, path in documented}
    assert documented == {(method, path) for method, path, _ in ALL_ROUTES}


@pytest.mark.parametrize(("method", "path", "scope"), ALL_ROUTES)
def test_a_route_asks_for_its_scope(client_of: MakeClient, method: str, path: str, scope: str) -> None:
    takes_json = scope == "predict" or (method == "POST" and any(part in path for part in _WITH_JSON))
    body = {"json": {"patients": [{}]}} if takes_json else {}
    without = client_of("ada", *(other for other in SCOPES if other != scope)).request(method, path, **body)
    assert (without.status_code, without.json()["type"]) == (403, "/problems/forbidden")
    assert scope in without.json()["detail"]
    assert client_of("ada", scope).request(method, path, **body).status_code not in {401, 403}


def test_what_belongs_to_another_owner_is_not_there(client_of: MakeClient, driver: Driver) -> None:
    ada, bob = client_of("ada"), client_of("bob", *SCOPES)
    search = make_search(ada)
    driver.run(Status.SUCCEEDED)
    model_id = ada.get(f"/v1/searches/{search['id']}").json()["model_id"]
    ids = {"cohorts": search["cohort_id"], "searches": search["id"], "models": model_id}
    for method, path, scope in ROUTES:
        if "/x" not in path:
            continue
        collection = path.split("/")[2]
        body = {"json": {"patients": [patient()]}} if scope == "predict" else {}
        if path.endswith("/next-tests"):
            body = {"json": {"patient": patient()}}
        if method == "POST" and scope == "write" and collection == "models":
            body = {"json": {"cohort_id": search["cohort_id"]}}
        if path.endswith("/continuations"):
            body = {"json": {"time_s": 60}}
        if scope == "approve" and method == "POST":
            body = {"json": {"status": "approved"}}
        response = bob.request(method, path.replace("/x", f"/{ids[collection]}"), **body)
        assert (response.status_code, response.json()["type"]) == (404, "/problems/not-found"), path
    assert bob.post("/v1/searches", json={"cohort_id": search["cohort_id"]}).status_code == 404
    for collection, identifier in ids.items():
        assert bob.get(f"/v1/{collection}").json()["items"] == []
        assert ada.get(f"/v1/{collection}/{identifier}").status_code == 200


def test_keys_of_one_owner_share_its_resources(client_of: MakeClient) -> None:
    cohort = make_cohort(client_of("ada"))
    assert client_of("ada", "read").get(f"/v1/cohorts/{cohort['id']}").json() == cohort


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.8.9.1"])
def test_a_local_server_answers_to_its_own_names(local_app: FastAPI, host: str) -> None:
    client = TestClient(local_app, base_url=LOCAL)
    assert client.get("/v1/cohorts", headers={"Host": host}).status_code == 200
    assert client.get("/v1/cohorts", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "10.0.0.7:8000", "localhost.evil.example", "", "["]
)
@pytest.mark.parametrize("path", ["/v1/cohorts", "/livez", "/metrics", "/docs"])
def test_a_rebound_name_is_refused(local_app: FastAPI, host: str, path: str) -> None:
    response = TestClient(local_app, base_url=LOCAL).get(path, headers={"Host": host})
    assert response.status_code == 403
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8000", "http://["]
)
def test_a_page_of_another_origin_is_refused(local_app: FastAPI, origin: str) -> None:
    client = TestClient(local_app, base_url=LOCAL)
    response = client.post("/v1/cohorts", files=multipart(), headers={"Origin": origin})
    assert response.status_code == 403
    assert client.get("/v1/cohorts").json()["items"] == []


@pytest.mark.parametrize("name", ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP"])
def test_a_local_server_takes_nothing_from_a_proxy(local_app: FastAPI, name: str) -> None:
    client = TestClient(local_app, base_url=LOCAL)
    response = client.get("/v1/cohorts", headers={name: "for=10.0.0.7"})
    assert (response.status_code, response.json()["type"]) == (403, "/problems/forbidden")
    assert "autoprog keys create" in response.json()["detail"]


def test_once_there_is_a_key_a_local_server_asks_for_one(database: Database, client: TestClient) -> None:
    assert client.get("/v1/cohorts").status_code == 200
    with database.session() as session:
        row, key = KeyRepository(session).create("local", ("read",))
    assert client.get("/v1/cohorts").status_code == 401
    assert client.get("/v1/cohorts", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    with database.session() as session:
        KeyRepository(session).revoke(row.id)
    assert client.get("/v1/cohorts").status_code == 401  # the last key that goes opens nothing


def test_a_server_with_keys_answers_to_any_name(client_of: MakeClient) -> None:
    headers = {"Host": "models.hospital.example", "Origin": "https://hospital.example"}
    assert client_of("ada").get("/v1/cohorts", headers=headers).status_code == 200
