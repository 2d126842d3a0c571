"""How much of one owner may wait for a runner."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from api.app import create_app
from autoprog.evaluation import Status
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import MakeClient
from tests.api.diagnosing import MODELS, made, make_model
from tests.api.searching import Driver, make_search, multipart
from tests.api.selecting import CLEVELAND_TESTS, PIMA, PROBLEMS, make_problem

KEY = {"Idempotency-Key": "k"}


@pytest.fixture
def keyed_app(database: Database, files: Files) -> FastAPI:
    return create_app(Settings(upload_mb=1, queued=1), database, files, local_owner=False)


def test_a_search_too_many_is_put_off(client_of: MakeClient, driver: Driver) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    body = {"cohort_id": make_search(ada)["cohort_id"]}
    refused = ada.post("/v1/searches", json=body, headers=KEY)
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-requests")
    assert int(refused.headers["retry-after"]) > 0
    assert ada.post("/v1/searches", files=multipart()).status_code == 429
    assert len(ada.get("/v1/searches").json()["items"]) == len(ada.get("/v1/cohorts").json()["items"]) == 1
    make_search(bob)
    driver.claim()  # what runs does not wait
    now = ada.post("/v1/searches", json=body, headers=KEY)
    assert now.status_code == 202
    assert "idempotency-replayed" not in now.headers


def test_jobs_wait_in_the_same_queue(client_of: MakeClient, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.diagnosis.models.service.MAX_CELLS_AT_ONCE", 0)
    monkeypatch.setattr("api.test_selection.replays.service.MAX_SECONDS_AT_ONCE", 0)
    ada = client_of("ada")
    search = make_search(ada)
    driver.run(Status.SUCCEEDED)
    trees = [f"{MODELS}/{make_model(ada)['id']}/tree" for _ in range(2)]
    problem = make_problem(ada)  # without classifiers of its own there is nothing to wait for
    made(ada.post(trees[0]), 202)
    made(ada.post(trees[0]), 202)  # waits already
    trained = {**PIMA, "cohort_id": search["cohort_id"], "tests": CLEVELAND_TESTS}
    for path, body in (
        (trees[1], None),
        (PROBLEMS, trained),
        (f"{PROBLEMS}/{problem['id']}/replays", {"predictions": [[0, 1, 1]]}),
        (f"/v1/searches/{search['id']}/test-frontiers", {"tests": CLEVELAND_TESTS[:2]}),
        ("/v1/searches", {"cohort_id": search["cohort_id"]}),
    ):
        assert ada.post(path, json=body).status_code == 429, path
    assert len(ada.get("/v1/jobs").json()["items"]) == 1
    assert [each["id"] for each in ada.get(PROBLEMS).json()["items"]] == [problem["id"]]
