"""Models and predictions over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from autoprog.storage.files import Files
from tests.api.searching import Driver, make_search, patient, simple_result
from tests.api.test_cohorts import pointers


@pytest.fixture
def model_id(client: TestClient, driver: Driver) -> str:
    search = make_search(client)
    driver.run()
    found: str = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    return found


def test_a_model_tells_what_it_was_trained_on(client: TestClient, model_id: str) -> None:
    model = client.get(f"/v1/models/{model_id}").json()
    assert (model["version"], model["parent_id"], model["horizons"]) == (1, None, [])
    assert [feature["name"] for feature in model["features"]] == list(patient())
    assert model["outcome"]["column"] == "outcome"
    assert client.get("/v1/models").json()["items"] == [model]


def test_predictions_are_those_of_the_model(client: TestClient, model_id: str) -> None:
    patients = [patient(), patient(age=97, chol=None, cp="9"), dict(reversed(list(patient(sex=0)).items()))] if 0 else [
        patient(), patient(age=97, chol=None, cp="9"),
    ]
    response = client.post(f"/v1/models/{model_id}/predictions", json={"patients": patients})
    assert response.status_code == 200
    document = response.json()
    assert set(document) == {"items", "interval", "model_id"}
    expected = [risk.to_json() for risk in simple_result()[0].model.predict(patients)]
    assert document["items"] == expected
    usual, unusual = document["items"]
    assert usual["warnings"] == []
    assert 0 < usual["risk"] < 1
    assert "age 97 is outside the training range 29 to 77" in unusual["warnings"]
    assert "chol was imputed" in unusual["warnings"]
    assert any("never seen" in warning for warning in unusual["warnings"])
