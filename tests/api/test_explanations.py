"""Explanations of ended searches over REST."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from autoprog.evaluation import Plan, Status
from autoprog.explanation import Member, explain
from autoprog.jobs.runner import JobRunner
from autoprog.storage.database import Database
from tests.api.conftest import MakeClient
from tests.api.diagnosing import made
from tests.api.searching import SIMPLE, Driver, make_search
from tests.api.test_test_frontiers import finished, runner
from tests.cohorts import cleveland_cohort

__all__ = ["runner"]


def address(search: dict[str, Any]) -> str:
    return f"/v1/searches/{search['id']}/explanation"


def test_an_explanation_is_asked_for_once_and_is_that_of_the_ensemble(
    client: TestClient, driver: Driver, runner: JobRunner
) -> None:
    search = finished(client, driver)
    assert client.get(address(search)).status_code == 404
    asked = made(client.post(address(search)), 202)
    assert (asked["status"], asked["result"]) == ("queued", None)
    assert made(client.post(address(search)), 202)["job_id"] == asked["job_id"]
    assert runner.run_one()
    assert not runner.run_one()
    found = made(client.get(address(search)), 200)
    assert (found["status"], found["error"]) == ("succeeded", None)
    result = found["result"]
    plan = Plan("auc_roc", 3, 1, 0, thresholds=(0.05, 0.2))
    own = explain(cleveland_cohort(), plan, [Member(SIMPLE, 1.0)], "risk").to_json()
    assert [each["feature"] for each in result["importance"]] == [each["feature"] for each in own["importance"]]
    losses = [[at["measures"]["auc_roc"]["estimate"] for at in each["horizons"]] for each in result["importance"]]
    theirs = [[at["measures"]["auc_roc"]["estimate"] for at in each["horizons"]] for each in own["importance"]]
    np.testing.assert_allclose(losses, theirs)
    assert made(client.post(address(search)), 202)["result"] == result
    report = client.get(f"/v1/searches/{search['id']}/report").text
    assert "Importance of the inputs" in report
    assert "nobody has asked for it" not in report


def test_a_search_without_an_ensemble_is_refused(client: TestClient, driver: Driver) -> None:
    search = make_search(client, folds=3, repeats=1)
    early = client.post(address(search))
    assert (early.status_code, early.json()["type"]) == (409, "/problems/conflict")
    assert client.post("/v1/searches/none/explanation").status_code == 404


def test_a_failed_explanation_can_be_asked_for_again(
    client: TestClient, driver: Driver, runner: JobRunner, database: Database
) -> None:
    search = finished(client, driver)
    first = made(client.post(address(search)), 202)
    with database.session() as session:
        session.connection().exec_driver_sql("UPDATE job SET status = 'failed'")
    again = made(client.post(address(search)), 202)
    assert again["job_id"] != first["job_id"]
    assert runner.run_one()
    assert made(client.get(address(search)), 200)["status"] == "succeeded"


def test_a_deleted_search_takes_its_explanation_with_it(client: TestClient, driver: Driver, runner: JobRunner) -> None:
    search = finished(client, driver)
    made(client.post(address(search)), 202)
    assert client.delete(f"/v1/searches/{search['id']}").status_code == 204
    assert made(client.get("/v1/jobs"), 200)["items"] == []
    assert not runner.run_one()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_belongs_to_another_owner_is_not_there(client_of: MakeClient, driver: Driver, method: str) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    search = finished(ada, driver)
    made(ada.post(address(search)), 202)
    assert bob.request(method, address(search)).status_code == 404


def test_crashed_evaluations_are_no_members(client: TestClient, driver: Driver, runner: JobRunner) -> None:
    search = make_search(client, folds=3, repeats=1)
    driver.run(Status.SUCCEEDED, Status.CRASHED, Status.SUCCEEDED)
    made(client.post(address(search)), 202)
    assert runner.run_one()
    assert made(client.get(address(search)), 200)["result"]["folds"] == 3
