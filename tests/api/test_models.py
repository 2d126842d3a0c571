"""Models and predictions over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.api.searching import Driver, make_search, patient, pointers, simple_result


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
    shuffled = dict(reversed(patient().items()))
    patients = [patient(), patient(age=97, chol=None, cp="9"), shuffled]
    response = client.post(f"/v1/models/{model_id}/predictions", json={"patients": patients})
    assert response.status_code == 200
    document = response.json()
    assert set(document) == {"items", "interval", "model_id", "model_sha256"}
    expected = [risk.to_json() for risk in simple_result()[0].model.predict(patients)]
    assert document["items"] == expected
    usual, unusual, same = document["items"]
    # BLAS sums a row of a matrix in an order that depends on the row's place.
    assert same == {**usual, "risk": pytest.approx(usual["risk"], rel=1e-12)}
    assert usual["warnings"] == []
    assert 0 < usual["risk"] < 1
    assert "age 97 is outside the training range 29 to 77" in unusual["warnings"]
    assert "chol was imputed" in unusual["warnings"]
    assert any("never seen" in warning for warning in unusual["warnings"])


def test_all_faults_of_all_patients_come_in_one_answer(client: TestClient, model_id: str) -> None:
    without_age = {name: value for name, value in patient().items() if name != "age"}
    patients = [without_age, patient(chol="high"), patient(weight=80), patient(thalach=True), patient(oldpeak=[1])]
    response = client.post(f"/v1/models/{model_id}/predictions", json={"patients": patients})
    assert response.status_code == 422
    places = ["0/age", "1/chol", "2/weight", "3/thalach", "4/oldpeak"]
    assert pointers(response) == [f"/patients/{place}" for place in places]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/patients"),
        ({"patients": []}, "/patients"),
        ({"patients": [1]}, "/patients/0"),
        ({"patients": [{}] * 10_001}, "/patients"),
        ({"patients": [{}], "horizon": 365}, "/horizon"),
        ([], ""),
    ],
    ids=["nothing", "nobody", "no object", "too many", "unknown key", "no document"],
)
def test_a_bad_request_for_predictions_is_a_fault(
    client: TestClient, model_id: str, body: object, pointer: str
) -> None:
    response = client.post(f"/v1/models/{model_id}/predictions", json=body)
    assert response.status_code == 422
    assert pointer in pointers(response)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"patients": [patient(age="x")], "horizon": 365}, {"/horizon", "/patients/0/age"}),
        ({"patients": [1, patient(age="x"), None]}, {"/patients/0", "/patients/1/age", "/patients/2"}),
        ({"patients": {}, "horizon": 365}, {"/horizon", "/patients"}),
    ],
)
def test_a_request_with_faults_does_not_hide_those_of_its_cells(
    client: TestClient, model_id: str, body: object, expected: set[str]
) -> None:
    assert set(pointers(client.post(f"/v1/models/{model_id}/predictions", json=body))) == expected


def test_a_fault_does_not_repeat_what_was_sent_of_a_patient(client: TestClient, model_id: str) -> None:
    response = client.post(f"/v1/models/{model_id}/predictions", json={"patients": [patient(age="secret")]})
    assert response.json()["errors"] == [
        {"pointer": "/patients/0/age", "detail": "expected a number or null, got a text that is no number"}
    ]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"null"])
def test_a_body_that_is_no_document_is_refused(client: TestClient, model_id: str, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    response = client.post(f"/v1/models/{model_id}/predictions", content=content, headers=headers)
    assert response.status_code in {400, 422}
    assert response.headers["content-type"] == "application/problem+json"


def test_a_number_that_overflows_is_a_fault(client: TestClient, model_id: str) -> None:
    content = json.dumps({"patients": [patient(age=0.5)]}).replace("0.5", "1e999")
    headers = {"Content-Type": "application/json"}
    response = client.post(f"/v1/models/{model_id}/predictions", content=content, headers=headers)
    assert response.status_code == 422
    assert pointers(response) == ["/patients/0/age"]


def test_faults_without_end_are_counted(client: TestClient, model_id: str) -> None:
    response = client.post(f"/v1/models/{model_id}/predictions", json={"patients": [1] * 10_000})
    assert response.status_code == 422
    assert "10,000 faults" in response.json()["detail"]
    assert len(response.content) < 50_000


def test_patients_come_as_json_only(client: TestClient, model_id: str) -> None:
    headers = {"Content-Type": "text/csv"}
    response = client.post(f"/v1/models/{model_id}/predictions", content=b"age\n1", headers=headers)
    assert response.status_code == 415


@pytest.mark.parametrize("content", [None, b"another model"], ids=["missing", "altered"])
def test_a_model_whose_file_is_not_what_was_stored_is_not_used(
    client: TestClient, model_id: str, tmp_path: Path, content: bytes | None
) -> None:
    (path,) = (path for path in (tmp_path / "files" / "models").rglob("*") if path.is_file())
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    response = client.post(f"/v1/models/{model_id}/predictions", json={"patients": [patient()]})
    assert response.status_code == 500
    assert response.json()["type"] == "/problems/artifact"
    assert str(tmp_path) not in response.text
    assert path.name not in response.text


def test_a_deleted_model_is_gone_with_its_file(client: TestClient, model_id: str, tmp_path: Path) -> None:
    assert client.delete(f"/v1/models/{model_id}").status_code == 204
    assert client.get(f"/v1/models/{model_id}").status_code == 404
    assert client.delete(f"/v1/models/{model_id}").status_code == 404
    body = {"patients": [patient()]}
    assert client.post(f"/v1/models/{model_id}/predictions", json=body).status_code == 404
    assert not [path for path in (tmp_path / "files" / "models").rglob("*") if path.is_file()]


def test_contributions_come_only_if_asked_for(client: TestClient, model_id: str) -> None:
    url = f"/v1/models/{model_id}/predictions"
    asked = {"patients": [patient(chol=None)], "explain": True}
    (explained,) = client.post(url, json=asked).json()["items"]
    (expected,) = simple_result()[0].model.predict([patient(chol=None)], explain=True)
    assert explained == expected.to_json()
    assert {each["feature"] for each in explained["contributions"]} == set(patient()) - {"chol"}
    (plain,) = client.post(url, json={"patients": [patient(chol=None)]}).json()["items"]
    assert plain == {**explained, "contributions": None}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"patients": [patient()], "explain": "maybe"}, ["/explain"]),
        ({"patients": [patient()] * 101, "explain": True}, ["/explain"]),
        ({"patients": [*[patient()] * 101, patient(age="x")], "explain": True}, ["/explain", "/patients/101/age"]),
    ],
)
def test_a_bad_request_for_contributions_is_a_fault(
    client: TestClient, model_id: str, body: object, expected: list[str]
) -> None:
    response = client.post(f"/v1/models/{model_id}/predictions", json=body)
    assert response.status_code == 422
    assert pointers(response) == expected
