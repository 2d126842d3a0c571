from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from autoprog.csmd import Counts, dominance_evidence, make_arms, problem_from_json, record_play
from tests.api.conftest import MakeClient
from tests.api.diagnosing import find_faults, made
from tests.api.searching import make_cohort
from tests.api.selecting import CLEVELAND_TESTS, PIMA, PROBLEMS, give, make_problem, open_round, outputs, patients, send
from tests.csmd.naive import NaiveUCB, cascade


def test_a_problem_is_made_shown_listed_and_deleted(client: TestClient) -> None:
    response = client.post(PROBLEMS, json=PIMA)
    problem = made(response)
    url = f"{PROBLEMS}/{problem['id']}"
    assert response.headers["location"] == url
    assert [(arm["id"], arm["tests"], arm["cost"]) for arm in problem["arms"]] == [
        ("1", ["history"], 1),
        ("2", ["history", "glucose"], 18.61),
        ("3", ["history", "glucose", "insulin"], 41.39),
    ]
    assert (problem["takes"], problem["status"], problem["job_id"], problem["n_pairs"]) == (
        "predictions",
        "ready",
        None,
        3,
    )
    assert made(client.get(url), 200) == problem
    (listed,) = made(client.get(PROBLEMS), 200)["items"]
    assert {name: problem[name] for name in listed} == listed
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404
    assert made(client.get(PROBLEMS), 200)["items"] == []


def test_subsets_stand_in_the_order_of_their_cost_and_are_warned_of(client: TestClient) -> None:
    problem = make_problem(client, structure="subset", algorithm="ucb1")
    costs = [arm["cost"] for arm in problem["arms"]]
    assert (len(costs), costs) == (7, sorted(costs))
    assert any("weak dominance is rarely true" in text for text in problem["warnings"])


def test_free_tests_are_all_done_and_it_is_unknown_whether_that_is_best(client: TestClient) -> None:
    problem = make_problem(client, structure="subset", trade_off=0)
    assert problem["arms"][0]["tests"] == ["history", "glucose", "insulin"]
    assert problem["weak_dominance"]["verdict"] == "unknown"
    assert "costs the same as arms 2, 3, 4, 5, 6, 7" in problem["weak_dominance"]["says"]
    assert any("6 subsets cost the same" in text for text in problem["warnings"])
    assert open_round(client, problem)["arm"] == "1"


@pytest.mark.parametrize(
    ("algorithm", "settings"), [("kl_ucb", {"a": 3.0}), ("kl_ucb", {}), ("ucb1", {"alpha": 1.5}), ("ucb1", {})]
)
def test_settings_of_a_policy_are_kept_and_used(client: TestClient, algorithm: str, settings: dict[str, Any]) -> None:
    """Rounds as the definition with these settings plays them."""
    problem = make_problem(client, algorithm=algorithm, **settings)
    shown = made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)
    defaults = {"kl_ucb": {"a": 0.0, "alpha": None}, "ucb1": {"a": None, "alpha": 0.51}}[algorithm]
    assert {name: shown[name] for name in ("a", "alpha")} == defaults | settings
    constant = shown["a"] if algorithm == "kl_ucb" else shown["alpha"]
    naive = NaiveUCB(cascade([test["cost"] for test in PIMA["tests"]], 0.01), algorithm, constant)
    for row in patients(40):
        opened = open_round(client, problem)
        assert int(opened["arm"]) - 1 == naive.play(row)
        made(give(client, opened, predictions=outputs(opened, row)), 200)


def test_a_trade_off_may_be_one_an_arm(client: TestClient) -> None:
    problem = make_problem(client, trade_off=[0.0, 0.02, 0.01])
    assert [arm["scaled_cost"] for arm in problem["arms"]] == pytest.approx([0.0, 0.3722, 0.4139])


BAD: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"tests": []}, {"/tests": "at least one test"}),
    ({"structure": "subset", "tests": [{"name": f"t{k}", "cost": 1} for k in range(11)]}, {"/tests": "2,047 subsets"}),
    ({"trade_off": -1}, {"/trade_off": "at least 0"}),
    ({"a": 1, "alpha": "wide"}, {"/a": "is a setting of kl_ucb, not of ts", "/alpha": "must be a number"}),
    ({"algorithm": "kl_ucb", "a": -0.5}, {"/a": "at least 0"}),
    ({"algorithm": "ucb1", "alpha": 0.5}, {"/alpha": "above 1/2"}),
    ({"algorithm": "ucb", "alpha": 1}, {"/algorithm": "one of ts, kl_ucb, ucb1"}),
    ({"trade_off": [1, 2]}, {"/trade_off": "there are 3 arms, not 2"}),
    ({"trade_off": "1"}, {"/trade_off": "must be a number"}),
    ({"seed": -1}, {"/seed": "at least 0"}),
    ({"seed": True}, {"/seed": "whole number"}),
    ({"folds": 5}, {"/folds": "cohort_id"}),
    (
        {
            "name": "",
            "structure": "tree",
            "algorithm": ["ts"],
            "tests": [
                {"name": "a", "cost": -1},
                {"name": "a", "cost": 1},
                {"name": "\ud800", "cost": None},
                {"name": "d", "cost": 1, "features": ["age"]},
            ],
        },
        {
            "/name": "name of 1 to",
            "/structure": "cascade or subset",
            "/algorithm": "one of ts, kl_ucb, ucb1",
            "/tests/0/cost": "at least 0",
            "/tests/1/name": "already",
            "/tests/2/name": "name of 1 to",
            "/tests/2/cost": "must be a number",
            "/tests/3/features": "cohort_id",
        },
    ),
]


