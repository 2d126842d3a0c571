"""Comparisons of models over HTTP, and their page."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import MakeClient
from tests.api.searching import SPEC, Driver, make_search, pointers
from tests.api.test_validations import cohort_of, model_id

__all__ = ["model_id"]


def test_two_models_are_compared_in_other_patients(client: TestClient, model_id: str) -> None:
    cohort_id = cohort_of(client)
    version = client.post(f"/v1/models/{model_id}/recalibrations", json={"cohort_id": cohort_id, "method": "intercept"})
    other = version.json()["id"]
    asked = {"other_model_id": other, "cohort_id": cohort_id}
    found = client.post(f"/v1/models/{model_id}/comparisons", json=asked)
    assert found.status_code == 200, found.text
    (at,) = found.json()["horizons"]
    # The risk of a patient with a missing value is a mean over draws, so that an intercept may part two who are close.
    assert at["difference"]["auc_roc"]["estimate"] == pytest.approx(0, abs=0.001)
    assert at["difference"]["brier"]["estimate"] != 0
    mirrored = {"other_model_id": model_id, "cohort_id": cohort_id}
    (back,) = client.post(f"/v1/models/{other}/comparisons", json=mirrored).json()["horizons"]
    assert back["difference"]["brier"]["estimate"] == -at["difference"]["brier"]["estimate"]
    page = client.get(f"/models/{model_id}")
    assert "Compare it with another model" in page.text
    shown = client.get(f"/models/{model_id}/comparison", params={"other": other, "cohort": cohort_id})
    assert shown.status_code == 200, shown.text
    assert "Two models on the same patients" in shown.text
    assert "Read this first" in shown.text  # the version was fitted to these patients


def test_what_is_not_there_and_what_does_not_fit(client: TestClient, model_id: str) -> None:
    cohort_id = cohort_of(client, {**SPEC, "features": {}}, age=None)
    asked = {"other_model_id": "none", "cohort_id": cohort_id}
    assert client.post(f"/v1/models/{model_id}/comparisons", json=asked).status_code == 404
    asked["other_model_id"] = model_id
    refused = client.post(f"/v1/models/{model_id}/comparisons", json=asked)
    assert refused.status_code == 422
    assert set(pointers(refused)) == {"/cohort_id"}


def test_models_of_another_owner_are_not_there(client_of: MakeClient, driver: Driver) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    models = []
    for client in (ada, bob):
        search = make_search(client)
        driver.run()
        models.append(client.get(f"/v1/searches/{search['id']}").json()["model_id"])
    asked = {"other_model_id": models[1], "cohort_id": cohort_of(ada)}
    assert ada.post(f"/v1/models/{models[0]}/comparisons", json=asked).status_code == 404
