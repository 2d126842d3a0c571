"""What 0.1 wrote (`data/version_0_1`: a database, its files and what its model said) is read by this version."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files

DATA = Path(__file__).parents[1] / "data"
COHORTS = {"hepatitis": DATA / "hepatitis.csv.gz", "veteran": DATA / "reference" / "veteran.csv.gz"}


@pytest.fixture(params=sorted(COHORTS))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, TestClient]]:
    """A server of this version on the earlier one's data, brought to this version's tables."""
    name: str = request.param
    with tarfile.open(DATA / "version_0_1" / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    database = Database(f"sqlite:///{tmp_path / 'autoprog.db'}")
    assert not database.is_migrated()
    database.migrate()
    app = create_app(Settings(), database, Files(str(tmp_path / "files")), local_owner=True)
    yield name, TestClient(app, base_url="http://127.0.0.1:8000")
    database.close()


def _patients(name: str) -> list[dict[str, object]]:
    frame = pd.read_csv(COHORTS[name], dtype=str)
    features = frame.drop(columns=["outcome", "time", "event"], errors="ignore")
    return [{column: _value(cell) for column, cell in row.items()} for _, row in features.iterrows()]


def _value(cell: object) -> object:
    if not isinstance(cell, str):
        return None  # missing
    return json.loads(cell) if cell.replace(".", "").isdigit() else cell


def test_cohort_search_and_results_of_an_earlier_version_are_shown(server: tuple[str, TestClient]) -> None:
    name, client = server
    (cohort,) = client.get("/v1/cohorts").json()["items"]
    assert cohort["name"] == name
    (search,) = client.get("/v1/searches").json()["items"]
    assert search["status"] == "succeeded"
    here = f"/v1/searches/{search['id']}"
    for part in ("", "/ensemble", "/rules", "/evaluations", "/decomposition"):
        answer = client.get(here + part)
        assert answer.status_code == 200, (part, answer.text)
    assert len(client.get(f"{here}/evaluations").json()["items"]) == 6
    assert client.get(f"{here}/report").text.startswith("<!doctype html>")


def test_a_model_of_an_earlier_version_says_what_it_said(server: tuple[str, TestClient]) -> None:
    name, client = server
    expected = pd.read_csv(io.BytesIO((DATA / "version_0_1" / f"{name}_risks.csv.gz").read_bytes()), compression="gzip")
    (model,) = client.get("/v1/models").json()["items"]
    answer = client.post(f"/v1/models/{model['id']}/predictions", json={"patients": _patients(name)})
    assert answer.status_code == 200, answer.text
    told = answer.json()["items"]
    risks = [h["risk"] for p in told for h in p["horizons"]] if name == "veteran" else [p["risk"] for p in told]
    np.testing.assert_allclose(risks, expected["risk"], atol=1e-9)


def test_a_search_of_an_earlier_version_can_be_continued(server: tuple[str, TestClient]) -> None:
    _, client = server
    (search,) = client.get("/v1/searches").json()["items"]
    answer = client.post(f"/v1/searches/{search['id']}/continuations", json={"time_s": 10})
    assert answer.status_code == 202, answer.text
