"""Pages of test selection: its tests, and rounds with one test at a time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from autoprog.jobs.runner import JobRunner
from autoprog.storage.database import Database
from tests.api.conftest import MakeClient
from tests.api.searching import patient
from tests.api.selecting import CLEVELAND_TESTS, PIMA, PROBLEMS, make_problem, open_round, rounds_of
from tests.api.test_test_selection_cohorts import ask, runner
from tests.pages.conftest import HEIGHT, NARROW, WIDE, PageAt, assert_accessible, assert_looks
from tests.pages.test_login import log_in, make_key, post
from tests.system.server import Server

__all__ = ["runner"]

NUMERIC = {"age", "chol", "thalach"}

FIELDS: dict[str, Any] = {
    "name": "diabetes",
    "structure": "cascade",
    "algorithm": "ucb1",
    "trade_off": "0,01",
    "test": ["history", "glucose", "", ""],
    "cost": ["1", "17,61", "", ""],
    "features": ["", "", "", ""],
}


def create(client: TestClient, **changes: Any) -> str:
    """Begin a test selection by the form; its address."""
    made = client.post("/test-selection/new", data={**FIELDS, **changes})
    assert made.status_code == 200, made.text
    return str(made.url.path)


def start(client: TestClient, address: str) -> str:
    seen = re.search(r'name="seen" value="(\d+)"', client.get(address).text)
    assert seen is not None
    opened = client.post(f"{address}/rounds", data={"seen": seen[1]})
    assert opened.status_code == 200, opened.text
    return str(opened.url.path)


def problem_of(client: TestClient, address: str) -> dict[str, Any]:
    document: dict[str, Any] = client.get(f"{PROBLEMS}/{address.rsplit('/', 1)[1]}").json()
    return document


def test_form_becomes_a_problem_and_a_round_is_judged_test_by_test(client: TestClient) -> None:
    address = create(client)
    problem = problem_of(client, address)
    assert [(test["name"], test["cost"]) for test in problem["tests"]] == [("history", 1), ("glucose", 17.61)]
    assert (problem["trade_off"], problem["algorithm"]) == (0.01, "ucb1")
    place = start(client, address)
    assert "Do now: history" in client.get(place).text
    page = client.get(f"{place}?said=0").text
    assert "Do now: glucose" in page
    assert "<strong>history: no</strong>" in page
    assert f'href="{place}?said="' in page, "the way back"
    page = client.get(f"{place}?said=01").text
    assert "Is this right?" in page
    assert problem_of(client, address)["n_feedback"] == 0, "looking counts nothing"
    done = client.post(place, data={"said": "01"})
    assert done.status_code == 200
    assert "The tests say yes" in done.text
    assert "Fewer tests would have said something else here: history." in done.text
    assert problem_of(client, address)["n_feedback"] == 1
    assert client.post(place, data={"said": "01"}).status_code == 200, "a second press"
    assert client.post(place, data={"said": "00"}).status_code == 409
    assert problem_of(client, address)["n_feedback"] == 1


@pytest.mark.parametrize("said", ["", "0", "012", "0x"])
def test_judgements_that_are_missing_or_wrong_are_refused(client: TestClient, said: str) -> None:
    address = create(client)
    place = start(client, address)
    answer = client.post(place, data={"said": said}) if said in {"", "0"} else client.get(f"{place}?said={said}")
    assert answer.status_code == 422
    assert problem_of(client, address)["n_feedback"] == 0


def test_tests_that_measure_need_patients_to_learn_from(client: TestClient) -> None:
    refused = client.post("/test-selection/new", data={**FIELDS, "features": ["age", "", "", ""]})
    assert refused.status_code == 422
    assert "history, Reveals: choose the patients to learn from too" in refused.text


def test_second_press_opens_no_second_round(client: TestClient) -> None:
    address = create(client)
    start(client, address)
    late = client.post(f"{address}/rounds", data={"seen": "0"})
    assert late.status_code == 409
    assert "Another round was opened in the meantime" in late.text
    assert problem_of(client, address)["n_rounds"] == 1


def test_copy_keeps_the_settings_and_begins_anew(client: TestClient) -> None:
    old = make_problem(client, algorithm="ucb1", alpha=0.7)
    client.post(rounds_of(old))
    form = client.get(f"/test-selection/new?copy={old['id']}").text
    assert 'value="17.61"' in form
    assert "the old one stays" in form
    address = create(
        client, copied_id=old["id"], test=["history", "glucose", "insulin"], cost=["1", "20", "22.78"], features=[""]
    )
    new = problem_of(client, address)
    assert (new["alpha"], new["seed"], new["n_rounds"]) == (0.7, PIMA["seed"], 0)
    assert [test["cost"] for test in new["tests"]] == [1, 20, 22.78]
    assert problem_of(client, f"/x/{old['id']}")["n_rounds"] == 1
    changed = create(client, copied_id=old["id"], algorithm="ts")
    assert problem_of(client, changed)["alpha"] is None


def test_what_is_wrong_with_the_tests_is_named_by_line(client: TestClient) -> None:
    refused = client.post("/test-selection/new", data={**FIELDS, "cost": ["1", "dear"], "name": "", "trade_off": "x"})
    assert refused.status_code == 422
    assert "glucose, Cost: must be a number" in refused.text
    assert "Name: give a name" in refused.text
    assert "Worth of cost: must be a number" in refused.text
    assert "/tests" not in refused.text
    assert 'value="dear"' in refused.text
    more = client.post("/test-selection/new", data={**FIELDS, "more": "1"})
    assert more.text.count('name="test"') == 2 + 3 + 5
    assert client.get("/test-selection").text.count("diabetes") == 0


def test_measurements_are_entered_test_by_test(client: TestClient, runner: JobRunner) -> None:
    problem = ask(client)
    address = f"/test-selection/{problem['id']}"
    assert "The risks are being learnt" in client.get(address).text
    assert client.post(f"{address}/rounds", data={"seen": "0"}).status_code == 409
    assert runner.run_one()
    place = start(client, address)
    known = patient()
    page = client.get(place).text
    assert "Do now: history" in page
    assert "last test" not in page
    wrong = client.post(place, data={"test": "history", "value-0": "old"})
    assert wrong.status_code == 422
    assert "age: must be a number" in wrong.text
    assert "sex: enter what was found" in wrong.text
    assert 'value="old"' in wrong.text
    both = client.post(place, data={"test": "history", "value-0": "61", "none-0": "1"})
    assert "age: give a value or “not known”, not both" in both.text
    for k, test in enumerate(CLEVELAND_TESTS):
        values = {
            f"value-{i}": str(known[name]) if name in NUMERIC else f"={known[name]}"
            for i, name in enumerate(test["features"])
        }
        if test["name"] == "blood":
            values = {"value-0": "", "none-0": "1", **{k: v for k, v in values.items() if k != "value-0"}}
        sent = client.post(place, data={"test": test["name"], **values})
        assert sent.status_code == 200, sent.text
        if k == 0:
            again = client.get(f"{place}?test=history").text
            assert "Do now: history" in again
            assert f'value="{known["age"]}' in again
            assert client.post(place, data={"test": "history", **values, "value-0": "61,5"}).status_code == 200
        if k == 2:
            assert "This is the last test" in sent.text
    stored = client.get(f"{rounds_of(problem)}/{place.rsplit('/', 1)[1]}").json()
    assert stored["status"] == "closed"
    assert (stored["measurements"]["age"], stored["measurements"]["chol"]) == (61.5, None)
    assert "Risk by the tests that were done." in sent.text
    assert "chol was imputed" in sent.text
    assert "Errors in the cohort" in client.get(address).text


def test_problems_and_rounds_are_found_and_deleted(client: TestClient) -> None:
    address = create(client)
    assert address in client.get("/test-selection?q=DIAB").text
    assert "No test selection has this name" in client.get("/test-selection?q=heart").text
    place = start(client, address)
    assert place in client.get(address).text
    assert client.get(f"{place}/delete").status_code == 200
    assert client.post(f"{place}/delete").url.path == address
    assert client.get(place).status_code == 404
    assert client.post(f"{address}/delete").url.path == "/test-selection"
    assert client.get(address).status_code == 404


def test_other_owners_selections_do_not_exist(keyed_app: FastAPI, client_of: MakeClient, database: Database) -> None:
    his = client_of("bob")
    problem = make_problem(his)
    opened = open_round(his, problem)
    address = f"/test-selection/{problem['id']}"
    place = f"{address}/rounds/{opened['id']}"
    ada = log_in(keyed_app, make_key(database, "ada")[1])
    for path in (address, f"{address}/delete", place, f"{place}/delete", f"/test-selection/new?copy={problem['id']}"):
        assert ada.get(path).status_code == 404, path
    for path, fields in (
        (f"{address}/delete", {}), (f"{place}/delete", {}), (place, {"said": "0"}),
        (f"{address}/rounds", {"seen": "1"}),
        ("/test-selection/new", {**FIELDS, "copied_id": problem["id"]}),
    ):  # fmt: skip
        assert post(ada, path, **fields).status_code == 404, path
        assert ada.post(path, data=fields).status_code == 403, path
    assert his.get(f"{PROBLEMS}/{problem['id']}").json()["n_rounds"] == 1


def test_nurse_does_one_test_after_another(page_at: PageAt, served: Server) -> None:
    problem = make_problem(served.client)
    page = page_at(f"/test-selection/{problem['id']}")
    assert_looks(page, f"test-selection-{WIDE}")
    page.set_viewport_size({"width": NARROW, "height": HEIGHT})
    assert_accessible(page)
    page.get_by_role("button", name="Next patient").click()
    page.locator(".answer.no").wait_for()
    assert_looks(page, f"test-selection-{NARROW}")
    for _ in range(3):
        if page.get_by_text("Is this right?").count():
            break
        assert_accessible(page)
        for name in ("Yes", "No"):
            box = page.get_by_role("link", name=name, exact=True).bounding_box()
            assert box is not None
            assert box["height"] >= 44
            assert box["width"] >= 300
        before = page.url
        page.locator(".answer.no").press("Enter")
        page.wait_for_url(lambda url, before=before: url != before)
    assert_accessible(page)
    page.get_by_role("button", name="Save").press("Enter")
    page.get_by_text("The tests say no").wait_for()
    assert_accessible(page)
    for path in (
        "/test-selection",
        "/test-selection/new",
        "/test-catalogues",
        "/diagnosis",
        "/diagnosis/new",
        "/settings",
        "/audit",
    ):
        page.goto(path)
        assert_accessible(page)
