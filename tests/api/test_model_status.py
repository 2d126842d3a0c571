"""Drafts, approved and retired models: who may change them, and which predict."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import MakeClient
from tests.api.searching import Driver, make_search, patient, pointers

CHANGES = "/v1/models/{}/status-changes"


@pytest.fixture
def everything(client_of: MakeClient) -> TestClient:
    return client_of("ada", "read", "write", "predict", "approve")


def found_model(client: TestClient, driver: Driver) -> str:
    search = make_search(client)
    driver.run()
    model_id: str = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    return model_id


@pytest.fixture
def model_id(everything: TestClient, driver: Driver) -> str:
    return found_model(everything, driver)


def change(client: TestClient, model_id: str, status: str, **more: str) -> int:
    return client.post(CHANGES.format(model_id), json={"status": status, **more}).status_code


def predict(client: TestClient, model_id: str) -> int:
    return client.post(f"/v1/models/{model_id}/predictions", json={"patients": [patient()]}).status_code


def status(client: TestClient, model_id: str) -> str:
    found: str = client.get(f"/v1/models/{model_id}").json()["status"]
    return found


def second_version(client: TestClient, model_id: str) -> str:
    cohort_id = client.get(f"/v1/models/{model_id}").json()["cohort_id"]
    made = client.post(f"/v1/models/{model_id}/recalibrations", json={"cohort_id": cohort_id})
    assert made.status_code == 201
    found: str = made.json()["id"]
    return found


def test_a_model_begins_as_a_draft_that_predicts_unless_its_owner_wants_approved_ones(
    everything: TestClient, client_of: MakeClient, model_id: str
) -> None:
    bedside = client_of("ada", "predict")
    assert status(everything, model_id) == "draft"
    assert everything.get("/v1/prediction-policy").json() == {"approved_only": False}
    assert predict(bedside, model_id) == 200
    assert everything.put("/v1/prediction-policy", json={"approved_only": True}).json() == {"approved_only": True}
    assert everything.get("/v1/prediction-policy").json() == {"approved_only": True}
    assert predict(bedside, model_id) == 409
    assert predict(everything, model_id) == 200, "who approves must be able to try it first"
    assert change(everything, model_id, "approved") == 201
    assert predict(bedside, model_id) == 200


def test_the_policy_is_one_owners(everything: TestClient, client_of: MakeClient, driver: Driver) -> None:
    everything.put("/v1/prediction-policy", json={"approved_only": True})
    other = client_of("bert", "read", "write", "predict")
    assert other.get("/v1/prediction-policy").json() == {"approved_only": False}
    assert predict(other, found_model(other, driver)) == 200


def test_a_retired_model_predicts_for_nobody_until_it_is_approved_again(everything: TestClient, model_id: str) -> None:
    assert change(everything, model_id, "retired", note="the laboratory changed its assay") == 201
    refused = everything.post(f"/v1/models/{model_id}/predictions", json={"patients": [patient()]})
    assert refused.status_code == 409
    assert "retired" in refused.json()["detail"]
    search_id = everything.get(f"/v1/models/{model_id}").json()["search_id"]
    by_search = everything.post(f"/v1/searches/{search_id}/predictions", json={"patients": [patient()]})
    assert by_search.status_code == 409
    assert change(everything, model_id, "approved") == 201
    assert predict(everything, model_id) == 200


def test_a_new_version_replaces_the_former_and_is_rolled_back_in_one_step(
    everything: TestClient, model_id: str
) -> None:
    change(everything, model_id, "approved")
    newer = second_version(everything, model_id)
    assert status(everything, newer) == "draft", "an update must be approved itself"
    assert change(everything, newer, "approved", replaces=model_id) == 201
    assert (status(everything, newer), status(everything, model_id)) == ("approved", "retired")
    assert change(everything, model_id, "approved", replaces=newer, note="risks were too high") == 201
    assert (status(everything, newer), status(everything, model_id)) == ("retired", "approved")


def test_changes_tell_who_when_and_why(everything: TestClient, model_id: str) -> None:
    made = everything.post(CHANGES.format(model_id), json={"status": "approved", "note": "reviewed on 3 May"})
    assert made.headers["Location"] == f"{CHANGES.format(model_id)}/{made.json()['id']}"
    assert everything.get(made.headers["Location"]).json() == made.json()
    change(everything, model_id, "retired")
    first, second = everything.get(CHANGES.format(model_id)).json()["items"]
    assert first == made.json()
    assert (first["status"], first["note"], second["status"], second["note"]) == (
        "approved", "reviewed on 3 May", "retired", None
    )  # fmt: skip
    assert first["key_id"] == second["key_id"] is not None
    assert first["created_at"] <= second["created_at"]


def test_only_a_key_that_may_approve_changes_anything(client_of: MakeClient, model_id: str) -> None:
    writer = client_of("ada", "read", "write", "predict")
    assert change(writer, model_id, "approved") == 403
    assert writer.put("/v1/prediction-policy", json={"approved_only": False}).status_code == 403
    stranger = client_of("bert", "read", "write", "predict", "approve")
    assert change(stranger, model_id, "approved") == 404
    assert stranger.get(CHANGES.format(model_id)).status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/status"),
        ({"status": "good"}, "/status"),
        ({"status": "approved", "replaces": "SELF"}, "/replaces"),
        ({"status": "retired", "replaces": "0" * 32}, "/replaces"),
        ({"status": "approved", "by": "me"}, "/by"),
        ({"status": "approved", "note": "a\0b"}, "/note"),
    ],
    ids=["nothing", "unknown", "itself", "retires another", "unknown key", "no text"],
)
def test_bad_changes_are_faults(everything: TestClient, model_id: str, body: dict[str, str], pointer: str) -> None:
    body = {key: model_id if value == "SELF" else value for key, value in body.items()}
    response = everything.post(CHANGES.format(model_id), json=body)
    assert response.status_code == 422
    assert pointers(response) == [pointer]
    assert status(everything, model_id) == "draft"


def test_nothing_changes_if_the_replaced_model_is_unknown_or_the_status_is_there_already(
    everything: TestClient, model_id: str
) -> None:
    assert change(everything, model_id, "approved", replaces="0" * 32) == 404
    assert status(everything, model_id) == "draft"
    assert change(everything, model_id, "draft") == 409
    assert everything.get(CHANGES.format(model_id)).json()["items"] == []


def test_two_who_exchange_the_same_models_at_once_leave_one_of_them_approved(
    everything: TestClient, model_id: str
) -> None:
    newer = second_version(everything, model_id)
    with ThreadPoolExecutor(8) as pool:
        pairs = [(model_id, newer), (newer, model_id)] * 8
        codes = list(pool.map(lambda pair: change(everything, pair[0], "approved", replaces=pair[1]), pairs))
    assert set(codes) <= {201, 409}
    assert {status(everything, newer), status(everything, model_id)} == {"approved", "retired"}


def test_the_same_file_and_patients_give_the_same_bits(
    everything: TestClient, database: Database, files: Files, model_id: str
) -> None:
    body = {"patients": [patient(), patient(chol=None)]}
    first = everything.post(f"/v1/models/{model_id}/predictions", json=body).json()
    assert first["model_sha256"] == everything.get(f"/v1/models/{model_id}").json()["sha256"]
    from autoprog.model import PrognosticModel  # noqa: PLC0415

    again = PrognosticModel.from_bytes(files.get("models", first["model_sha256"])).predict(body["patients"])
    assert [risk.to_json()["risk"] for risk in again] == [item["risk"] for item in first["items"]]
