"""Cohorts with times and with visits over HTTP."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from fastapi.testclient import TestClient

from autoprog.cohort import from_parquet
from autoprog.storage.files import Files
from tests.api.searching import multipart, pointers
from tests.cohorts import event_file, event_spec


def made(client: TestClient, name: str, **outcome: Any) -> dict[str, Any]:
    spec = event_spec(name)
    response = client.post("/v1/cohorts", files=multipart(spec, event_file(name)))
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    assert client.get(response.headers["location"]).json() == document
    return document


def test_a_survival_cohort_is_made_and_shown_back(client: TestClient, files: Files) -> None:
    document = made(client, "mgus2")
    assert document["mode"] == "survival"
    assert document["outcome"] == {
        "time": "time", "event": "event", "event_of_interest": "1", "competing": ["2"], "censored": "0",
        "horizons": [60.0, 120.0, 240.0], "label": None, "time_unit": None,
    }  # fmt: skip
    assert (document["n_patients"], document["n_rows"], document["n_dropped"]) == (1384, 1384, 0)
    assert document["event_rate"] == pytest.approx(115 / 1384)
    followed = document["follow_up"]
    assert (followed["events"], followed["n_censored"], followed["median"]) == ({"1": 115, "2": 860}, 409, 184)
    assert document["sample_size"]["verdict"] == "sufficient_for_regression"
    assert document["sample_size"]["riley_minimum"] * 10 == document["sample_size"]["flexible_minimum"]
    assert document["sample_size"]["validation_minimum"] > 100
    stored = from_parquet(files.get("cohorts", document["sha256"]))
    assert (stored.mode, stored.horizons) == ("survival", (60.0, 120.0, 240.0))


def test_a_cohort_of_visits_is_made_and_shown_back(client: TestClient) -> None:
    document = made(client, "pbcseq")
    assert document["mode"] == "temporal"
    assert document["outcome"] == {
        "patient": "patient_id", "visit_time": "visit_time", "horizon": 365.0, "time": "time", "event": "event",
        "event_of_interest": "1", "competing": ["2"], "censored": "0", "label": None, "time_unit": None,
    }  # fmt: skip
    assert (document["n_patients"], document["n_rows"]) == (312, 1945)
    assert document["follow_up"]["events"] == {"1": 140, "2": 29}
    assert any("have a single visit" in warning for warning in document["warnings"])


def test_labels_of_visits_are_shown_back(client: TestClient) -> None:
    rows = "\n".join(f"p{i // 3},{i % 3},{i % 7},{int(i % 5 == 0)}" for i in range(90))
    spec = {
        "name": "labels",
        "mode": "temporal",
        "outcome": {"patient": "id", "visit_time": "month", "horizon": 1, "column": "septic", "positive": 1},
    }
    response = client.post("/v1/cohorts", files=multipart(spec, f"id,month,lactate,septic\n{rows}\n".encode()))
    assert response.status_code == 201, response.text
    document = response.json()
    assert document["outcome"] == {
        "patient": "id", "visit_time": "month", "horizon": 1.0, "column": "septic", "positive": "1", "negative": "0",
        "label": None, "time_unit": None,
    }  # fmt: skip
    assert document["follow_up"] is None


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"horizons": [400, 200]}, "/spec/outcome/horizons"),
        ({"horizons": [1e6]}, "/spec/outcome/horizons/0"),
        ({"horizon": 365}, "/spec/outcome/horizon"),
        ({"competing": [3]}, "/spec/outcome/competing/0"),
        ({"competing": []}, "/spec/outcome/competing"),
        ({"event_of_interest": None}, "/spec/outcome/event_of_interest"),
        ({"time": "days"}, "/spec/outcome/time"),
        ({"event": "age"}, "/spec/outcome/event_of_interest"),
    ],
)
def test_a_bad_outcome_is_a_problem_that_names_the_place(
    client: TestClient, change: dict[str, Any], pointer: str
) -> None:
    spec = event_spec("mgus2")
    assert isinstance(spec["outcome"], dict)
    spec["outcome"] = {**spec["outcome"], **change}
    response = client.post("/v1/cohorts", files=multipart(spec, event_file("mgus2")))
    assert response.status_code == 422
    assert response.json()["type"] == "/problems/invalid-input"
    assert pointer in pointers(response)
    assert client.get("/v1/cohorts").json()["items"] == []


def test_a_bad_cell_of_a_time_is_a_problem_that_names_its_row(client: TestClient) -> None:
    lines = gzip.decompress(event_file("whas500")).decode().splitlines()
    place = lines[0].split(",").index("time")
    cells = lines[3].split(",")
    cells[place] = "-5"
    lines[3] = ",".join(cells)
    response = client.post("/v1/cohorts", files=multipart(event_spec("whas500"), "\n".join(lines).encode()))
    assert response.status_code == 422
    assert response.json()["errors"] == [{"pointer": "/file/columns/time", "detail": "1 time is negative: row 4"}]


def test_the_outcomes_of_all_modes_stand_in_the_openapi_document(client: TestClient) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    outcome = schemas["CohortSpec"]["properties"]["outcome"]
    offered = {option["$ref"].rsplit("/", 1)[1] for option in outcome["anyOf"]}
    assert offered == {"BinaryOutcomeSpec", "TimeToEventSpec", "VisitEventSpec", "VisitLabelSpec"}
    assert schemas["CohortSpec"]["properties"]["mode"]["enum"] == ["classification", "survival", "temporal"]
