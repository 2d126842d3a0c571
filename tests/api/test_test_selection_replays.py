from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from api.test_selection.replays.service import MAX_SECONDS_AT_ONCE, CheckedReplay
from autoprog.csmd import (
    DiagnosticTest,
    PredictionTable,
    SelectionProblem,
    make_arms,
    make_policy,
    problem_from_json,
    problem_to_json,
    replay,
)
from autoprog.jobs.runner import JobRunner
from autoprog.jobs.work import WORK
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.storage.repositories import JobRepository
from autoprog.storage.test_selection_tables import SelectionProblemRow
from tests.api.diagnosing import find_faults, made
from tests.api.selecting import PROBLEMS, make_problem, patients
from tests.search.inline import InlineDispatcher

TABLE = patients(80, seed=3)
TRUTH = (TABLE[:, 2] ^ (np.arange(80) % 9 == 0)).tolist()
BODY: dict[str, Any] = {"predictions": TABLE.tolist(), "truth": TRUTH, "seed": 5}


@pytest.fixture
def runner(database: Database, files: Files) -> JobRunner:
    return JobRunner(DatabaseJobStore(database, files), InlineDispatcher(), WORK, runner_id="test", lease_s=60.0)


def test_a_replay_is_that_of_the_science_and_leaves_the_problem_alone(client: TestClient) -> None:
    problem = make_problem(client)
    url = f"{PROBLEMS}/{problem['id']}"
    core = problem_from_json(problem)
    done = made(client.post(f"{url}/replays", json=BODY), 200)
    assert done == replay(core, TABLE, np.array(TRUTH), rng=np.random.default_rng(5)).to_json(core.arms)
    assert len(done["arms"]) == 80
    assert made(client.post(f"{url}/replays", json={"predictions": TABLE.tolist()}), 200)["regret"] is None
    many = {**BODY, "rounds": 200, "repetitions": 4, "order": "resampled"}
    done = made(client.post(f"{url}/replays", json=many), 200)
    assert done["arms"] is None
    assert len(done["regret"]["round"]) == len(done["regret"]["lower"]) == 200
    assert made(client.get(url), 200) == problem
    assert made(client.get(f"{url}/replays"), 200)["items"] == []


def test_the_margin_of_the_last_arm_is_infinite(client: TestClient) -> None:
    problem = make_problem(client, trade_off=0)
    done = made(client.post(f"{PROBLEMS}/{problem['id']}/replays", json=BODY), 200)
    assert done["weak_dominance"] == {"holds": True, "xi": "inf", "optimal": "3"}


def test_the_expected_time_grows_with_the_table() -> None:
    tests = tuple(DiagnosticTest(str(k), 1.0) for k in range(10))
    problem = SelectionProblem(make_arms("subset", tests, 0.01), make_policy("ts"))
    row = SelectionProblemRow(document=problem_to_json(problem))
    few, many = (
        CheckedReplay(row, PredictionTable(np.zeros((n, 1023), np.int8), None), 1, 1, "as_given", 0)
        for n in (10, 10_000)
    )
    assert few.seconds < MAX_SECONDS_AT_ONCE < many.seconds


def test_a_long_one_takes_a_job(client: TestClient, runner: JobRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(client)
    url = f"{PROBLEMS}/{problem['id']}/replays"
    body = {**BODY, "rounds": 300, "repetitions": 2, "order": "resampled"}
    at_once = made(client.post(url, json=body), 200)
    monkeypatch.setattr("api.test_selection.replays.service.MAX_SECONDS_AT_ONCE", 0.01)
    response = client.post(url, json=body)
    queued = made(response, 202)
    assert response.headers["location"] == f"{url}/{queued['id']}"
    assert (queued["status"], queued["result"], queued["rounds"], queued["n_rows"]) == ("queued", None, 300, 80)
    assert runner.run_one()
    done = made(client.get(f"{url}/{queued['id']}"), 200)
    assert (done["status"], done["result"]) == ("succeeded", at_once)
    (listed,) = made(client.get(url), 200)["items"]
    assert (listed["id"], listed["result"]) == (queued["id"], None)
    assert client.delete(f"{url}/{queued['id']}").status_code == 204
    assert client.get(f"{url}/{queued['id']}").status_code == 404
    made(client.post(url, json=body), 202)
    assert client.delete(f"{PROBLEMS}/{problem['id']}").status_code == 204
    assert not runner.run_one()
    assert made(client.get("/v1/jobs"), 200)["items"] == []


def test_a_replay_that_is_deleted_between_two_queries_is_not_there(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{PROBLEMS}/{make_problem(client)['id']}/replays"
    monkeypatch.setattr("api.test_selection.replays.service.MAX_SECONDS_AT_ONCE", 0.0)
    kept, gone = (made(client.post(url, json=BODY), 202) for _ in range(2))
    with database.session() as session:  # what a reader sees who read the replay before it was deleted with its job
        JobRepository(session).delete_for(gone["id"])
    assert client.get(f"{url}/{gone['id']}").status_code == 404
    assert [each["id"] for each in made(client.get(url), 200)["items"]] == [kept["id"]]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"predictions": None}, {"/predictions"}),
        ({"predictions": [], "truth": []}, {"/predictions"}),
        ({"predictions": [[0, 1]], "truth": [1]}, {"/predictions"}),
        ({"predictions": [[0, 1, 2]], "truth": [1]}, {"/predictions/0"}),
        ({"predictions": [[0, 1, None]], "truth": [1]}, {"/predictions"}),
        ({"predictions": [[0, 1, 1], [0]], "truth": [1, 1]}, {"/predictions"}),
        ({"predictions": "x", "truth": [1], "order": "shuffled", "rounds": 5, "zz": 1},
         {"/predictions", "/order", "/zz"}),
        ({"predictions": [[0, 1, 2]], "truth": 1, "seed": -1}, {"/predictions/0", "/truth", "/seed"}),
        ({"truth": [1]}, {"/truth"}),
        ({"truth": 1}, {"/truth"}),
        ({"rounds": 81}, {"/rounds"}),
        ({"rounds": 0, "repetitions": 0, "order": "shuffled", "seed": -1},
         {"/rounds", "/repetitions", "/order", "/seed"}),
    ],
)  # fmt: skip
def test_what_cannot_be_replayed(client: TestClient, changes: dict[str, Any], expected: set[str]) -> None:
    problem = make_problem(client)
    response = client.post(f"{PROBLEMS}/{problem['id']}/replays", json={**BODY, **changes})
    assert set(find_faults(response)) == expected


def test_more_than_can_ever_be_run(client: TestClient) -> None:
    problem = make_problem(client)
    body = {**BODY, "rounds": 1_000_000, "repetitions": 1001, "order": "resampled"}
    assert client.post(f"{PROBLEMS}/{problem['id']}/replays", json=body).status_code == 413
