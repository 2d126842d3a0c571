"""Pages of models: the list, one model, the calculator, a validation, deleting."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from autoprog.storage.database import Database
from autoprog.storage.tables import ModelRow
from tests.api.searching import Driver, make_search, patient
from tests.pages.test_frame import BROWSER

NAMES = list(patient())


@pytest.fixture
def model_id(client: TestClient, driver: Driver) -> str:
    search = make_search(client)
    driver.run()
    found: str = client.get(f"/v1/searches/{search['id']}").json()["model_id"]
    return found


def form(**values: object) -> dict[str, str]:
    """What a browser sends: every field, empty where nothing was entered."""
    return {f"x-{i}": str(values.get(name, "")) for i, name in enumerate(NAMES)}


def calculate(client: TestClient, model_id: str, **values: object) -> tuple[int, str]:
    page = client.post(f"/models/{model_id}/calculator", data=form(**values), headers={"HX-Request": "true"})
    return page.status_code, page.text


def test_models_are_listed_found_by_name_and_deleted_after_a_question(client: TestClient, model_id: str) -> None:
    name = client.get("/v1/cohorts").json()["items"][0]["name"]
    assert f"/models/{model_id}" in client.get("/models", headers=BROWSER).text
    assert f"/models/{model_id}" in client.get(f"/models?q={name[1:4]}", headers=BROWSER).text
    assert f"/models/{model_id}" not in client.get("/models?q=nothing", headers=BROWSER).text
    assert "This cannot be undone" in client.get(f"/models/{model_id}/delete", headers=BROWSER).text
    assert client.get(f"/v1/models/{model_id}").status_code == 200
    assert client.post(f"/models/{model_id}/delete", follow_redirects=False).status_code == 303
    assert client.get(f"/v1/models/{model_id}").status_code == 404


def test_a_model_shows_its_score_beside_the_simple_models(client: TestClient, model_id: str) -> None:
    text = client.get(f"/models/{model_id}", headers=BROWSER).text
    search_id = client.get(f"/v1/models/{model_id}").json()["search_id"]
    ensemble = client.get(f"/v1/searches/{search_id}/ensemble").json()
    assert f"{ensemble['score']['estimate']:.3f}" in text
    assert f"{ensemble['baseline']['score']['estimate']:.3f}" in text


def test_a_model_says_how_many_of_its_patients_were_erased(
    client: TestClient, model_id: str, database: Database
) -> None:
    assert "Erased since" not in client.get(f"/models/{model_id}", headers=BROWSER).text
    with database.session() as session:
        session.execute(update(ModelRow).values(patients_erased=2))
    assert "2 patients whom it was fitted on" in client.get(f"/models/{model_id}", headers=BROWSER).text


def test_the_calculator_says_what_the_model_predicts(client: TestClient, model_id: str) -> None:
    known = {name: value for name, value in patient().items() if value is not None}
    body = {"patients": [patient()], "explain": True}
    expected = client.post(f"/v1/models/{model_id}/predictions", json=body).json()["items"][0]
    code, text = calculate(client, model_id, **known)
    assert code == 200
    assert f"{100 * expected['risk']:.1f} %" in text
    assert f"stratum: {expected['stratum']}" in text
    assert f"{round(100 * expected['risk'])} of 100 patients like this" in text
    assert text.count('class="has"') == round(100 * expected["risk"])
    largest = expected["contributions"][0]
    assert f"{100 * largest['risk']:+.1f}" in text.replace("−", "-")


def test_nothing_known_is_a_patient_too(client: TestClient, model_id: str) -> None:
    page = client.get(f"/models/{model_id}/calculator", headers=BROWSER)
    assert page.status_code == 200
    assert f"{len(NAMES)} findings are unknown" in page.text
    assert "What counts most here" not in page.text


def test_unusual_values_are_named_and_words_in_a_number_are_faults(client: TestClient, model_id: str) -> None:
    code, text = calculate(client, model_id, age=97)
    assert code == 200
    assert "age 97 is outside the training range" in text
    code, text = calculate(client, model_id, age="old")
    assert code == 422
    assert "age: give a number" in text
    assert "big-number" not in text
    page = client.post(f"/models/{model_id}/calculator", data=form(age="old"), headers=BROWSER)
    assert page.status_code == 422
    assert 'value="old"' in page.text, "what was entered stays"
    assert calculate(client, model_id, age="1e999")[0] == 422
    assert calculate(client, model_id, age="<script>")[1].count("<script>") == 0


def test_a_decimal_comma_is_a_point(client: TestClient, model_id: str) -> None:
    assert calculate(client, model_id, oldpeak="1,5")[1] == calculate(client, model_id, oldpeak="1.5")[1].replace(
        "1.5", "1,5"
    )


def test_a_retired_model_gives_no_risk(client: TestClient, model_id: str) -> None:
    client.post(f"/v1/models/{model_id}/status-changes", json={"status": "retired"})
    page = client.get(f"/models/{model_id}/calculator", headers=BROWSER)
    assert page.status_code == 409
    assert "retired" in page.text


def test_a_validation_warns_of_the_training_patients(client: TestClient, model_id: str) -> None:
    cohort_id = client.get(f"/v1/models/{model_id}").json()["cohort_id"]
    page = client.post(f"/models/{model_id}/validate", data={"cohort": cohort_id}, headers=BROWSER)
    assert page.status_code == 200
    assert "/validations/" in str(page.url)
    assert "Read this first" in page.text
    assert "fitted on" in page.text
    none = client.post(f"/models/{model_id}/validate", data={}, headers=BROWSER)
    assert none.status_code in {415, 422}


@pytest.mark.parametrize("path", ["/models/{}", "/models/{}/calculator", "/models/{}/delete"])
def test_there_is_no_page_of_another_model(client: TestClient, model_id: str, path: str) -> None:
    assert client.get(path.format(model_id), headers=BROWSER).status_code == 200
    assert client.get(path.format("0" * 32), headers=BROWSER).status_code == 404
