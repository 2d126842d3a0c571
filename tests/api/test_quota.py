"""The quota of storage of an owner."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

import api.cohorts.service
import api.diagnosis.models.service
import api.quota
from api.app import create_app
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.repositories import KeyRepository
from autoprog.storage.stored_files import count_bytes
from autoprog.storage.tables import StoredFileRow
from tests.api.diagnosing import toy
from tests.api.searching import SPEC, Driver, make_search, multipart
from tests.api.selecting import PROBLEMS, make_problem
from tests.api.test_test_selection_replays import BODY as REPLAY

NOISE_SPEC = {**SPEC, "features": {}, "outcome": {"column": "outcome", "positive": 1}}


def noise(seed: int) -> bytes:
    """A cohort of 0.4 MB that does not compress."""
    cells = np.random.default_rng(seed).normal(size=(25_000, 2))
    rows = (f"{age!r},{chol!r},{i % 2}" for i, (age, chol) in enumerate(cells.tolist()))
    return "\n".join(["age,chol,outcome", *rows]).encode()


def client_of(app_database: Database, files: Files, owner: str) -> TestClient:
    settings = Settings(storage_mb=1)
    app = create_app(settings, app_database, files, local_owner=False)
    with app_database.session() as session:
        _, key = KeyRepository(session).create(owner, ("read", "write", "predict"))
    return TestClient(app, base_url="https://example.org", headers={"Authorization": f"Bearer {key}"})


def stored(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_an_owner_above_the_quota_must_make_room(database: Database, files: Files) -> None:
    ada, bob = (client_of(database, files, owner) for owner in ("ada", "bob"))
    answers = [ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(seed))) for seed in range(3)]
    codes = [answer.status_code for answer in answers]
    assert codes[0] == 201, answers[0].text
    assert codes[-1] == 429
    refused = answers[-1]
    assert refused.json()["type"] == "/problems/too-many-requests"
    assert "1 MB are allowed" in refused.json()["detail"]
    assert int(refused.headers["Retry-After"]) >= 3600
    assert len(ada.get("/v1/cohorts").json()["items"]) == codes.count(201)
    assert ada.get("/v1/models").status_code == 200
    assert bob.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(0))).status_code == 201, "the same file, twice"
    for cohort in ada.get("/v1/cohorts").json()["items"]:
        assert ada.delete(f"/v1/cohorts/{cohort['id']}").status_code == 204
    assert ada.post("/v1/diagnosis/models", json=toy()).status_code == 201
    assert ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(3))).status_code == 201
    with database.session() as session:
        owner = KeyRepository(session).ensure_owner("ada")
        assert 100_000 < count_bytes(session, owner.id) < 1_000_000


def test_nothing_of_a_refused_upload_is_stored(database: Database, files: Files, tmp_path: Path) -> None:
    ada = client_of(database, files, "ada")
    assert ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(0))).status_code == 201
    with database.session() as session:
        session.execute(update(StoredFileRow).values(n_bytes=1_000_000))
    before = stored(tmp_path / "files")
    for answer in (
        ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(1))),
        ada.post("/v1/diagnosis/models", json=toy()),
    ):
        assert answer.status_code == 429, answer.text
    assert stored(tmp_path / "files") == before
    assert ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(0))).status_code == 201, "stored already"


def test_replays_and_updated_models_count_before_they_are_stored(
    database: Database, files: Files, driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.test_selection.replays.service.MAX_SECONDS_AT_ONCE", 0.0)
    ada = client_of(database, files, "ada")
    search = make_search(ada)
    driver.run()
    model_id = ada.get(f"/v1/searches/{search['id']}").json()["model_id"]
    problem = make_problem(ada)
    sent = {
        f"{PROBLEMS}/{problem['id']}/replays": REPLAY,
        f"/v1/models/{model_id}/recalibrations": {"cohort_id": search["cohort_id"], "method": "intercept"},
    }
    with database.session() as session:
        session.execute(update(StoredFileRow).values(n_bytes=1_000_000))
    before = stored(tmp_path / "files")
    assert {url: ada.post(url, json=body).status_code for url, body in sent.items()} == dict.fromkeys(sent, 429)
    assert stored(tmp_path / "files") == before


@pytest.mark.parametrize("service", [api.cohorts.service, api.diagnosis.models.service])
def test_an_upload_that_others_overtook_is_counted_with_them(
    database: Database, files: Files, monkeypatch: pytest.MonkeyPatch, service: Any
) -> None:
    ada = client_of(database, files, "ada")
    assert ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(0))).status_code == 201
    store_files = service.store_files

    def overtaken(*given: Any) -> Any:
        with database.session() as other:
            other.execute(update(StoredFileRow).values(n_bytes=1_000_000))
        return store_files(*given)

    monkeypatch.setattr(service, "store_files", overtaken)
    if service is api.cohorts.service:
        answer = ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(1)))
    else:
        answer = ada.post("/v1/diagnosis/models", json=toy())
    assert answer.status_code == 429, answer.text
    assert len(ada.get("/v1/cohorts").json()["items"]) == 1
    assert ada.get("/v1/diagnosis/models").json()["items"] == []


def test_uploads_at_the_same_time_do_not_exceed_the_quota_together(
    database: Database, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is sent when the first has been counted and is not yet committed."""
    ada = client_of(database, files, "ada")
    check_stored = api.cohorts.service.check_stored
    second: list[Future[int]] = []

    def upload(seed: int) -> int:
        return ada.post("/v1/cohorts", files=multipart(NOISE_SPEC, noise(seed))).status_code

    def counted(*given: Any) -> None:
        check_stored(*given)
        if not second:
            second.append(pool.submit(upload, 1))
            wait(second, timeout=2.0)

    monkeypatch.setattr(api.cohorts.service, "check_stored", counted)
    monkeypatch.setattr(api.quota, "_MEGABYTE", 600_000)  # one fits
    with ThreadPoolExecutor(1) as pool:
        first = upload(0)
        assert (first, second[0].result(30)) == (201, 429)
    assert len(ada.get("/v1/cohorts").json()["items"]) == 1
