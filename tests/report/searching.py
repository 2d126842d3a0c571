"""Real short searches, and the documents that they leave: what the report is written from."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from api.app import create_app
from api.searches.service import load_result
from autoprog.app.service import Service
from autoprog.cohort import cleveland
from autoprog.settings import Settings
from autoprog.storage.repositories import SearchRepository
from tests.api.conftest import LOCAL
from tests.api.searching import SPEC, multipart
from tests.cohorts import event_file, event_spec

KINDS: dict[str, tuple[dict[str, Any], bytes]] = {
    "binary": (SPEC, cleveland()[0]),
    "event_times": (event_spec("whas500"), event_file("whas500")),
    "competing": (event_spec("bmt137"), event_file("bmt137")),
    "visits": (event_spec("pbcseq"), event_file("pbcseq")),
}
"""Spec and file of a cohort of each kind of outcome."""


def search(kind: str, folder: Path, *, seconds: float = 10.0, validate: bool = False) -> dict[str, Any]:
    """Search for some seconds; with `validate`, also validate the model in the same file, as if of other patients."""
    spec, content = KINDS[kind]
    service = Service(Settings(data_dir=folder, workers=2))
    try:
        service.database.migrate()
        app = create_app(service.settings, service.database, service.files, local_owner=True)
        client = TestClient(app, LOCAL)
        cohort = _answer(client.post("/v1/cohorts", files=multipart(spec, content)))
        asked = {"cohort_id": cohort["id"], "budget": {"time_s": seconds}, "seed": 7}
        found = _answer(client.post("/v1/searches", json=asked))
        with service.running():
            found = _ended(client, found["id"])
        url = f"/v1/searches/{found['id']}"
        documents = {
            "cohort": cohort,
            "search": found,
            **_stored(service, app.state.context.local_owner_id, found["id"]),
            "evaluations": _answer(client.get(f"{url}/evaluations", params={"sort": "score", "limit": 20}))["items"],
        }
        if validate:
            other = _answer(client.post("/v1/cohorts", files=multipart({**spec, "name": "another place"}, content)))
            asked = {"cohort_id": other["id"]}
            measured = _answer(client.post(f"/v1/models/{found['model_id']}/validations", json=asked))
            measured |= {"is_training_cohort": False, "training_share": 0.0, "warnings": []}
            documents |= {"validation": measured, "validation_cohort": other}
        return documents
    finally:
        service.close()


def _stored(service: Service, owner_id: str, search_id: str) -> dict[str, Any]:
    """The result as it is stored, which holds the coefficients of the recalibration too."""
    with service.database.session(read_only=True) as session:
        row = SearchRepository(session).get(owner_id, search_id)
        return {"ensemble": load_result(row, "ensemble"), "rules": load_result(row, "rules")}


def _ended(client: TestClient, search_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        found = _answer(client.get(f"/v1/searches/{search_id}"))
        if found["finished_at"] is not None:
            assert found["model_id"] is not None, found
            return found
        time.sleep(0.2)
    raise AssertionError(f"the search did not end: {found}")


def _answer(response: Any) -> dict[str, Any]:
    assert response.is_success, response.text
    document: dict[str, Any] = response.json()
    return document
