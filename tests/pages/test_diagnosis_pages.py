"""Pages of a diagnosis: a model from a table, and a session with one question after another."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from autoprog.diagnosis import Answer, Sessions, build_model, predict_answers
from autoprog.storage.database import Database
from tests.api.conftest import MakeClient
from tests.api.diagnosing import RESPONSES, SESSIONS, make_model, open_session, without_groups
from tests.pages.conftest import PageAt, assert_accessible
from tests.pages.test_login import log_in, make_key, post
from tests.system.server import Server

TABLE = b"object,prior,fever,dark urine,pain\nhepatitis,40,1,1,0\ngallstone,50,0,1,1\nhaemolysis,10,0,1,0\n"


def form(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, page
    return found[1]


def upload(client: TestClient, content: bytes = TABLE, **fields: str) -> Response:
    return client.post("/diagnosis/new", data={"name": "jaundice", **fields}, files={"file": ("j.csv", content)})


def start(client: TestClient, content: bytes = TABLE, **fields: str) -> str:
    """Make a model and open a session; its address."""
    made = upload(client, content, **fields)
    assert made.url.path.startswith("/diagnosis/"), made.text
    opened = client.post(f"{made.url.path}/sessions")
    assert opened.status_code == 200
    return str(opened.url.path)


def press(client: TestClient, address: str, answer: str) -> Response:
    page = client.get(address).text
    return client.post(address, data={"query": form(page, "query"), "number": form(page, "number"), "answer": answer})


def test_table_becomes_a_model_and_questions_lead_to_a_diagnosis(client: TestClient) -> None:
    address = start(client)
    page = client.get(address).text
    assert "Question 1" in page
    assert '<h1 class="question" id="question">pain</h1>' in page
    assert "3 diagnoses are possible now." in page
    assert "it is gallstone." in page
    page = press(client, address, "no").text
    assert "Question 2" in page
    assert "pain: <strong>no</strong>" in re.sub(r"\s+", " ", page)
    page = press(client, address, "yes").text
    assert '<h1 class="question">hepatitis</h1>' in page
    assert "Probability 100.0" in page
    assert "fever: <strong>yes</strong>" in page
    assert "Next patient" in page
    assert 'value="unknown"' not in page
    assert client.get(f"{SESSIONS}/{address.rsplit('/', 1)[1]}").json()["result"]["object"] == "hepatitis"


def test_second_press_changes_nothing_and_another_answer_is_told(client: TestClient) -> None:
    address = start(client)
    first = {"query": "pain", "number": "1", "answer": "no"}
    for _ in range(2):
        assert client.post(address, data=first).status_code == 200
    late = client.post(address, data={**first, "answer": "yes"})
    assert late.status_code == 409
    assert "this answer was not taken" in late.text
    assert "pain: <strong>no</strong>" in late.text
    session_id = address.rsplit("/", 1)[1]
    assert len(client.get(f"{SESSIONS}/{session_id}").json()["answers"]) == 1
    for _ in range(2):
        assert client.post(f"{address}/undo", data={"number": "1"}).status_code == 200
    assert client.get(f"{SESSIONS}/{session_id}").json()["answers"] == []


def test_back_asks_the_same_question_again(client: TestClient) -> None:
    address = start(client)
    before = client.get(address).text
    press(client, address, "yes")
    assert client.post(f"{address}/undo", data={"number": "1"}).text == before


def test_what_is_not_known_is_not_asked_again(client: TestClient) -> None:
    address = start(client)
    page = press(client, address, "unknown").text
    assert '<h1 class="question" id="question">fever</h1>' in page
    assert "pain: <strong>not known</strong>" in page
    page = press(client, address, "no").text
    assert "2 diagnoses are left" in page
    assert "No question is left that tells more" in page


def test_finding_told_unasked_may_contradict_and_is_taken_back(client: TestClient) -> None:
    address = start(client)
    told = {"query": "dark urine", "number": "1", "answer": "no", "volunteered": "true"}
    page = client.post(address, data=told).text
    assert "The answers contradict each other" in page
    assert "dark urine: <strong>no</strong>" in page
    assert "told unasked" in page
    assert client.post(address, data={**told, "number": "2", "query": "fever"}).status_code == 409
    assert "Question 1" in client.post(f"{address}/undo", data={"number": "1"}).text
    assert client.post(address, data={**told, "query": "cough"}).status_code == 422


def test_answers_that_may_be_wrong_rule_nothing_out(client: TestClient) -> None:
    address = start(client, TABLE.replace(b"40,1", b"40,"), wrong="5")
    page = client.get(address).text
    assert "most likely is gallstone with" in page
    press(client, address, "yes")
    assert client.get(f"{SESSIONS}/{address.rsplit('/', 1)[1]}").json()["n_remaining"] == 3


@pytest.mark.parametrize(
    ("content", "fields", "said"),
    [
        (b"object,fever\na,1\nb,perhaps\n", {}, "fever: 1 cell that is not 0 or 1"),
        (TABLE, {"wrong": "70"}, "below 50 percent"),
        (TABLE, {"wrong": "often"}, "as a number of percent"),
        (b"\xff\xfe\x00", {"wrong": "5"}, "send CSV in UTF-8"),
        (b"object,fever\na,1\nb,\n", {}, "Row 3: 1 empty cell of query 0"),
        (b"object,prior,fever\na,2,1\nb,-1,0\n", {}, "Row 3, prior: must be above 0, not -1"),
        (b"x" * 200_000, {"wrong": "5"}, "Table: "),
    ],
)
def test_what_is_wrong_with_a_table_is_named(
    client: TestClient, content: bytes, fields: dict[str, str], said: str
) -> None:
    refused = upload(client, content, **fields)
    assert refused.status_code == 422
    assert said in refused.text
    assert 'role="alert"' in refused.text
    assert "/spec" not in refused.text
    assert 'value="jaundice"' in refused.text


def test_form_that_is_sent_twice_opens_one_session(client: TestClient) -> None:
    model = str(upload(client).url.path)
    once = {"once": form(client.get(model).text, "once")}
    first, second = (client.post(f"{model}/sessions", data=once).url.path for _ in range(2))
    assert first == second
    press(client, str(first), "yes")
    late = client.post(f"{model}/sessions", data=once)
    assert late.status_code == 409, "the session is another patient's"
    assert "Press again for another patient" in late.text
    other = client.post(f"{model}/sessions", data={"once": form(late.text, "once")})
    assert other.url.path not in {first, late.url.path}


def test_session_orders_tests_of_a_catalogue(client: TestClient) -> None:
    tests = [
        {"name": "urine dipstick", "cost": 3, "minutes": 5, "features": ["dark urine"]},
        {"name": "history", "cost": 10, "minutes": 15, "harm": 0.001, "features": ["pain", "fever"]},
    ]
    catalogue = client.post("/v1/test-catalogues", json={"name": "ward", "tests": tests}).json()
    model = upload(client).url.path
    page = client.get(model).text
    assert f'<option value="{catalogue["id"]}">ward</option>' in page
    chosen = {"catalogue": catalogue["id"], "minute": "0,5", "harm": ""}
    wrong = client.post(f"{model}/sessions", data={**chosen, "harm": "much"})
    assert wrong.status_code == 422
    assert "Harm: must be a number" in wrong.text
    assert f'<option value="{catalogue["id"]}" selected>' in wrong.text
    assert 'value="0,5"' in wrong.text
    assert 'value="much"' in wrong.text
    opened = client.post(f"{model}/sessions", data=chosen)
    page = re.sub(r"\s+", " ", opened.text)
    assert "Order: <strong>history</strong>" in page
    assert "(cost 10, 15 min, harm 0.001, price 17.5)" in page
    address = opened.url.path
    page = re.sub(r"\s+", " ", press(client, address, "no").text)
    assert "No further test is needed for this." in page
    assert "Tests so far: history" in page
    page = press(client, address, "yes").text
    assert f'name="catalogue" value="{catalogue["id"]}"' in page
    assert 'name="minute" value="0.5"' in page
    again = client.post(f"{model}/sessions", data={"catalogue": catalogue["id"], "minute": "0.5", "harm": "0.0"})
    assert "Order:" in again.text


def test_models_are_found_and_deleted(client: TestClient) -> None:
    ids = {name: make_model(client, name=name)["id"] for name in ("liver", "heart")}
    found = client.get("/diagnosis?q=LIV").text
    assert f"/diagnosis/{ids['liver']}" in found
    assert f"/diagnosis/{ids['heart']}" not in found
    assert "No model has this name" in client.get("/diagnosis?q=%25").text
    assert "“liver”" in client.get(f"/diagnosis/{ids['liver']}/delete").text
    assert client.post(f"/diagnosis/{ids['liver']}/delete").url.path == "/diagnosis"
    assert client.get(f"/diagnosis/{ids['liver']}").status_code == 404
    session_id = open_session(client, ids["heart"])["id"]
    assert session_id in client.get(f"/diagnosis/{ids['heart']}").text
    gone = client.post(f"/diagnosis/sessions/{session_id}/delete")
    assert gone.url.path == f"/diagnosis/{ids['heart']}"
    assert client.get(f"/diagnosis/sessions/{session_id}").status_code == 404


def test_other_owners_diagnoses_do_not_exist(keyed_app: FastAPI, client_of: MakeClient, database: Database) -> None:
    his = client_of("bob")
    model_id = make_model(his)["id"]
    session_id = open_session(his, model_id)["id"]
    ada = log_in(keyed_app, make_key(database, "ada")[1])
    session = f"/diagnosis/sessions/{session_id}"
    for path in (f"/diagnosis/{model_id}", f"/diagnosis/{model_id}/delete", session, f"{session}/delete"):
        assert ada.get(path).status_code == 404, path
    given: dict[str, Any] = {"query": "q1", "number": 1, "answer": "yes"}
    for path in (f"/diagnosis/{model_id}/delete", f"/diagnosis/{model_id}/sessions", f"{session}/delete"):
        assert post(ada, path).status_code == 404, path
    assert post(ada, session, **given).status_code == 404
    assert post(ada, f"{session}/undo", number=1).status_code == 404
    assert model_id not in ada.get("/diagnosis").text
    assert his.get(f"{SESSIONS}/{session_id}").json()["answers"] == []


def test_change_needs_token_and_scope(keyed_app: FastAPI, client_of: MakeClient, database: Database) -> None:
    model_id = make_model(client_of("ada"))["id"]
    ada = log_in(keyed_app, make_key(database, "ada")[1])
    assert ada.post(f"/diagnosis/{model_id}/sessions").status_code == 403
    opened = post(ada, f"/diagnosis/{model_id}/sessions")
    assert opened.status_code == 303
    reader = log_in(keyed_app, make_key(database, "ada", "read")[1])
    page = reader.get(opened.headers["location"]).text
    assert 'name="answer"' not in page
    assert post(reader, opened.headers["location"], query="q1", number=1, answer="yes").status_code == 403


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_effects_are_those_of_the_answers(noise: float) -> None:
    rng = np.random.default_rng(3)
    n_queries = 8
    rates = [noise] * n_queries
    model = build_model(
        rng.integers(0, 2, (30, n_queries)).tolist(),
        prior=rng.random(30).tolist(),
        false_positive_rates=rates,
        false_negative_rates=rates,
    )
    sessions = Sessions(model)
    session = sessions.open([Answer(model.queries[0], answer=True)])
    effects = predict_answers(session)
    assert effects is not None
    assert session.next_query is not None
    assert sum(effect.probability for effect in effects) == pytest.approx(1)
    for effect in effects:
        after = sessions.answer(session, session.next_query.name, effect.answer)
        assert effect.n_remaining == after.n_remaining
        first = after.remaining(1)[0]
        assert effect.likeliest is not None
        assert effect.likeliest.probability == pytest.approx(first.probability)


def test_nurse_answers_with_one_thumb(page_at: PageAt, served: Server) -> None:
    model = make_model(served.client, **{k: v for k, v in without_groups(name="jaundice").items() if k != "responses"},
                       responses=RESPONSES)  # fmt: skip
    page = page_at(f"/diagnosis/{model['id']}", width=360)
    assert_accessible(page)
    page.get_by_role("button", name="Start with a patient").click()
    assert_accessible(page)
    boxes = [
        page.get_by_role("button", name=name, exact=True).first.bounding_box() for name in ("Yes", "No", "Not known")
    ]
    found = [box for box in boxes if box is not None]
    assert len(found) == 3
    assert all(box["height"] >= 44 and box["width"] >= 300 for box in found)
    assert all(b["y"] - (a["y"] + a["height"]) >= 12 for a, b in pairwise(found))
    assert found[-1]["y"] + found[-1]["height"] < 1000
    asked = page.locator("#question").inner_text()
    page.get_by_role("button", name="Yes", exact=True).first.press("Enter")
    page.get_by_text(f"{asked}: yes").first.wait_for()
    assert_accessible(page)
    page.get_by_role("button", name="Take it back").press("Enter")
    page.get_by_text("Question 1").wait_for()
    assert page.locator("#question").inner_text() == asked
    for _ in range(3):
        if page.locator("#question").count():
            number = page.locator("#step").inner_text()
            page.locator(".answer.no").click()
            page.wait_for_function("text => document.querySelector('#step')?.innerText !== text", arg=number)
    page.get_by_role("button", name="Next patient").wait_for()
    assert_accessible(page)


def test_button_that_is_pressed_twice_opens_one_session_and_works_again_after_a_step_back(
    page_at: PageAt, served: Server
) -> None:
    model = make_model(served.client, **without_groups(name="twice"))
    page = page_at(f"/diagnosis/{model['id']}")
    page.get_by_role("button", name="Start with a patient").dblclick()
    page.locator("#question").wait_for()
    page.go_back()
    assert page.get_by_role("button", name="Start with a patient").is_enabled()
    assert page.reload() is not None
    assert page.locator("h3 a[href^='/diagnosis/sessions/']").count() == 1
