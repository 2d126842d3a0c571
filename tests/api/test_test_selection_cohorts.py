"""Problems whose classifiers are trained on a cohort: rounds take measurements."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from autoprog.csmd import DiagnosticTest, make_arms, train_arms
from autoprog.jobs.runner import JobRunner
from autoprog.jobs.work import WORK
from autoprog.storage.database import Database
from autoprog.storage.files import Files, StoredFile
from autoprog.storage.job_store import DatabaseJobStore
from tests.api.diagnosing import find_faults, made
from tests.api.searching import make_cohort, patient
from tests.api.selecting import CLEVELAND_TESTS, PROBLEMS, give, open_round
from tests.cohorts import cleveland_cohort
from tests.search.inline import InlineDispatcher

FOLDS = 3


@pytest.fixture
def runner(database: Database, files: Files) -> JobRunner:
    return JobRunner(DatabaseJobStore(database, files), InlineDispatcher(), WORK, runner_id="test", lease_s=60.0)


def ask(client: TestClient, **changes: Any) -> dict[str, Any]:
    cohort = make_cohort(client)
    body = {
        "name": "chest pain",
        "structure": "cascade",
        "algorithm": "ucb1",
        "cohort_id": cohort["id"],
        "tests": CLEVELAND_TESTS,
        "trade_off": 0.001,
        "folds": FOLDS,
        **changes,
    }
    response = client.post(PROBLEMS, json=body)
    problem = made(response, 202)
    assert response.headers["location"] == f"{PROBLEMS}/{problem['id']}"
    assert response.headers["retry-after"]
    return problem


def test_classifiers_are_trained_by_a_job(client: TestClient, runner: JobRunner) -> None:
    problem = ask(client)
    url = f"{PROBLEMS}/{problem['id']}"
    assert (problem["status"], problem["takes"], problem["training"]) == ("training", "measurements", None)
    assert client.post(f"{url}/rounds").status_code == 409
    assert runner.run_one()
    problem = made(client.get(url), 200)
    assert (problem["status"], problem["error"]) == ("ready", None)
    arms = make_arms(
        "cascade", [DiagnosticTest(t["name"], t["cost"], tuple(t["features"])) for t in CLEVELAND_TESTS], 0.001
    )
    trained = train_arms(cleveland_cohort(), arms, folds=FOLDS, seed=0)
    errors = (trained.predictions != trained.truth[:, None]).mean(axis=0)
    assert list(problem["training"]["errors"].values()) == pytest.approx(errors.tolist())
    assert problem["training"]["n_patients"] == 303

    # A round: one test after another, until the arm is complete.
    opened = open_round(client, problem)
    assert (opened["arm"], opened["next_test"]["name"], opened["cost_spent"]) == ("4", "history", 0)
    known = patient()
    spent = 0.0
    for k, test in enumerate(CLEVELAND_TESTS):
        values = {name: known[name] for name in test["features"]}
        answer = made(give(client, opened, measurements=values), 200)
        spent += test["cost"]
        assert answer["cost_spent"] == pytest.approx(spent)
        assert answer["tests_done"] == [t["name"] for t in CLEVELAND_TESTS[: k + 1]]
        following = None if k == 3 else CLEVELAND_TESTS[k + 1]["name"]
        assert (answer["next_test"] or {"name": None})["name"] == following
        assert (answer["status"], answer["prediction"] is None) == (("closed", False) if k == 3 else ("open", True))
    reading = trained.classifiers.read(3, {name: known[name] for test in CLEVELAND_TESTS for name in test["features"]})
    assert answer["risks"] == pytest.approx(dict(reading.risks))
    assert answer["prediction"] == reading.predictions["4"]
    assert made(give(client, opened, measurements={"restecg": known["restecg"]}), 200) == answer
    assert give(client, opened, measurements={"age": 20}).status_code == 409
    shown = made(client.get(url), 200)
    assert (shown["n_feedback"], shown["arms"][3]["feedback"]) == (1, 1)
    assert shown["cost"]["mean_per_patient"] == pytest.approx(spent)
    assert [pair["observations"] for pair in shown["disagreements"]] == [1] * 6

    # What comes at once, in another order, with a value that could not be had.
    opened = open_round(client, problem)
    sent = {name: known[name] for test in reversed(CLEVELAND_TESTS) for name in test["features"]} | {"chol": None}
    answer = made(give(client, opened, measurements=sent), 200)
    assert (answer["status"], answer["warnings"]) == ("closed", ["chol was imputed"])

    # The out-of-sample predictions are the table of a replay.
    replayed = made(client.post(f"{url}/replays", json={"rounds": 50, "order": "resampled"}), 200)
    assert list(replayed["errors"].values()) == pytest.approx(errors.tolist())

    # What cannot be measured.
    opened = open_round(client, problem)
    found = find_faults(give(client, opened, measurements={"age": "old", "weight": 3, "sex": [1]}))
    assert set(found) == {"/measurements/sex"}
    assert set(find_faults(give(client, opened, measurements={"age": "old", "weight": 3}))) == {
        "/measurements/age", "/measurements/weight",
    }  # fmt: skip
    assert set(find_faults(give(client, opened, predictions={"1": 0}))) == {"/predictions", "/measurements"}
    assert client.delete(url).status_code == 204


def test_a_training_that_fails_says_why(client: TestClient, files: Files, runner: JobRunner) -> None:
    problem = ask(client, configuration={"prediction": {"algorithm": "gaussian_nb"}}, tests=CLEVELAND_TESTS[:2])
    assert problem["configuration"]["prediction"]["algorithm"] == "gaussian_nb"
    assert made(client.get("/v1/jobs"), 200)["items"][0]["kind"] == "test_selection_training"
    cohort_id = problem["cohort_id"]
    files.delete(StoredFile("cohorts", made(client.get(f"/v1/cohorts/{cohort_id}"), 200)["sha256"]))
    assert runner.run_one()
    problem = made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)
    assert (problem["status"], problem["cohort_id"]) == ("failed", cohort_id)
    assert "missing" in problem["error"]["detail"]
    assert client.post(f"{PROBLEMS}/{problem['id']}/rounds").status_code == 409
    assert client.delete(f"/v1/cohorts/{cohort_id}").status_code == 204


def test_a_cohort_stays_until_what_is_kept_of_it_is_trained(client: TestClient, runner: JobRunner) -> None:
    problem = ask(client, configuration={"prediction": {"algorithm": "gaussian_nb"}}, tests=CLEVELAND_TESTS[:2])
    url = f"/v1/cohorts/{problem['cohort_id']}"
    refused = client.delete(url)
    assert (refused.status_code, problem["id"] in refused.json()["detail"]) == (409, True)
    assert runner.run_one()
    assert client.delete(url).status_code == 204
    problem = made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)
    assert (problem["status"], problem["cohort_id"]) == ("ready", None)


def test_a_problem_goes_with_its_cohort_where_that_is_asked_for(client: TestClient, runner: JobRunner) -> None:
    problem = ask(client, tests=CLEVELAND_TESTS[:1])
    assert client.delete(f"/v1/cohorts/{problem['cohort_id']}", params={"models": "delete"}).status_code == 204
    assert client.get(f"{PROBLEMS}/{problem['id']}").status_code == 404
    assert not runner.run_one()
