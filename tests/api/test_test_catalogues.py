"""One catalogue of tests for test selection, frontiers and sessions of diagnosis."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from autoprog.catalogue import DiagnosticTest, check_catalogue
from autoprog.errors import InvalidInputError
from autoprog.evaluation import Status
from autoprog.storage.database import Database
from autoprog.storage.tables import DiagnosisSessionRow
from tests.api.conftest import MakeClient
from tests.api.diagnosing import MODELS, SESSIONS, find_faults, give, made, make_model, open_session, without_groups
from tests.api.searching import Driver, make_cohort, make_search, patient
from tests.api.selecting import CLEVELAND_TESTS, PROBLEMS, send

CATALOGUES = "/v1/test-catalogues"
TESTS: list[dict[str, Any]] = [
    {"name": "history", "cost": 0, "minutes": 10, "features": ["age", "sex", "cp"]},
    {"name": "blood panel", "cost": 35, "minutes": 45, "features": ["chol", "fbs", "CRP"]},
    {"name": "exercise ECG", "cost": 87.3, "minutes": 30, "harm": 0.0001, "features": ["thalach", "exang"]},
    {"name": "q1", "cost": 5},
    {"name": "imaging", "cost": 3, "minutes": 20, "harm": 0.5, "features": ["q2", "q3"]},
]


def test_a_catalogue_of_many_features_is_checked_at_once() -> None:
    tests = [DiagnosticTest(f"test {k}", 1.0, tuple(f"feature {i}" for i in range(10_000))) for k in range(20)]
    start = time.process_time()
    assert check_catalogue(tests) == tuple(tests)
    assert time.process_time() - start < 2
    with pytest.raises(InvalidInputError, match="feature 7 is named twice"):
        check_catalogue([DiagnosticTest("test", 1.0, ("feature 7", "other", "feature 7"))])


def make_catalogue(client: TestClient, tests: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return made(client.post(CATALOGUES, json={"name": "emergency department", "tests": tests or TESTS}))


def test_a_catalogue_is_kept_as_it_was_sent(client: TestClient) -> None:
    response = client.post(CATALOGUES, json={"name": "ward", "tests": TESTS})
    catalogue = made(response)
    assert response.headers["location"] == f"{CATALOGUES}/{catalogue['id']}"
    rest = {"minutes": 0, "harm": 0, "features": []}
    assert catalogue["tests"] == [{**rest, **test} for test in TESTS]
    assert made(client.get(f"{CATALOGUES}/{catalogue['id']}"), 200) == catalogue
    assert made(client.get(CATALOGUES), 200)["items"] == [catalogue]
    assert client.delete(f"{CATALOGUES}/{catalogue['id']}").status_code == 204
    assert client.get(f"{CATALOGUES}/{catalogue['id']}").status_code == 404


def test_every_fault_of_a_catalogue_is_named(client: TestClient) -> None:
    tests: list[dict[str, Any]] = [
        {"name": "a", "cost": -1, "minutes": "ten", "harm": 1e101},
        {"name": "a", "cost": 1, "features": ["x", "x", ""]},
        {"name": " ", "cost": None, "features": "x"},
        {"name": "b", "cost": 1, "features": ["y", "y"]},
    ]
    faults = find_faults(client.post(CATALOGUES, json={"name": "", "tests": tests, "ward": 1}))
    assert set(faults) == {
        "/ward", "/name", "/tests/0/cost", "/tests/0/minutes", "/tests/0/harm", "/tests/1/name", "/tests/1/features/2",
        "/tests/2/name", "/tests/2/cost", "/tests/2/features", "/tests/3/features/1",
    }  # fmt: skip
    assert set(find_faults(client.post(CATALOGUES, json={"name": "none", "tests": []}))) == {"/tests"}
    many = [{"name": f"t{k}", "cost": 1} for k in range(1001)]
    assert "1,001" in find_faults(client.post(CATALOGUES, json={"name": "many", "tests": many}))["/tests"]
    assert "/name" in find_faults(send(client, CATALOGUES, {"name": "\ud800", "tests": TESTS}))


def test_a_problem_takes_tests_from_the_catalogue_at_its_prices(client: TestClient) -> None:
    catalogue = make_catalogue(client)
    body = {
        "name": "chest pain", "structure": "cascade", "catalogue_id": catalogue["id"],
        "test_names": ["exercise ECG", "history"], "prices": {"minute": 0.5, "harm": 20_000},
    }  # fmt: skip
    problem = made(client.post(PROBLEMS, json=body))
    assert problem["tests"] == [
        {"name": "exercise ECG", "cost": pytest.approx(87.3 + 15 + 2), "features": []},
        {"name": "history", "cost": 5, "features": []},
    ]
    assert (problem["catalogue_id"], problem["prices"]) == (catalogue["id"], {"minute": 0.5, "harm": 20_000})
    assert [arm["cost"] for arm in problem["arms"]] == [104.3, 109.3]
    client.delete(f"{CATALOGUES}/{catalogue['id']}")
    assert made(client.get(f"{PROBLEMS}/{problem['id']}"), 200)["tests"] == problem["tests"]


def test_with_a_cohort_the_tests_that_reveal_its_features_are_taken(client: TestClient) -> None:
    catalogue = make_catalogue(client)
    body = {"name": "chest pain", "structure": "subset", "catalogue_id": catalogue["id"]}
    problem = made(client.post(PROBLEMS, json={**body, "cohort_id": make_cohort(client)["id"]}), 202)
    assert [(test["name"], test["features"]) for test in problem["tests"]] == [
        ("history", ["age", "sex", "cp"]), ("blood panel", ["chol", "fbs"]), ("exercise ECG", ["thalach", "exang"]),
    ]  # fmt: skip
    assert problem["prices"] == {"minute": 0, "harm": 0}


def test_faults_of_tests_lie_where_they_were_chosen(client: TestClient) -> None:
    catalogue = make_catalogue(client, [*TESTS, {"name": "lipids", "cost": 9, "features": ["chol"]}])
    cohort = make_cohort(client)["id"]
    body: dict[str, Any] = {"name": "p", "structure": "cascade", "catalogue_id": catalogue["id"], "cohort_id": cohort}
    names = ["history", "blod panel", "imaging", "blood panel", "lipids", "history", 3]
    priced = {**body, "test_names": names, "prices": {"minute": -1, "harm": "x"}}
    faults = find_faults(client.post(PROBLEMS, json=priced))
    assert set(faults) == {
        "/prices/minute", "/prices/harm", "/test_names/1", "/test_names/2", "/test_names/4", "/test_names/5",
        "/test_names/6",
    }  # fmt: skip
    assert "blood panel" in faults["/test_names/1"]
    assert "no feature of the cohort" in faults["/test_names/2"]
    assert set(find_faults(client.post(PROBLEMS, json={**body, "tests": CLEVELAND_TESTS}))) >= {"/catalogue_id"}
    assert set(find_faults(client.post(PROBLEMS, json={**body, "test_names": []}))) >= {"/test_names"}
    without = {"name": "p", "structure": "cascade", "test_names": ["a"], "prices": {}}
    assert set(find_faults(client.post(PROBLEMS, json=without))) == {"/tests", "/test_names", "/prices"}
    nothing = make_catalogue(client, [{"name": "MRI", "cost": 1}])
    body["catalogue_id"] = nothing["id"]
    assert "/catalogue_id" in find_faults(client.post(PROBLEMS, json=body))
    body["catalogue_id"] = "0" * 32
    assert client.post(PROBLEMS, json=body).status_code == 404


def test_a_frontier_and_missing_tests_take_the_catalogue(client: TestClient, driver: Driver) -> None:
    catalogue = make_catalogue(client)
    search = make_search(client, folds=3, repeats=1)
    driver.run(Status.SUCCEEDED)
    url = f"/v1/searches/{search['id']}/test-frontiers"
    body = {"catalogue_id": catalogue["id"], "prices": {"minute": 1}}
    frontier = made(client.post(url, json=body), 202)
    assert [(t["name"], t["cost"]) for t in frontier["tests"]] == [
        ("history", 10), ("blood panel", 80), ("exercise ECG", 117.3),
    ]  # fmt: skip
    known = {name: value for name, value in patient().items() if name not in {"chol", "fbs", "thalach", "exang"}}
    ranked = made(client.post(f"{url}/{frontier['id']}/missing-tests", json={"patient": known}), 200)["items"]
    assert {item["test"]: item["cost"] for item in ranked} == {"blood panel": 80, "exercise ECG": 117.3}
    assert set(find_faults(client.post(url, json={**body, "tests": CLEVELAND_TESTS}))) == {"/catalogue_id"}
    assert set(find_faults(client.post(url, json={}))) == {"/tests"}


def test_a_session_orders_tests_and_counts_what_they_cost(client: TestClient) -> None:
    catalogue, model = make_catalogue(client), make_model(client)
    session = open_session(client, model["id"], catalogue_id=catalogue["id"], prices={"minute": 1})
    assert (session["catalogue_id"], session["prices"]) == (catalogue["id"], {"minute": 1, "harm": 0})
    assert session["spent"] == {"tests": [], "cost": 0, "minutes": 0, "harm": 0, "price": 0}
    # The image tells all .811 bits of the group for 23, q1 tells .311 bits for 5.
    assert session["next_query"]["order"] == {"test": "q1", "cost": 5, "minutes": 0, "harm": 0, "price": 5}
    client.delete(f"{CATALOGUES}/{catalogue['id']}")
    while not session["done"]:
        session = made(give(client, session, True), 200)
    assert session["spent"]["tests"] == ["q1", "imaging"]
    assert session["spent"]["price"] == 28
    assert [each["test"] for each in session["answers"]] == session["spent"]["tests"]
    assert session["spent"]["harm"] == 0.5
    assert made(client.get(f"{SESSIONS}/{session['id']}"), 200) == session
    (listed,) = made(client.get(f"{MODELS}/{model['id']}/sessions"), 200)["items"]
    assert listed["catalogue_id"] == catalogue["id"]
    plain = open_session(client, model["id"])
    assert (plain["spent"], plain["catalogue_id"], plain["next_query"]["order"]) == (None, None, None)


def test_answers_to_a_batch_name_the_tests_that_gave_them(client: TestClient) -> None:
    panel = {"name": "panel", "cost": 3, "features": ["q1", "q2", "q3"]}
    catalogue = make_catalogue(client, [{"name": "q1 alone", "cost": 1.8, "features": ["q1"]}, panel])
    session = open_session(client, made(client.post(MODELS, json=without_groups()))["id"], catalogue_id=catalogue["id"])
    batch = made(client.get(f"{SESSIONS}/{session['id']}/batch"), 200)
    assert {each["test"] for each in batch["queries"]} == {"panel"}
    url = f"{SESSIONS}/{session['id']}/answers"
    other = {"query": batch["queries"][-1]["name"], "answer": True, "volunteered": True, "test": "x"}
    assert set(find_faults(client.post(url, json=other))) == {"/test"}
    for each in reversed(batch["queries"]):
        body = {"query": each["name"], "answer": True, "volunteered": True, "test": each["test"]}
        session = made(client.post(url, json=body), 200)
    assert session["spent"]["tests"] == ["panel"]


def test_a_session_whose_answers_were_stored_without_tests_is_read(client: TestClient, database: Database) -> None:
    catalogue, model = make_catalogue(client), make_model(client)
    session = made(give(client, open_session(client, model["id"], catalogue_id=catalogue["id"]), True), 200)
    with database.session() as transaction:
        row = transaction.get(DiagnosisSessionRow, session["id"])
        assert row is not None
        answers = [{k: v for k, v in each.items() if k != "test"} for each in row.state["answers"]]
        row.state = row.state | {"answers": answers}
    read = made(client.get(f"{SESSIONS}/{session['id']}"), 200)
    assert [each["test"] for each in read["answers"]] == [None]
    assert read["spent"] == session["spent"]


def test_every_fault_of_a_priced_session_is_named(client: TestClient) -> None:
    catalogue, model = make_catalogue(client, TESTS[:3]), make_model(client)
    url = f"{MODELS}/{model['id']}/sessions"
    body: dict[str, Any] = {"catalogue_id": catalogue["id"], "certainty": 2, "prices": {"harm": -1}}
    assert set(find_faults(client.post(url, json=body))) == {"/catalogue_id", "/certainty", "/prices/harm"}
    assert set(find_faults(client.post(url, json={"prices": {"minute": 1}}))) == {"/prices"}
    assert client.post(url, json={"catalogue_id": "x"}).status_code == 404


def test_a_catalogue_of_another_owner_is_not_there(client_of: MakeClient) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    catalogue, model = make_catalogue(ada), make_model(bob)
    assert bob.get(f"{CATALOGUES}/{catalogue['id']}").status_code == 404
    assert bob.delete(f"{CATALOGUES}/{catalogue['id']}").status_code == 404
    body = {"catalogue_id": catalogue["id"]}
    assert bob.post(f"{MODELS}/{model['id']}/sessions", json=body).status_code == 404
    assert bob.post(PROBLEMS, json={"name": "p", "structure": "cascade", **body}).status_code == 404
