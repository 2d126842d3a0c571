"""The next test of a patient over HTTP, and in the risk calculator."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import MakeClient
from tests.api.diagnosing import find_faults, made
from tests.api.searching import Driver, make_search, patient
from tests.api.test_test_catalogues import make_catalogue

KNOWN = {"age": 61, "sex": patient()["sex"]}


@pytest.fixture
def model_id(client: TestClient, driver: Driver) -> str:
    search = make_search(client)
    driver.run()
    found: str = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    return found


def rank(client: TestClient, model_id: str, **body: Any) -> dict[str, Any]:
    return made(client.post(f"/v1/models/{model_id}/next-tests", json={"patient": KNOWN, **body}), 200)


def enter(client: TestClient, model_id: str, *, is_part: bool = True, **fields: Any) -> tuple[int, str]:
    names = list(patient())
    form = {f"x-{i}": str(KNOWN.get(name, "")) for i, name in enumerate(names)}
    headers = {"HX-Request": "true"} if is_part else {}
    place = "next-tests" if is_part else "calculator"
    page = client.post(f"/models/{model_id}/{place}", data={**form, **fields}, headers=headers)
    return page.status_code, page.text


def test_unknown_findings_are_ranked_by_the_change_of_the_risk(client: TestClient, model_id: str) -> None:
    found = rank(client, model_id)
    assert {each["test"] for each in found["items"]} == set(patient()) - set(KNOWN)
    changes = [each["expected_change"] for each in found["items"]]
    assert changes == sorted(changes, reverse=True)
    assert changes[0] > 0.02
    whole = dict.fromkeys(patient()) | KNOWN
    predicted = client.post(f"/v1/models/{model_id}/predictions", json={"patients": [whole]}).json()
    assert found["risk"] == pytest.approx(predicted["items"][0]["risk"])
    assert rank(client, model_id, patient={name: value or 0 for name, value in patient().items()})["items"] == []


def test_tests_of_a_catalogue_are_ranked_by_price(client: TestClient, model_id: str) -> None:
    catalogue = make_catalogue(client)
    found = rank(client, model_id, catalogue_id=catalogue["id"], prices={"minute": 0.5, "harm": 20_000})
    by_name = {each["test"]: each for each in found["items"]}
    assert set(by_name) == {"history", "blood panel", "exercise ECG"}
    assert (by_name["history"]["reveals"], by_name["history"]["price"]) == (["cp"], 5), "age and sex are known"
    assert by_name["exercise ECG"]["price"] == pytest.approx(87.3 + 15 + 2)
    ratios = [each["change_per_price"] for each in found["items"]]
    assert ratios == sorted(ratios, reverse=True)
    free = rank(client, model_id, catalogue_id=catalogue["id"])
    assert free["items"][0]["test"] == "history"
    assert free["items"][0]["change_per_price"] == "inf"


def test_every_fault_is_named(client: TestClient, model_id: str) -> None:
    address = f"/v1/models/{model_id}/next-tests"
    body = {"patient": {"age": "old", "weight": 1}, "catalogue_id": make_catalogue(client)["id"]}
    faults = find_faults(client.post(address, json={**body, "prices": {"minute": -1}}))
    assert set(faults) == {"/prices/minute", "/patient/age", "/patient/weight"}
    assert set(find_faults(client.post(address, json={"patient": 3, "prices": {}}))) == {"/patient", "/prices"}
    strange = make_catalogue(client, [{"name": "MRI", "cost": 1}])["id"]
    assert set(find_faults(client.post(address, json={"patient": {}, "catalogue_id": strange}))) == {"/catalogue_id"}
    assert client.post(address, json={"patient": {}, "catalogue_id": "0" * 32}).status_code == 404


def test_model_of_another_owner_or_a_retired_one_ranks_nothing(client_of: MakeClient, driver: Driver) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    search = make_search(ada)
    driver.run()
    model_id = ada.get(f"/v1/searches/{search['id']}").json()["model_id"]
    address, his = f"/v1/models/{model_id}/next-tests", make_catalogue(bob)["id"]
    assert bob.post(address, json={"patient": {}}).status_code == 404
    assert ada.post(address, json={"patient": {}, "catalogue_id": his}).status_code == 404
    approver = client_of("ada", "approve", "write", "read")
    assert approver.post(f"/v1/models/{model_id}/status-changes", json={"status": "retired"}).status_code == 201
    assert ada.post(address, json={"patient": {}}).status_code == 409


def test_calculator_ranks_tests_of_the_catalogue(client: TestClient, model_id: str) -> None:
    catalogue = make_catalogue(client)
    answer = client.post(f"/models/{model_id}/calculator", data={"tests": "findings"}, headers={"HX-Request": "true"})
    assert f'hx-post="/models/{model_id}/next-tests" hx-trigger="load"' in answer.text
    assert "hx-trigger" not in client.post(f"/models/{model_id}/calculator", headers={"HX-Request": "true"}).text
    code, text = enter(client, model_id, tests="findings")
    assert code == 200
    assert "<html" not in text
    first = rank(client, model_id)["items"][0]
    assert f"{first['test']}: it would change the risk most." in text
    assert f"{100 * first['expected_change']:.1f}" in text
    fields = {"tests": catalogue["id"], "minute": "0,5", "harm": "20000"}
    code, text = enter(client, model_id, **fields)
    prices = {"minute": 0.5, "harm": 20_000}
    best = rank(client, model_id, catalogue_id=catalogue["id"], prices=prices)["items"][0]["test"]
    assert f"{best}: it would change the risk most for its price." in text
    assert "104.3" in text
    code, text = enter(client, model_id, is_part=False, **fields)
    assert code == 200
    assert "<html" in text
    assert f"{best}: it would change the risk most for its price." in text
    assert 'value="0,5"' in text, "what was entered stays"


def test_calculator_names_what_is_wrong_with_the_choice_of_tests(client: TestClient, model_id: str) -> None:
    catalogue = make_catalogue(client)["id"]
    for is_part in (True, False):
        code, text = enter(client, model_id, is_part=is_part, tests=catalogue, minute="dear", harm="-1")
        assert code == 422
        assert "A minute is worth: must be a number" in text
        assert "A unit of harm is worth: must be finite" in text
    assert enter(client, model_id, tests="0" * 32)[0] == 404
    code, text = enter(client, model_id, **{"x-0": "old"})
    assert code == 422
    assert "age: give a number" in text
