from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from autoprog.app import live_problems
from autoprog.csmd import SelectionProblem, problem_from_json
from autoprog.storage.database import Database
from autoprog.storage.test_selection_tables import SelectionFeedbackRow, SelectionSnapshotRow
from tests.api.conftest import MakeClient
from tests.api.diagnosing import find_faults, made
from tests.api.selecting import PIMA, PROBLEMS, give, make_problem, open_round, outputs, patients, rounds_of


def science(problem: dict[str, Any]) -> SelectionProblem:
    return problem_from_json(problem)


@pytest.mark.parametrize("algorithm", ["ts", "kl_ucb", "ucb1"])
@pytest.mark.parametrize("structure", ["cascade", "subset"])
def test_rounds_are_those_of_the_science(client: TestClient, structure: str, algorithm: str) -> None:
    problem = make_problem(client, structure=structure, algorithm=algorithm)
    core = science(problem)
    counts = core.empty()
    table = patients(25, arms=len(core.arms))
    for t, row in enumerate(table, 1):
        opened = open_round(client, problem)
        arm = core.choose(counts, t, np.random.default_rng([PIMA["seed"], t]))
        assert (opened["number"], opened["arm"]) == (t, core.arms.arms[arm].id)
        assert opened["tests"] == problem["arms"][arm]["tests"]
        revealed = core.arms.revealed(arm)
        counts = core.update(counts, arm, row[revealed])
        sent = {core.arms.arms[i].id: int(row[i]) for i in revealed}
        answer = made(give(client, opened, predictions=sent), 200)
        assert (answer["prediction"], answer["arm"], answer["status"]) == (row[arm], opened["arm"], "closed")
        assert answer["cost_spent"] == opened["cost"]


def test_until_the_first_feedback_the_bounds_play_the_last_arm(client: TestClient) -> None:
    problem = make_problem(client, algorithm="ucb1")
    opened = [open_round(client, problem) for _ in range(4)]
    assert [each["arm"] for each in opened] == ["3"] * 4
    assert [each["number"] for each in opened] == [1, 2, 3, 4]
    for each in reversed(opened):  # late, and out of order
        made(give(client, each, predictions={"1": 0, "2": 0, "3": 0}), 200)
    shown = made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)
    assert [pair["observations"] for pair in shown["disagreements"]] == [4, 4, 4]


def test_feedback_that_comes_twice_is_counted_once(client: TestClient, database: Database) -> None:
    problem = make_problem(client)
    opened = open_round(client, problem)
    sent = outputs(opened, [1, 1, 1])
    first = made(give(client, opened, predictions=sent), 200)
    assert made(give(client, opened, predictions=sent), 200) == first
    other = outputs(opened, [0, 0, 0])
    refused = give(client, opened, predictions=other)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")
    assert made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)["n_feedback"] == 1
    with database.session(read_only=True) as session:
        assert session.scalar(select(func.count()).select_from(SelectionFeedbackRow)) == 1


def test_bad_feedback_is_told_in_one_answer_and_changes_nothing(client: TestClient) -> None:
    problem = make_problem(client, algorithm="ucb1")
    opened = open_round(client, problem)
    found = find_faults(give(client, opened, predictions={"1": 2, "4": 1, "\ud800": 0}))
    assert set(found) == {"/predictions/1", "/predictions/2", "/predictions/3", "/predictions/4", "/predictions/?"}
    assert set(find_faults(give(client, opened, predictions={"1": 1}))) == {"/predictions/2", "/predictions/3"}
    assert set(find_faults(give(client, opened, predictions=[0, 1, 1]))) == {"/predictions"}
    assert set(find_faults(give(client, opened))) == {"/predictions"}
    assert set(find_faults(give(client, opened, predictions={}, measurements={"age": 3}))) == {"/measurements"}
    shown = made(client.get(f"{rounds_of(problem)}/{opened['id']}"), 200)
    assert (shown["status"], shown["prediction"]) == ("open", None)


def test_arms_that_could_not_be_seen_are_no_feedback(client: TestClient) -> None:
    problem = make_problem(client, trade_off=10)  # nothing can be worth the second test
    for row in patients(3):
        opened = open_round(client, problem)
        if opened["arm"] == "1":
            break
        made(give(client, opened, predictions=outputs(opened, row)), 200)
    assert opened["arm"] == "1"
    assert set(find_faults(give(client, opened, predictions={"1": 1, "2": 0}))) == {"/predictions/2"}


@pytest.mark.parametrize("round_id", ["0" * 32, "x", "%00"])
def test_a_round_that_is_not_there(client: TestClient, round_id: str) -> None:
    problem = make_problem(client)
    response = client.post(f"{rounds_of(problem)}/{round_id}/feedback", json={"predictions": {}})
    assert response.status_code == 404
    assert client.post(f"{PROBLEMS}/{round_id}/rounds").status_code == 404


def test_a_round_of_another_problem_is_not_there(client: TestClient) -> None:
    opened = open_round(client, make_problem(client))
    other = make_problem(client)
    response = client.post(f"{rounds_of(other)}/{opened['id']}/feedback", json={"predictions": {"1": 1}})
    assert response.status_code == 404


def test_an_open_round_can_be_given_up_and_a_closed_one_cannot(client: TestClient) -> None:
    problem = make_problem(client)
    first, second = open_round(client, problem), open_round(client, problem)
    assert client.delete(f"{rounds_of(problem)}/{first['id']}").status_code == 204
    assert give(client, first, predictions=outputs(first, [1, 1, 1])).status_code == 404
    made(give(client, second, predictions=outputs(second, [1, 1, 1])), 200)
    assert client.delete(f"{rounds_of(problem)}/{second['id']}").status_code == 409
    assert open_round(client, problem)["number"] == 3
    listed = made(client.get(rounds_of(problem), params={"limit": 1}), 200)
    assert [each["number"] for each in listed["items"]] == [2]
    rest = made(client.get(rounds_of(problem), params={"cursor": listed["next_cursor"]}), 200)
    assert [each["number"] for each in rest["items"]] == [3]


def test_a_new_process_knows_all_from_snapshot_and_rows(
    client: TestClient, database: Database, client_of: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_problems, "SNAPSHOT_EVERY", 10)
    ada = client_of("ada")
    problem = make_problem(ada)
    for row in patients(34):
        opened = open_round(ada, problem)
        made(give(ada, opened, predictions=outputs(opened, row)), 200)
    with database.session(read_only=True) as session:
        snapshot = session.get_one(SelectionSnapshotRow, problem["id"])
    assert snapshot.sequence == 30
    known = made(ada.get(f"{PROBLEMS}/{problem['id']}"), 200)
    ada.app.state.context.live_problems._live.clear()  # type: ignore[attr-defined]
    assert made(ada.get(f"{PROBLEMS}/{problem['id']}"), 200) == known
    with database.session() as session:
        session.delete(session.get_one(SelectionSnapshotRow, problem["id"]))
    ada.app.state.context.live_problems._live.clear()  # type: ignore[attr-defined]
    assert made(ada.get(f"{PROBLEMS}/{problem['id']}"), 200) == known


def test_what_is_asked_again_with_its_key_is_opened_once(client: TestClient) -> None:
    problem = make_problem(client)
    again = [client.post(rounds_of(problem), headers={"Idempotency-Key": "k1"}) for _ in range(2)]
    assert made(again[0]) == made(again[1])
    assert made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)["n_rounds"] == 1
