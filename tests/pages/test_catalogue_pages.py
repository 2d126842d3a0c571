"""Pages of test catalogues: made and edited by a form, and used by a test selection."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from autoprog.storage.database import Database
from tests.api.conftest import MakeClient
from tests.api.searching import make_cohort
from tests.api.selecting import PROBLEMS
from tests.api.test_test_catalogues import CATALOGUES, TESTS, make_catalogue
from tests.pages.conftest import NARROW, WIDE, PageAt, assert_accessible, assert_looks
from tests.pages.test_login import log_in, make_key, post
from tests.system.server import Server

FIELDS: dict[str, Any] = {
    "name": "ward",
    "test": ["history", "exercise ECG", ""],
    "cost": ["0", "87,3", ""],
    "minutes": ["10", "", ""],
    "harm": ["", "0.0001", ""],
    "features": ["age, sex ,cp", "", ""],
}


def create(client: TestClient, **changes: Any) -> str:
    """Make a catalogue by the form; its address."""
    made = client.post("/test-catalogues/new", data={**FIELDS, **changes})
    assert made.status_code == 200, made.text
    return str(made.url.path)


def document_of(client: TestClient, address: str) -> dict[str, Any]:
    document: dict[str, Any] = client.get(f"{CATALOGUES}/{address.rsplit('/', 1)[1]}").json()
    return document


def test_form_becomes_a_catalogue(client: TestClient) -> None:
    address = create(client)
    assert document_of(client, address)["tests"] == [
        {"name": "history", "cost": 0, "minutes": 10, "harm": 0, "features": ["age", "sex", "cp"]},
        {"name": "exercise ECG", "cost": 87.3, "minutes": 0, "harm": 0.0001, "features": []},
    ]
    page = client.get(address).text
    for text in ("87.3", "0.0001", "age, sex, cp"):
        assert text in page
    assert address in client.get("/test-catalogues?q=WAR").text
    assert "No catalogue has this name" in client.get("/test-catalogues?q=clinic").text


def test_amounts_are_those_that_were_typed_and_grouped_ones_are_refused(client: TestClient) -> None:
    refused = client.post("/test-catalogues/new", data={**FIELDS, "cost": ["0", "1,234", ""]})
    assert refused.status_code == 422
    assert "exercise ECG, Cost: this can be read in two ways: write &#39;1234&#39; or &#39;1.234&#39;" in refused.text
    german = {"Accept-Language": "de"}
    place = client.post("/test-catalogues/new", data={**FIELDS, "cost": ["0", "1,234", ""]}, headers=german).url.path
    assert document_of(client, place)["tests"][1]["cost"] == 1.234
    copy = client.get("/test-catalogues/new", params={"copy": place.rsplit("/", 1)[1]}, headers=german).text
    assert 'name="cost" value="1,234"' in copy


def test_names_with_commas_survive_a_copy(client: TestClient) -> None:
    names = ["Na, mmol/l", 'the "old" score', "age"]
    test = {"name": "blood", "cost": 1, "features": names}
    old = client.post(CATALOGUES, json={"name": "ward", "tests": [test]}).json()
    page = client.get("/test-catalogues/new", params={"copy": old["id"]}).text
    shown = re.search(r'name="features" value="([^"]*)"', page)
    assert shown is not None
    place = create(client, test=["blood"], cost=["1"], minutes=[""], harm=[""], features=[html.unescape(shown[1])])
    assert document_of(client, place)["tests"][0]["features"] == names


def test_copy_is_edited_and_the_old_catalogue_stays_unless_it_is_replaced(client: TestClient) -> None:
    old = make_catalogue(client)
    place = f"/test-catalogues/{old['id']}"
    form = client.get(f"/test-catalogues/new?copy={old['id']}").text
    for test in TESTS:
        assert f'name="test" value="{test["name"]}"' in form
    assert 'value="q2, q3"' in form
    changed = create(client, copied_id=old["id"], cost=["5", "90"])
    assert [test["cost"] for test in document_of(client, changed)["tests"]] == [5, 90]
    assert client.get(place).status_code == 200
    replaced = create(client, copied_id=old["id"], replaces="1")
    assert client.get(replaced).status_code == 200
    assert client.get(place).status_code == 404


def test_invalid_copy_replaces_nothing(client: TestClient) -> None:
    address = create(client)
    fields = {**FIELDS, "copied_id": address.rsplit("/", 1)[1], "replaces": "1", "cost": ["-1", "2"]}
    refused = client.post("/test-catalogues/new", data=fields)
    assert refused.status_code == 422
    assert 'name="replaces" value="1" checked' in refused.text
    assert client.get(address).status_code == 200


def test_every_fault_of_the_form_names_its_test_and_field(client: TestClient) -> None:
    changes = {"name": "", "test": ["history", "history", ""], "cost": ["dear", "-1", "3"], "harm": ["nan", "", ""]}
    refused = client.post("/test-catalogues/new", data={**FIELDS, **changes})
    assert refused.status_code == 422
    for text in (
        "Name: give a name", "history, Cost: must be a number", "history, Harm: must be a number",
        "history: history is the name of test 1 already", "history, Cost: must be finite", "Tests 3: give a name",
    ):  # fmt: skip
        assert text in refused.text
    assert "/tests" not in refused.text.replace('"/test', "")
    assert 'value="dear"' in refused.text
    more = client.post("/test-catalogues/new", data={**FIELDS, "more": "1"})
    assert more.text.count('name="minutes"') == 2 + 3 + 5
    assert "must" not in client.post("/test-catalogues/new", data={**FIELDS, "more": "1"}).text
    assert client.get(CATALOGUES).json()["items"] == []


def test_a_grouped_number_does_not_hide_the_other_faults(client: TestClient) -> None:
    lines = {"test": ["Blood", "Blood"], "cost": ["1,000", "x"], "minutes": ["", ""], "harm": ["", ""],
             "features": ['"a', ""]}  # fmt: skip
    page = html.unescape(client.post("/test-catalogues/new", data={"name": "ward", **lines}).text)
    for said in (
        "Blood, Cost: this can be read in two ways",
        "Blood, Cost: must be a number",
        "is the name of test 1 already",
    ):
        assert said in page


def test_catalogue_without_tests_is_refused(client: TestClient) -> None:
    refused = client.post("/test-catalogues/new", data={"name": "none"})
    assert refused.status_code == 422
    assert "at least one test is needed" in refused.text


def test_selection_takes_tests_from_the_catalogue_at_prices(client: TestClient) -> None:
    catalogue = make_catalogue(client)
    form = client.get(f"/test-selection/new?catalogue={catalogue['id']}").text
    assert form.count('name="chosen"') == len(TESTS) == form.count(" checked> ") - 1  # and the structure
    assert 'name="test"' not in form
    fields = {
        "name": "chest pain", "structure": "cascade", "algorithm": "ts", "trade_off": "0.01",
        "catalogue_id": catalogue["id"], "chosen": ["exercise ECG", "history"], "minute": "0,5", "harm": "20000",
    }  # fmt: skip
    made = client.post("/test-selection/new", data=fields)
    assert made.status_code == 200, made.text
    problem = client.get(f"{PROBLEMS}/{made.url.path.rsplit('/', 1)[1]}").json()
    assert [(test["name"], test["cost"]) for test in problem["tests"]] == [("history", 5), ("exercise ECG", 104.3)]
    assert (problem["catalogue_id"], problem["prices"]) == (catalogue["id"], {"minute": 0.5, "harm": 20_000})
    assert "A minute is worth 0.5 here, a unit of harm 20,000." in made.text
    refused = client.post("/test-selection/new", data={**fields, "minute": "dear", "harm": "-1"})
    assert "A minute is worth: must be a number" in refused.text
    assert "A unit of harm is worth: must be finite" in refused.text
    assert refused.text.count(" checked> ") == 3, "what was chosen stays"
    none = client.post("/test-selection/new", data={**fields, "chosen": []})
    assert "Tests: must be a list of one name or more" in none.text


def test_all_tests_of_a_catalogue_are_those_that_the_cohort_has(client: TestClient) -> None:
    catalogue, cohort = make_catalogue(client), make_cohort(client)
    fields = {
        "name": "chest pain", "structure": "subset", "algorithm": "ts", "trade_off": "0.01", "cohort_id": cohort["id"],
        "catalogue_id": catalogue["id"], "chosen": [test["name"] for test in TESTS],
    }  # fmt: skip
    made = client.post("/test-selection/new", data=fields)
    problem = client.get(f"{PROBLEMS}/{made.url.path.rsplit('/', 1)[1]}").json()
    assert [test["name"] for test in problem["tests"]] == ["history", "blood panel", "exercise ECG"]
    refused = client.post("/test-selection/new", data={**fields, "chosen": ["history", "imaging"]})
    assert "Tests: imaging reveals no feature of the cohort" in refused.text


def test_catalogue_is_deleted_after_a_question(client: TestClient) -> None:
    address = create(client)
    assert "This cannot be undone" in client.get(f"{address}/delete").text
    assert client.post(f"{address}/delete").url.path == "/test-catalogues"
    assert client.get(address).status_code == 404


def test_other_owners_catalogues_do_not_exist(keyed_app: FastAPI, client_of: MakeClient, database: Database) -> None:
    his = client_of("bob")
    catalogue = make_catalogue(his)
    address = f"/test-catalogues/{catalogue['id']}"
    ada = log_in(keyed_app, make_key(database, "ada")[1])
    copies = [f"/test-catalogues/new?copy={catalogue['id']}", f"/test-selection/new?catalogue={catalogue['id']}"]
    for path in (address, f"{address}/delete", *copies):
        assert ada.get(path).status_code == 404, path
    for path, fields in (
        (f"{address}/delete", {}),
        ("/test-catalogues/new", {**FIELDS, "copied_id": catalogue["id"], "replaces": "1"}),
        ("/test-selection/new", {"name": "p", "catalogue_id": catalogue["id"], "chosen": "history"}),
    ):  # fmt: skip
        assert post(ada, path, **fields).status_code == 404, path
        assert ada.post(path, data=fields).status_code == 403, path
    assert ada.get("/test-catalogues").text.count(catalogue["name"]) == 0
    assert his.get(f"{CATALOGUES}/{catalogue['id']}").json() == catalogue


def test_reader_sees_catalogues_and_changes_none(keyed_app: FastAPI, client_of: MakeClient, database: Database) -> None:
    catalogue = make_catalogue(client_of("ada"))
    address = f"/test-catalogues/{catalogue['id']}"
    reader = log_in(keyed_app, make_key(database, "ada", "read")[1])
    page = reader.get(address)
    assert page.status_code == 200
    assert "Edit a copy" not in page.text
    assert reader.get("/test-catalogues/new").status_code == 403
    assert post(reader, "/test-catalogues/new", **FIELDS).status_code == 403
    assert reader.get(f"{address}/delete").status_code == 403
    assert post(reader, f"{address}/delete").status_code == 403


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_catalogue_is_edited_in_a_browser(page_at: PageAt, served: Server, width: int) -> None:
    catalogue = make_catalogue(served.client)
    page = page_at(f"/test-catalogues/{catalogue['id']}", width=width)
    assert_accessible(page)
    page.get_by_role("link", name="Edit a copy").click()
    third = page.get_by_role("group", name="Test 3")
    third.get_by_label("Cost").fill("91,5")
    third.get_by_label("Minutes").press("Enter")
    page.get_by_role("cell", name="91.5").wait_for()
    page.get_by_role("link", name="Edit a copy").click()
    assert_accessible(page)
    assert_looks(page, f"catalogue-{width}")
    page.get_by_role("button", name="More lines").press("Enter")
    assert page.get_by_role("group", name="Test 13").count()
    page.get_by_label("Delete the catalogue that was copied").check()
    page.get_by_role("button", name="Save the catalogue").click()
    page.get_by_role("link", name="Test selection with these tests").click()
    assert_accessible(page)
    page.get_by_label("A minute is worth").fill("0,5")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Next patient").wait_for()
    assert_accessible(page)
