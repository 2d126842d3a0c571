"""A model among other patients over HTTP: measured there, and brought to them."""

from __future__ import annotations

import csv
import gzip
import io
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest
from fastapi.testclient import TestClient

from autoprog.storage.repositories import ModelRepository, ValidationRepository
from tests.api.searching import FILE, SPEC, Driver, make_search, multipart, patient, pointers, simple_result


@pytest.fixture
def model_id(client: TestClient, driver: Driver) -> str:
    search = make_search(client)
    driver.run()
    found: str = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    return found


def cohort_of(client: TestClient, spec: object = SPEC, **columns: str | None) -> str:
    """Every other patient of the bundled cohort; a column may be constant or left out."""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(FILE).decode())))[::2]
    for name, value in columns.items():
        for row in rows:
            row.pop(name) if value is None else row.update({name: value})
    target = io.StringIO()
    writer = csv.DictWriter(target, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    response = client.post("/v1/cohorts", files=multipart(spec, target.getvalue().encode()))
    assert response.status_code == 201, response.text
    found: str = response.json()["id"]
    return found


def test_a_validation_is_measured_kept_listed_and_deleted(client: TestClient, model_id: str) -> None:
    cohort_id = cohort_of(client)
    asked = {"cohort_id": cohort_id, "thresholds": [0.1, 0.3], "subgroups": ["sex"]}
    response = client.post(f"/v1/models/{model_id}/validations", json=asked, headers={"Idempotency-Key": "k"})
    assert response.status_code == 201, response.text
    found = response.json()
    url = f"/v1/models/{model_id}/validations"
    assert response.headers["Location"] == f"{url}/{found['id']}"
    assert (found["n_patients"], found["cohort_id"], found["model_id"]) == (152, cohort_id, model_id)
    assert found["performance"]["thresholds"] == [0.1, 0.3]
    assert {group["feature"] for group in found["subgroups"]} == {"sex"}
    assert [shift["feature"] for shift in found["features"]] == list(patient())
    again = client.post(url, json=asked, headers={"Idempotency-Key": "k"})
    assert again.json() == found
    assert client.get(url).json()["items"] == [found]
    assert client.get(response.headers["Location"]).json() == found
    client.delete(f"/v1/cohorts/{cohort_id}")
    assert client.get(response.headers["Location"]).json() == {**found, "cohort_id": None}
    assert client.delete(response.headers["Location"]).status_code == 204
    assert client.get(response.headers["Location"]).status_code == 404
    assert client.get(url).json()["items"] == []


@pytest.mark.parametrize(("of", "table"), [("validations", ValidationRepository), ("recalibrations", ModelRepository)])
def test_a_model_is_not_deleted_while_what_refers_to_it_is_stored(
    client: TestClient, model_id: str, monkeypatch: pytest.MonkeyPatch, of: str, table: Any
) -> None:
    """The deletion is sent when the model has been found, and what refers to it is not yet stored."""
    name = "add" if table is ValidationRepository else "add_version"
    add, deletion = getattr(table, name), list[Future[int]]()

    def add_late(*given: Any, **more: Any) -> Any:
        deletion.append(pool.submit(lambda: client.delete(f"/v1/models/{model_id}").status_code))
        wait(deletion, timeout=1.0)
        return add(*given, **more)

    monkeypatch.setattr(table, name, add_late)
    cohort_id = cohort_of(client)
    with ThreadPoolExecutor(1) as pool:
        asked = {"cohort_id": cohort_id} | ({"method": "intercept"} if of == "recalibrations" else {})
        answer = client.post(f"/v1/models/{model_id}/{of}", json=asked)
        assert (answer.status_code, deletion[0].result(30)) == (201, 204), answer.text


def test_a_recalibrated_model_is_a_version_that_predicts(client: TestClient, model_id: str) -> None:
    cohort_id = cohort_of(client)
    asked = {"cohort_id": cohort_id, "method": "intercept"}
    response = client.post(f"/v1/models/{model_id}/recalibrations", json=asked)
    assert response.status_code == 201, response.text
    version = response.json()
    assert (version["version"], version["parent_id"], version["cohort_id"]) == (2, model_id, cohort_id)
    assert response.headers["Location"] == f"/v1/models/{version['id']}"
    assert [m["id"] for m in client.get("/v1/models").json()["items"]] == [model_id, version["id"]]
    before, after = (
        client.post(f"/v1/models/{each}/predictions", json={"patients": [patient()]}).json()["items"][0]["risk"]
        for each in (model_id, version["id"])
    )
    assert before == pytest.approx(simple_result()[0].model.predict([patient()])[0].risk)
    assert after != pytest.approx(before, abs=1e-6)
    measured = client.post(f"/v1/models/{version['id']}/validations", json={"cohort_id": cohort_id}).json()
    assert measured["expected_events"] == pytest.approx(measured["n_events"], rel=1e-4)
    # The search still shows the model that it made.
    assert client.get(f"/v1/searches/{version['search_id']}").json()["model_id"] == model_id


def test_every_difference_of_a_cohort_is_named_in_one_answer(client: TestClient, model_id: str) -> None:
    outcome_only = {"name": "other", "outcome": SPEC["outcome"]}
    cohort_id = cohort_of(client, outcome_only, age=None, chol=None)
    asked = {"cohort_id": cohort_id, "subgroups": ["site"]}
    response = client.post(f"/v1/models/{model_id}/validations", json=asked)
    assert response.status_code == 422
    assert pointers(response) == ["/cohort_id", "/cohort_id", "/subgroups/0"]
    details = " ".join(fault["detail"] for fault in response.json()["errors"])
    assert "'age'" in details
    assert "'chol'" in details
    assert "'site'" in details


@pytest.mark.parametrize("what", ["validations", "recalibrations"])
def test_unknown_models_and_cohorts_are_told_apart(client: TestClient, model_id: str, what: str) -> None:
    cohort_id = cohort_of(client)
    assert client.post(f"/v1/models/nobody/{what}", json={"cohort_id": cohort_id}).status_code == 404
    response = client.post(f"/v1/models/{model_id}/{what}", json={"cohort_id": "0" * 32})
    assert response.status_code == 404
    assert response.json()["detail"] == "there is no cohort with this id"
    assert client.get("/v1/models/nobody/validations").status_code == 404


def test_a_validation_with_the_training_cohort_says_so_also_of_a_later_version(
    client: TestClient, model_id: str
) -> None:
    trained_on = client.get(f"/v1/models/{model_id}").json()["cohort_id"]
    half = cohort_of(client)
    body = {"cohort_id": half, "method": "intercept"}
    version = client.post(f"/v1/models/{model_id}/recalibrations", json=body).json()["id"]
    for model, cohort, share in ((model_id, trained_on, 1), (version, trained_on, 1), (model_id, half, 1)):
        found = client.post(f"/v1/models/{model}/validations", json={"cohort_id": cohort}).json()
        assert (found["is_training_cohort"], found["training_share"]) == (True, share)
        assert "rows that the model was fitted on" in found["warnings"][0]
    other = cohort_of(client, trestbps="121")
    found = client.post(f"/v1/models/{model_id}/validations", json={"cohort_id": other}).json()
    assert found["is_training_cohort"] is False
    assert found["training_share"] < 0.1


def test_a_version_knows_its_training_cohort_when_the_earlier_one_is_deleted(client: TestClient, model_id: str) -> None:
    trained_on = client.get(f"/v1/models/{model_id}").json()["cohort_id"]
    asked = {"cohort_id": cohort_of(client, trestbps="121"), "method": "intercept"}
    version = client.post(f"/v1/models/{model_id}/recalibrations", json=asked).json()["id"]
    assert client.delete(f"/v1/models/{model_id}").status_code == 204
    found = client.post(f"/v1/models/{version}/validations", json={"cohort_id": trained_on}).json()
    assert (found["is_training_cohort"], found["training_share"]) == (True, 1)