@pytest.mark.parametrize(("changes", "expected"), BAD)
def test_one_answer_names_every_fault(client: TestClient, changes: dict[str, Any], expected: dict[str, str]) -> None:
    found = find_faults(send(client, PROBLEMS, {**PIMA, **changes}))
    assert set(found) == set(expected)
    for pointer, text in expected.items():
        assert text in found[pointer]


@pytest.mark.parametrize("cost", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_a_cost_that_is_not_finite(client: TestClient, cost: str) -> None:
    body = '{"name": "p", "structure": "cascade", "tests": [{"name": "a", "cost": COST}]}'.replace("COST", cost)
    response = client.post(PROBLEMS, content=body, headers={"Content-Type": "application/json"})
    assert set(find_faults(response)) == {"/tests/0/cost"}


def test_tests_of_a_cohort_are_checked_against_it(client: TestClient) -> None:
    cohort = make_cohort(client)
    tests = [{"name": "a", "cost": -1, "features": ["age", "agee"]}, {"name": "b", "cost": 1, "features": ["age"]},
             {"name": "c", "cost": 1}]  # fmt: skip
    bad = {
        "name": "p",
        "structure": "cascade",
        "cohort_id": cohort["id"],
        "tests": tests,
        "folds": 1,
        "threshold": 1,
        "configuration": {
            "prediction": {"algorithm": "random_forest", "parameters": {"n_trees": 3}},
            "imputation": {"algorithm": "x"},
            "oven": {},
        },
    }
    assert set(find_faults(client.post(PROBLEMS, json=bad))) == {
        "/tests/0/cost", "/tests/0/features/1", "/tests/1/features/0", "/tests/2/features", "/folds", "/threshold",
        "/configuration/prediction/parameters/n_trees", "/configuration/imputation/algorithm", "/configuration/oven",
    }  # fmt: skip
    gone = {**PIMA, "cohort_id": "0" * 32, "tests": CLEVELAND_TESTS}
    assert client.post(PROBLEMS, json=gone).status_code == 404


def test_what_the_feedback_says_is_what_the_definitions_say(client: TestClient) -> None:
    problem = make_problem(client)
    arms = make_arms(
        "cascade", problem_from_json({**PIMA, "tests": [t | {"features": []} for t in PIMA["tests"]]}).arms.tests, 0.01
    )
    counts = Counts.empty(arms)
    table = patients(60)
    core = problem_from_json({**PIMA, "tests": [t | {"features": []} for t in PIMA["tests"]]})
    for row in table:
        opened = open_round(client, problem)
        index = int(opened["arm"]) - 1
        counts = core.update(record_play(counts, index), index, row[: index + 1])
        made(give(client, opened, predictions=outputs(opened, row)), 200)
    shown = made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)
    assert [arm["chosen"] for arm in shown["arms"]] == counts.plays.tolist()
    assert [arm["feedback"] for arm in shown["arms"]] == counts.feedback.tolist()
    assert [pair["observations"] for pair in shown["disagreements"]] == counts.N.tolist()
    for pair, D, N in zip(shown["disagreements"], counts.D.tolist(), counts.N.tolist(), strict=True):
        assert pair["estimate"] == (D / N if N else None)
        assert pair["lower"] <= (pair["estimate"] or 0) <= pair["upper"]
    assert shown["weak_dominance"]["verdict"] == dominance_evidence(arms, counts).verdict
    assert shown["strong_dominance"]["rounds"] == counts.chains
    costs = [arm["cost"] * arm["feedback"] for arm in shown["arms"]]
    assert shown["cost"]["mean_per_patient"] == pytest.approx(np.sum(costs) / 60)
    assert (shown["n_rounds"], shown["n_feedback"]) == (60, 60)


def test_disagreements_come_in_pages(client: TestClient) -> None:
    problem = make_problem(client, structure="subset")
    url, found, cursor = f"{PROBLEMS}/{problem['id']}/disagreements", [], None
    while True:
        page = made(client.get(url, params={"limit": 9} | ({"cursor": cursor} if cursor else {})), 200)
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == problem["disagreements"]
    assert len(found) == problem["n_pairs"] == 21
    assert set(find_faults(client.get(url, params={"cursor": "x"}))) == {"/cursor"}


def test_what_belongs_to_another_owner_is_not_there(client_of: MakeClient) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    problem = make_problem(ada)
    opened = open_round(ada, problem)
    url = f"{PROBLEMS}/{problem['id']}"
    for method, path, body in (
        ("GET", url, None), ("DELETE", url, None), ("GET", f"{url}/disagreements", None),
        ("POST", f"{url}/rounds", None),
        ("GET", f"{url}/rounds", None), ("GET", f"{url}/rounds/{opened['id']}", None),
        ("DELETE", f"{url}/rounds/{opened['id']}", None), ("GET", f"{url}/replays", None),
        ("POST", f"{url}/replays", {"predictions": [[0, 1, 1]]}),
        ("POST", f"{url}/rounds/{opened['id']}/feedback", {"predictions": outputs(opened, [0, 0, 0])}),
    ):  # fmt: skip
        assert bob.request(method, path, json=body).status_code == 404, path
    assert bob.get(PROBLEMS).json()["items"] == []
    assert ada.get(url).json()["n_rounds"] == 1
