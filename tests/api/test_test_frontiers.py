"""Frontiers of a finished search, and the missing tests of a patient."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fastapi.testclient import TestClient

from autoprog.csmd.problem import restricted
from autoprog.evaluation import Plan, Status, cross_validate
from autoprog.jobs.runner import JobRunner
from autoprog.jobs.work import WORK
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.job_store import DatabaseJobStore
from tests.api.conftest import MakeClient
from tests.api.diagnosing import find_faults, made
from tests.api.searching import SIMPLE, Driver, make_search, patient
from tests.api.selecting import CLEVELAND_TESTS
from tests.cohorts import cleveland_cohort
from tests.search.inline import InlineDispatcher


@pytest.fixture
def runner(database: Database, files: Files) -> JobRunner:
    return JobRunner(DatabaseJobStore(database, files), InlineDispatcher(), WORK, runner_id="test", lease_s=60.0)


def finished(client: TestClient, driver: Driver) -> dict[str, Any]:
    search = make_search(client, folds=3, repeats=1)
    driver.run(Status.SUCCEEDED, Status.CRASHED)
    return search


def test_a_frontier_is_what_separate_fits_on_these_tests_score(
    client: TestClient, driver: Driver, runner: JobRunner
) -> None:
    search = finished(client, driver)
    url = f"/v1/searches/{search['id']}/test-frontiers"
    response = client.post(url, json={"tests": CLEVELAND_TESTS[:3]})
    frontier = made(response, 202)
    assert response.headers["location"] == f"{url}/{frontier['id']}"
    assert (frontier["status"], frontier["result"], frontier["configuration"]) == ("queued", None, SIMPLE.to_json())
    assert runner.run_one()
    frontier = made(client.get(f"{url}/{frontier['id']}"), 200)
    assert (frontier["status"], frontier["error"]) == ("succeeded", None)
    points = frontier["result"]["points"]
    assert len(points) == 7
    costs = {test["name"]: test["cost"] for test in CLEVELAND_TESTS}
    features = {test["name"]: test["features"] for test in CLEVELAND_TESTS}
    plan = Plan("auc_roc", 3, 1, 0, thresholds=(0.05, 0.2))
    for point in points:
        assert point["cost"] == pytest.approx(sum(costs[name] for name in point["tests"]))
        seen = restricted(cleveland_cohort(), frozenset(f for name in point["tests"] for f in features[name]))
        assert point["score"] == cross_validate(SIMPLE, seen, plan).score
    (listed,) = made(client.get(url), 200)["items"]
    assert (listed["id"], listed["result"]) == (frontier["id"], None)

    # For one patient: the free test comes first, tests that were done do not come.
    known = patient(thalach=None, exang=None, chol=None)
    ranked = made(client.post(f"{url}/{frontier['id']}/missing-tests", json={"patient": known}), 200)
    assert [each["test"] for each in ranked["items"]] == ["blood"]
    risk = made(client.post(f"/v1/searches/{search['id']}/predictions", json={"patients": [known]}), 200)
    assert ranked["risk"] == pytest.approx(risk["items"][0]["risk"])
    (blood,) = ranked["items"]
    assert blood["change_per_cost"] == pytest.approx(blood["expected_change"] / costs["blood"])
    assert math.isfinite(blood["lower"])
    assert ranked["warnings"] == []
    unseen = patient(thalach=900, exang=None, chol=None, thal="9")
    warned = made(client.post(f"{url}/{frontier['id']}/missing-tests", json={"patient": unseen}), 200)
    assert [warning.partition(" ")[0] for warning in warned["warnings"]] == ["thalach", "thal"]
    bad = client.post(f"{url}/{frontier['id']}/missing-tests", json={"patient": {"age": "old", "weight": 1}})
    assert set(find_faults(bad)) == {"/patient/age", "/patient/weight"}
    assert client.delete(f"{url}/{frontier['id']}").status_code == 204
    assert client.get(f"{url}/{frontier['id']}").status_code == 404


def test_what_cannot_be_traced(client: TestClient, driver: Driver, runner: JobRunner) -> None:
    search = make_search(client, folds=3, repeats=1)
    url = f"/v1/searches/{search['id']}/test-frontiers"
    early = client.post(url, json={"tests": CLEVELAND_TESTS})
    assert (early.status_code, early.json()["type"]) == (409, "/problems/conflict")
    driver.run(Status.SUCCEEDED)
    tests = [{"name": "a", "cost": -1, "features": ["age"]}, {"name": "a", "cost": "x", "features": ["age", "height"]}]
    found = find_faults(client.post(url, json={"tests": tests}))
    assert set(found) == {
        "/tests/0/cost", "/tests/1/name", "/tests/1/cost", "/tests/1/features/0", "/tests/1/features/1",
    }  # fmt: skip
    assert set(find_faults(client.post(url, json={"tests": []}))) == {"/tests"}
    made(client.post(url, json={"tests": CLEVELAND_TESTS[:1]}), 202)
    assert client.delete(f"/v1/searches/{search['id']}").status_code == 204
    assert made(client.get("/v1/jobs"), 200)["items"] == []
    assert not runner.run_one()


def test_what_belongs_to_another_owner_is_not_there(client_of: MakeClient, driver: Driver) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    url = f"/v1/searches/{finished(ada, driver)['id']}/test-frontiers"
    frontier = made(ada.post(url, json={"tests": CLEVELAND_TESTS[:1]}), 202)
    own = f"{url}/{frontier['id']}"
    for method, path, body in (
        ("GET", url, None), ("POST", url, {"tests": CLEVELAND_TESTS[:1]}), ("GET", own, None), ("DELETE", own, None),
        ("POST", f"{own}/missing-tests", {"patient": {}}),
    ):  # fmt: skip
        assert bob.request(method, path, json=body).status_code == 404, path


def test_a_model_that_may_not_predict_tells_no_risk(client_of: MakeClient, driver: Driver) -> None:
    ada, bedside = client_of("ada", "read", "write", "predict", "approve"), client_of("ada", "predict")
    search = finished(ada, driver)
    url = f"/v1/searches/{search['id']}/test-frontiers"
    missing = f"{url}/{made(ada.post(url, json={'tests': CLEVELAND_TESTS[:1]}), 202)['id']}/missing-tests"
    body = {"patient": patient(thalach=None)}
    model_id = made(ada.get(f"/v1/searches/{search['id']}"), 200)["model_id"]
    made(bedside.post(missing, json=body), 200)
    made(ada.put("/v1/prediction-policy", json={"approved_only": True}), 200)
    assert bedside.post(missing, json=body).status_code == 409
    made(ada.post(missing, json=body), 200)  # who approves must be able to try it first
    made(ada.post(f"/v1/models/{model_id}/status-changes", json={"status": "retired"}), 201)
    assert ada.post(missing, json=body).status_code == 409
