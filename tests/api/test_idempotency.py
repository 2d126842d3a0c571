"""`Idempotency-Key`: the same request twice is one request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

import api.cohorts.service
import api.idempotency
from autoprog.errors import ArtifactError, StoreUnavailableError
from autoprog.storage.database import Database
from autoprog.storage.repositories import IdempotencyRepository, StoredAnswer, idempotency
from autoprog.storage.tables import IdempotencyKeyRow
from tests.api.conftest import MakeClient
from tests.api.diagnosing import MODELS, make_model
from tests.api.searching import SMALL, SMALL_SPEC, SPEC, make_cohort, multipart, table

KEY = {"Idempotency-Key": "3f9c-1"}


def test_the_first_answer_comes_again(client: TestClient) -> None:
    first = client.post("/v1/cohorts", files=multipart(), headers=KEY)
    again = client.post("/v1/cohorts", files=multipart(), headers=KEY)
    assert first.status_code == again.status_code == 201
    assert again.content == first.content
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["content-type"] == first.headers["content-type"]
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert len(client.get("/v1/cohorts").json()["items"]) == 1


def test_a_search_is_started_once(client: TestClient) -> None:
    body = {"cohort_id": make_cohort(client)["id"], "seed": 1}
    first = client.post("/v1/searches", json=body, headers=KEY)
    again = client.post("/v1/searches", json=body, headers=KEY)
    assert again.json() == first.json()
    assert again.headers["retry-after"] == first.headers["retry-after"]
    assert len(client.get("/v1/searches").json()["items"]) == 1


def test_without_a_key_every_request_counts(client: TestClient) -> None:
    assert make_cohort(client)["id"] != make_cohort(client)["id"]


@pytest.mark.parametrize("search", ["x" * 300, "%00", "%F0%9F%98%80"])
def test_a_path_that_no_database_stores_is_not_found(client: TestClient, search: str) -> None:
    for _ in range(2):
        response = client.post(
            f"/v1/searches/{search}/continuations", json={"time_s": 60, "evaluations": 5}, headers=KEY
        )
        assert response.status_code == 404


@pytest.mark.parametrize("changed", ["file", "spec"])
def test_the_same_key_with_another_body_is_refused(client: TestClient, changed: str) -> None:
    client.post("/v1/cohorts", files=multipart(), headers=KEY)
    other = multipart({**SPEC, "name": "other"}) if changed == "spec" else multipart(SMALL_SPEC, table(*SMALL))
    response = client.post("/v1/cohorts", files=other, headers=KEY)
    assert response.status_code == 422
    assert [fault["pointer"] for fault in response.json()["errors"]] == ["/headers/idempotency-key"]
    assert len(client.get("/v1/cohorts").json()["items"]) == 1


def test_a_key_is_the_owners_and_the_routes(client_of: MakeClient) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    cohort = ada.post("/v1/cohorts", files=multipart(), headers=KEY).json()
    assert bob.post("/v1/cohorts", files=multipart(), headers=KEY).json()["id"] != cohort["id"]
    assert ada.post("/v1/searches", json={"cohort_id": cohort["id"]}, headers=KEY).status_code == 202


def test_a_refusal_comes_again_too(client: TestClient) -> None:
    parts = multipart(SMALL_SPEC, b"age,died\n")
    first = client.post("/v1/cohorts", files=parts, headers=KEY)
    again = client.post("/v1/cohorts", files=parts, headers=KEY)
    assert first.status_code == again.status_code == 422
    assert again.json() == first.json()
    assert again.headers["content-type"] == "application/problem+json"
    assert again.headers["idempotency-replayed"] == "true"


STREAMS = "/v1/feature-selection/streams"
SEARCHES = "/v1/searches"


def _post(client: TestClient, path: str, body: str) -> Response:
    return client.post(path, content=body, headers={**KEY, "Content-Type": "application/json"})


def _bodies(client: TestClient, path: str) -> tuple[str, str, str]:
    """A body, the same in another spelling, and one that says a default as well."""
    if path == STREAMS:
        body, same = '{"features": ["a", "b"], "seed": 1}', '{"seed":1,"features":["\\u0061","b"]}'
        return body, same, '{"features": ["a", "b"], "seed": 1, "algorithm": "thompson"}'
    cohort = make_cohort(client)["id"]
    body, same = f'{{"cohort_id": "{cohort}", "seed": 1}}', f'{{"seed":1,"cohort_id":"{cohort}"}}'
    return body, same, f'{{"cohort_id": "{cohort}", "seed": 1, "metric": "auc_roc"}}'


@pytest.mark.parametrize("path", [STREAMS, SEARCHES])
def test_a_body_is_what_was_sent_not_what_it_is_taken_for(client: TestClient, path: str) -> None:
    body, same, other = _bodies(client, path)
    first, again, refused = (_post(client, path, text) for text in (body, same, other))
    assert first.is_success
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/headers/idempotency-key"]
    assert len(client.get(path).json()["items"]) == 1


@pytest.mark.parametrize("path", [STREAMS, SEARCHES])
@pytest.mark.parametrize("bad", ["{", '{"seed": [], "colour": 1}', "[1]"])
def test_a_body_that_no_handler_sees_is_refused_again_too(client: TestClient, path: str, bad: str) -> None:
    first, again = (_post(client, path, bad) for _ in range(2))
    assert first.status_code == again.status_code == 422
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == "application/problem+json"
    good = _post(client, path, _bodies(client, path)[0])
    assert [fault["pointer"] for fault in good.json()["errors"]] == ["/headers/idempotency-key"]


def test_a_fault_beside_the_body_is_not_kept(client: TestClient) -> None:
    sessions = f"{MODELS}/{make_model(client)['id']}/sessions"
    assert _post(client, f"{sessions}?remaining=-1", '{"certainty": 0.9}').status_code == 422
    assert _post(client, sessions, '{"certainty": 0.9}').status_code == 201


@pytest.mark.parametrize("error", [ArtifactError("the disk is full"), OSError("the disk is full")])
def test_a_failure_of_the_server_is_not_kept(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> bytes:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(api.cohorts.service, "to_parquet", fail)
        assert client.post("/v1/cohorts", files=multipart(), headers=KEY).status_code == 500
    response = client.post("/v1/cohorts", files=multipart(), headers=KEY)
    assert response.status_code == 201
    assert "idempotency-replayed" not in response.headers


def test_work_whose_commit_was_not_acknowledged_is_not_done_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, session = IdempotencyRepository.finish, Database.session
    finished: list[Session] = []

    def note(record: IdempotencyRepository, stored: StoredAnswer) -> None:
        finish(record, stored)
        finished.append(record._session)

    @contextmanager
    def break_off(database: Database, *, read_only: bool = False) -> Iterator[Session]:
        with session(database, read_only=read_only) as opened:
            yield opened
        if opened in finished:
            raise StoreUnavailableError("the connection broke off during the commit")

    with monkeypatch.context() as patch:
        patch.setattr(IdempotencyRepository, "finish", note)
        patch.setattr(Database, "session", break_off)
        assert client.post("/v1/cohorts", files=multipart(), headers=KEY).status_code == 503
    again = client.post("/v1/cohorts", files=multipart(), headers=KEY)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
    assert [each["id"] for each in client.get("/v1/cohorts").json()["items"]] == [again.json()["id"]]


def test_a_second_request_does_not_overtake_the_first(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    started, go_on = threading.Event(), threading.Event()
    read = api.cohorts.service.read_cohort

    def slow(*arguments: object) -> object:
        started.set()
        assert go_on.wait(30)
        return read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(api.cohorts.service, "read_cohort", slow)
    for module in (api.idempotency, idempotency):
        monkeypatch.setattr(module, "LEASE_S", 0.6)
    answers: list[int] = []
    first = threading.Thread(
        target=lambda: answers.append(client.post("/v1/cohorts", files=multipart(), headers=KEY).status_code)
    )
    first.start()
    try:
        assert started.wait(30)
        time.sleep(1.5)  # it outlasts its lease
        second = client.post("/v1/cohorts", files=multipart(), headers=KEY)
        assert (second.status_code, second.json()["type"]) == (409, "/problems/conflict")
    finally:
        go_on.set()
        first.join()
    assert answers == [201]
    assert client.post("/v1/cohorts", files=multipart(), headers=KEY).status_code == 201
    assert len(client.get("/v1/cohorts").json()["items"]) == 1


@pytest.mark.parametrize(
    ("url", "parts", "expected"),
    [
        ("/v1/cohorts", {"spec": {**SMALL_SPEC, "zz": 1}}, {"/spec/zz", "/file"}),
        ("/v1/searches", {"spec": SMALL_SPEC, "search": {"seed": -1}}, {"/search/seed", "/file"}),
        ("/v1/diagnosis/models", {"spec": {"name": ""}}, {"/spec/name", "/file"}),
    ],
)
def test_a_key_that_cannot_be_kept_does_not_hide_what_is_wrong_with_an_upload(
    client: TestClient, url: str, parts: dict[str, object], expected: set[str]
) -> None:
    response = client.post(url, files=multipart(content=b"", **parts), headers={"Idempotency-Key": "a b"})
    assert response.status_code == 422
    assert {fault["pointer"] for fault in response.json()["errors"]} == {"/headers/idempotency-key", *expected}


@pytest.mark.parametrize(
    ("url", "body", "expected"),
    [
        ("/v1/searches", {"seed": -1}, {"/seed", "/cohort_id"}),
        ("/v1/diagnosis/models", {"name": "x", "zz": 1}, {"/zz", "/objects", "/queries", "/responses"}),
        ("/v1/feature-selection/streams", {"features": ["a", "a"], "zz": 1}, {"/zz", "/features/1"}),
    ],
)
def test_a_key_that_cannot_be_kept_does_not_hide_what_is_wrong_with_a_body(
    client: TestClient, url: str, body: object, expected: set[str]
) -> None:
    response = client.post(url, json=body, headers={"Idempotency-Key": "a b"})
    assert response.status_code == 422
    assert {fault["pointer"] for fault in response.json()["errors"]} == {"/headers/idempotency-key", *expected}


@pytest.mark.parametrize("parts", [multipart(), multipart(SPEC, search={})])
def test_nothing_is_kept_of_a_request_whose_key_is_its_only_fault(client: TestClient, parts: list[object]) -> None:
    url = f"/v1/{'searches' if len(parts) > 2 else 'cohorts'}"
    response = client.post(url, files=parts, headers={"Idempotency-Key": "a b"})  # type: ignore[arg-type]
    assert [fault["pointer"] for fault in response.json()["errors"]] == ["/headers/idempotency-key"]
    assert client.get("/v1/cohorts").json()["items"] == []


def test_an_unknown_key_makes_another_body(client: TestClient) -> None:
    url, body = "/v1/feature-selection/streams", {"features": ["a"]}
    first = client.post(url, json={**body, "zz": 1}, headers=KEY)
    assert [fault["pointer"] for fault in first.json()["errors"]] == ["/zz"]
    second = client.post(url, json=body, headers=KEY)
    assert [fault["pointer"] for fault in second.json()["errors"]] == ["/headers/idempotency-key"]


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_key_that_cannot_be_kept_is_a_fault(client: TestClient, key: str) -> None:
    response = client.post("/v1/cohorts", files=multipart(), headers={"Idempotency-Key": key})
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "/headers/idempotency-key"


def kept_about(database: Database, resource_id: str) -> list[str]:
    """Routes whose kept answers name a resource."""
    with database.session(read_only=True) as session:
        rows = session.scalars(select(IdempotencyKeyRow).order_by(IdempotencyKeyRow.created_at)).all()
        return [row.route for row in rows if resource_id.encode() in (row.body or b"") or resource_id in row.route]


def test_no_answer_outlives_what_it_tells_of(client: TestClient, database: Database) -> None:
    cohort = client.post("/v1/cohorts", files=multipart(), headers=KEY).json()
    other = client.post("/v1/cohorts", files=multipart(), headers={"Idempotency-Key": "other"}).json()
    search = client.post("/v1/searches", json={"cohort_id": cohort["id"]}, headers=KEY).json()
    refused = client.post(f"/v1/searches/{search['id']}/continuations", json={"time_s": 60}, headers=KEY)
    assert refused.status_code == 409
    assert len(kept_about(database, cohort["id"])) == 2
    assert len(kept_about(database, search["id"])) == 2
    assert client.delete(f"/v1/cohorts/{cohort['id']}").status_code == 204
    assert kept_about(database, cohort["id"]) == kept_about(database, search["id"]) == []
    assert kept_about(database, other["id"]) == ["POST /v1/cohorts"]
    again = client.post("/v1/cohorts", files=multipart(), headers=KEY)
    assert again.status_code == 201
    assert again.json()["id"] != cohort["id"]


def test_no_answer_outlives_a_session_or_its_model(client: TestClient, database: Database) -> None:
    model = make_model(client)
    opened = [client.post(f"{MODELS}/{model['id']}/sessions", headers={"Idempotency-Key": key}).json() for key in "ab"]
    assert [len(kept_about(database, each["id"])) for each in opened] == [1, 1]
    assert client.delete(f"/v1/diagnosis/sessions/{opened[0]['id']}").status_code == 204
    assert [len(kept_about(database, each["id"])) for each in opened] == [0, 1]
    assert client.delete(f"{MODELS}/{model['id']}").status_code == 204
    assert kept_about(database, opened[1]["id"]) == []
