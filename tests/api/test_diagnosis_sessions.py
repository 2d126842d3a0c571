from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from autoprog.diagnosis import Sessions
from autoprog.settings import Settings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from tests.api.conftest import LOCAL
from tests.api.diagnosing import (
    MODELS,
    RESPONSES,
    SESSIONS,
    find_faults,
    give,
    made,
    make_model,
    open_session,
    real,
    rows_of,
    run_session,
    toy,
    upload,
    without_groups,
)
from tests.conftest import BACKENDS

ROOT = Path(__file__).parents[2]


def look(client: TestClient, session: dict[str, Any]) -> dict[str, Any]:
    return made(client.get(f"{SESSIONS}/{session['id']}"), 200)


def undo(client: TestClient, session: dict[str, Any], number: int) -> int:
    return client.delete(f"{SESSIONS}/{session['id']}/answers/{number}").status_code


def by_object(client: TestClient) -> dict[str, Any]:
    """The toy without groups: q1 parts it in two, then q2 or q3 do."""
    return made(client.post(MODELS, json=without_groups()))


def test_a_session_asks_until_it_knows(client: TestClient) -> None:
    model = by_object(client)
    response = client.post(f"{MODELS}/{model['id']}/sessions")
    session = made(response)
    assert response.headers["location"] == f"{SESSIONS}/{session['id']}"
    assert session["next_query"] == {"name": "q1", "gain": pytest.approx(1), "order": None, "test": None}
    assert session["remaining"] == [{"object": f"o{i}", "probability": 0.25} for i in range(1, 5)]
    assert (session["answers"], session["done"], session["result"]) == ([], False, None)
    session = made(give(client, session, True), 200)
    assert session["answers"] == [{"number": 1, "query": "q1", "answer": True, "volunteered": False, "test": None}]
    assert session["remaining"] == [{"object": name, "probability": 0.5} for name in ("o2", "o4")]
    session = made(give(client, session, False), 200)
    assert (session["done"], session["status"], session["next_query"]) == (True, "identified", None)
    assert session["result"] == {
        "status": "identified", "object": "o4", "group": None, "probability": 1, "objects": ["o4"],
    }  # fmt: skip
    assert look(client, session) == session


def test_of_groups_only_the_group_is_identified(client: TestClient) -> None:
    session = run_session(client, make_model(client)["id"], lambda _: True)
    assert session["remaining"] == [{"group": "1", "probability": 1}]
    assert session["result"]["group"] == "1"
    assert session["result"]["objects"] == ["o1", "o2", "o3"]


def test_sessions_are_listed_and_deleted(client: TestClient) -> None:
    model_id = by_object(client)["id"]
    first, second = (open_session(client, model_id) for _ in range(2))
    given = made(give(client, first, True), 200)
    page = made(client.get(f"{MODELS}/{model_id}/sessions", params={"limit": 1}), 200)
    assert [(item["id"], item["answers"]) for item in page["items"]] == [(first["id"], given["answers"])]
    rest = made(client.get(f"{MODELS}/{model_id}/sessions", params={"cursor": page["next_cursor"]}), 200)
    assert [item["id"] for item in rest["items"]] == [second["id"]]
    assert client.delete(f"{SESSIONS}/{first['id']}").status_code == 204
    assert client.get(f"{SESSIONS}/{first['id']}").status_code == 404
    assert client.delete(f"{SESSIONS}/{first['id']}").status_code == 404


class TestUndo:
    def test_takes_the_last_answer_back_and_no_other(self, client: TestClient) -> None:
        opened = open_session(client, by_object(client)["id"])
        first = made(give(client, opened, True), 200)
        made(give(client, first, False), 200)
        assert [undo(client, opened, number) for number in (1, 3, 99, 0, -1)] == [409] * 5
        assert undo(client, opened, 2) == 204
        back = look(client, opened)
        assert {**back, "changed_at": None} == {**first, "changed_at": None}
        assert undo(client, opened, 2) == 409  # a request that arrives twice takes one answer back
        assert undo(client, opened, 1) == 204
        assert undo(client, opened, 1) == 409
        assert look(client, opened)["remaining"] == opened["remaining"]

    def test_of_no_number_at_all(self, client: TestClient) -> None:
        session = open_session(client, by_object(client)["id"])
        assert client.delete(f"{SESSIONS}/{session['id']}/answers/last").status_code == 422

    def test_lets_the_question_be_answered_otherwise(self, client: TestClient) -> None:
        session = open_session(client, by_object(client)["id"])
        made(give(client, session, True), 200)
        undo(client, session, 1)
        other = made(give(client, look(client, session), False), 200)
        assert [each["object"] for each in other["remaining"]] == ["o1", "o3"]


class TestAnAnswer:
    def test_that_is_not_available_is_not_asked_for_again(self, client: TestClient) -> None:
        session = run_session(client, by_object(client)["id"], lambda _: None)
        assert [answer["query"] for answer in session["answers"]] == ["q1", "q2", "q3"]
        assert (session["status"], session["next_query"]) == ("ambiguous", None)
        assert session["result"]["objects"] == ["o1", "o2", "o3", "o4"]
        assert session["result"]["object"] is None

    def test_to_a_query_that_was_not_asked(self, client: TestClient) -> None:
        session = open_session(client, by_object(client)["id"])
        assert set(find_faults(give(client, session, True, "q3"))) == {"/query"}
        assert "no such query" in find_faults(give(client, session, True, "q9"))["/query"]
        assert look(client, session) == session

    def test_to_a_query_that_was_answered_before(self, client: TestClient) -> None:
        session = open_session(client, by_object(client)["id"])
        after = made(give(client, session, True), 200)
        assert "answered before" in find_faults(give(client, after, False, "q1"))["/query"]

    def test_after_the_end(self, client: TestClient) -> None:
        session = run_session(client, make_model(client)["id"], lambda _: True)
        assert give(client, session, True, "q1").status_code == 409

    @pytest.mark.parametrize(
        ("body", "pointers"),
        [
            ({}, {"/query", "/answer"}),
            ({"query": "q1", "answer": 1}, {"/answer"}),
            ({"query": ["q1"], "answer": "yes", "why": ""}, {"/query", "/answer", "/why"}),
            ({"query": "q\ud800", "answer": None}, {"/query"}),
        ],
    )
    def test_that_is_none(self, client: TestClient, body: dict[str, Any], pointers: set[str]) -> None:
        session = open_session(client, by_object(client)["id"])
        url, content = f"{SESSIONS}/{session['id']}/answers", json.dumps(body)
        response = client.post(url, content=content, headers={"Content-Type": "application/json"})
        assert set(find_faults(response)) == pointers

    def test_sent_twice_with_a_key_counts_once(self, client: TestClient) -> None:
        session = open_session(client, by_object(client)["id"])
        url, key = f"{SESSIONS}/{session['id']}/answers", {"Idempotency-Key": "k"}
        first, again = (client.post(url, json={"query": "q1", "answer": True}, headers=key) for _ in range(2))
        assert made(first, 200) == made(again, 200)
        assert again.headers["idempotency-replayed"] == "true"
        assert len(look(client, session)["answers"]) == 1

    @pytest.mark.parametrize("second", [give, lambda client, session, _: client.delete(f"{SESSIONS}/{session['id']}")])
    def test_of_two_at_once_one_wins(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch, second: Callable[..., Any]
    ) -> None:
        session = open_session(client, by_object(client)["id"])
        computed, go_on = threading.Event(), threading.Event()
        answer = Sessions.answer

        def slow(*arguments: Any, **named: Any) -> Any:
            after = answer(*arguments, **named)
            computed.set()
            assert go_on.wait(30)
            return after

        codes: list[int] = []
        with monkeypatch.context() as patch:
            patch.setattr(Sessions, "answer", slow)
            first = threading.Thread(target=lambda: codes.append(give(client, session, True).status_code))
            first.start()
            assert computed.wait(30)
        try:
            assert second(client, session, False).status_code in {200, 204}
        finally:
            go_on.set()
            first.join()
        assert codes == [409]


class TestAContradiction:
    """In the toy no object answers yes to both q3 and q1."""

    def contradict(self, client: TestClient) -> dict[str, Any]:
        session = made(give(client, open_session(client, by_object(client)["id"]), True), 200)
        body = {"query": "q3", "answer": True, "volunteered": True}
        return made(client.post(f"{SESSIONS}/{session['id']}/answers", json=body), 200)

    def test_is_told_with_the_answers_that_conflict_and_what_comes_nearest(self, client: TestClient) -> None:
        session = self.contradict(client)
        assert (session["status"], session["done"], session["remaining"]) == ("contradictory", True, [])
        assert session["contradiction"]["conflicting"] == [1, 2]
        nearest = {near["object"]: near["disagrees"] for near in session["contradiction"]["nearest"]}
        assert nearest == {"o1": [1], "o2": [2], "o4": [2]}
        assert session["result"]["status"] == "contradictory"
        assert look(client, session) == session

    def test_ends_when_an_answer_is_taken_back(self, client: TestClient) -> None:
        session = self.contradict(client)
        assert give(client, session, True, "q2").status_code == 409
        assert undo(client, session, 2) == 204
        back = look(client, session)
        assert (back["status"], back["contradiction"]) == ("asking", None)


class TestOpening:
    def test_with_what_is_known(self, client: TestClient) -> None:
        known = [{"query": "q1", "answer": True}, {"query": "q3", "answer": None}]
        session = open_session(client, by_object(client)["id"], known=known)
        assert [answer["volunteered"] for answer in session["answers"]] == [True, True]
        assert session["next_query"]["name"] == "q2"
        assert session["n_remaining"] == 2

    def test_with_what_cannot_be_used(self, client: TestClient) -> None:
        known = [{"query": "q1", "answer": True}, {"query": "q1", "answer": True}, {"query": "?", "answer": None}]
        url = f"{MODELS}/{by_object(client)['id']}/sessions"
        response = client.post(url, json={"certainty": 0, "known": known})
        assert set(find_faults(response)) == {"/certainty", "/known/1/query", "/known/2/query"}
        assert set(find_faults(client.post(url, json={"sure": 1}))) == {"/sure"}

    def test_lists_as_many_candidates_as_are_wanted(self, client: TestClient) -> None:
        url = f"{MODELS}/{by_object(client)['id']}/sessions"
        session = made(client.post(url, params={"remaining": 1}))
        assert (len(session["remaining"]), session["n_remaining"]) == (1, 4)
        assert set(find_faults(client.post(url, params={"remaining": -1}))) == {"/remaining"}

    def test_where_there_is_nothing_to_ask(self, client: TestClient) -> None:
        model = make_model(client, objects=[{"name": "o1"}], responses=[[0, 1, 1]])
        session = open_session(client, model["id"])
        assert (session["status"], session["result"]["object"]) == ("identified", "o1")


class TestWrongAnswers:
    def noisy(self, client: TestClient) -> str:
        rates = {"false_positive_rate": 0.1, "false_negative_rate": 0.2}
        queries = [{"name": f"q{i}", **rates} for i in range(1, 4)]
        return str(make_model(client, queries=queries)["id"])

    def test_are_weighed_by_bayes(self, client: TestClient) -> None:
        session = open_session(client, self.noisy(client), known=[{"query": "q2", "answer": False}])
        # P(no | 1) = .2 of o1, o2, o3; P(no | 0) = .9 of o4.
        remaining = {each["group"]: each["probability"] for each in session["remaining"]}
        assert remaining == pytest.approx({"1": 0.6 / 1.5, "2": 0.9 / 1.5})
        assert session["certainty"] == 0.95
        assert session["status"] == "asking"

    def test_end_the_session_at_its_certainty(self, client: TestClient) -> None:
        session = open_session(client, self.noisy(client), certainty=0.9)
        while not session["done"]:  # as object 1 would answer
            session = made(give(client, session, session["next_query"]["name"] != "q1"), 200)
        assert (session["status"], session["result"]["group"]) == ("identified", "1")
        assert 0.9 <= session["result"]["probability"] < 1


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        *((backend, "zoo") for backend in BACKENDS),
        pytest.param("sqlite", "dermatology_binary", marks=pytest.mark.slow),
        pytest.param("sqlite", "many_diseases", marks=pytest.mark.slow),
    ],
)
def test_a_session_for_every_object_of_a_real_matrix_ends_where_it_should(client: TestClient, name: str) -> None:
    rows = rows_of(real(name))
    model = made(client.post(MODELS, files=upload(real(name))))
    assert model["n_objects"] == len(rows)
    twins = {f"object {i + 1}" for i, row in enumerate(rows) if _has_twin_elsewhere(row, rows)}
    assert {each for same in model["unidentifiable"] for each in same} == twins
    asked = []
    for number, row in enumerate(rows, 1):
        session = run_session(client, model["id"], lambda query, row=row: row[query] == "1")
        asked.append(len(session["answers"]))
        result = session["result"]
        assert f"object {number}" in result["objects"]
        if f"object {number}" in twins:
            assert (result["status"], result["group"]) == ("ambiguous", None)
        else:
            assert (result["status"], result["group"]) == ("identified", row["group"])
    assert np.mean(asked) == pytest.approx(model["expected_cost"], abs=1e-9)
    assert max(asked) == model["worst_case"]


def _has_twin_elsewhere(row: dict[str, str], rows: list[dict[str, str]]) -> bool:
    """Whether an object of another group has the same responses."""
    return any(
        other["group"] != row["group"] and all(other[name] == row[name] for name in row if name != "group")
        for other in rows
    )


def test_the_matrices_hold_what_is_said_of_them() -> None:
    found = {}
    for name in ("zoo", "dermatology_binary", "many_diseases"):
        rows = rows_of(real(name))
        twins = sum(_has_twin_elsewhere(row, rows) for row in rows)
        found[name] = (len(rows), len({row["group"] for row in rows}), len(rows[0]) - 1, twins)
    assert found["many_diseases"] == (305, 41, 132, 0)
    assert found["dermatology_binary"][3] == 2


def test_a_session_goes_on_on_a_server_that_was_started_anew(
    client: TestClient, database: Database, files: Files
) -> None:
    first = made(give(client, open_session(client, by_object(client)["id"]), True), 200)
    anew = TestClient(create_app(Settings(upload_mb=1), database, files, local_owner=True), base_url=LOCAL)
    assert look(anew, first) == first
    assert made(give(anew, first, True), 200)["result"]["object"] == "o2"


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_session_goes_on_in_another_process(client: TestClient, database: Database, tmp_path: Path) -> None:
    first = made(give(client, open_session(client, by_object(client)["id"]), True), 200)
    code = (
        "import sys; from fastapi.testclient import TestClient; from api.app import create_app\n"
        "from autoprog.settings import Settings; from autoprog.storage.database import Database\n"
        "from autoprog.storage.files import Files\n"
        "app = create_app(Settings(), Database(sys.argv[1]), Files(sys.argv[2]), local_owner=True)\n"
        f"client = TestClient(app, base_url={LOCAL!r})\n"
        "print(client.post(sys.argv[3], json={'query': sys.argv[4], 'answer': False}).status_code)\n"
    )
    arguments = [
        database.url,
        str(tmp_path / "files"),
        f"{SESSIONS}/{first['id']}/answers",
        first["next_query"]["name"],
    ]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.split() == [b"200"]
    assert look(client, first)["result"]["object"] == "o4"


def test_the_tree_and_the_sessions_ask_the_same(client: TestClient) -> None:
    model = make_model(client, **{**toy(algorithm="gbs"), "name": "by gbs"})
    nodes = {node["node"]: node for node in made(client.get(f"{MODELS}/{model['id']}/tree"), 200)["nodes"]}
    for number, row in enumerate(RESPONSES, 1):
        session = open_session(client, model["id"])
        node = nodes[0]
        while "query" in node:
            assert session["next_query"]["name"] == node["query"]
            yes = bool(row[int(node["query"][1]) - 1])
            session = made(give(client, session, yes), 200)
            node = nodes[node["yes" if yes else "no"]]
        assert session["done"]
        assert session["result"]["objects"] == node["objects"]
        assert f"o{number}" in node["objects"]


def test_questions_are_asked_at_once(client: TestClient) -> None:
    session = open_session(client, by_object(client)["id"])
    batch = made(client.get(f"{SESSIONS}/{session['id']}/batch", params={"size": 3}), 200)
    assert [each["name"] for each in batch["queries"]] == ["q1", "q2", "q3"][: len(batch["queries"])]
    assert batch["queries"][0] == session["next_query"]
    assert batch["gain"] == pytest.approx(2)
    assert batch["gain"] == pytest.approx(sum(each["gain"] for each in batch["queries"]))
    for name, answer in (("q3", False), ("q2", True), ("q1", True)):
        body = {"query": name, "answer": answer, "volunteered": True}
        session = made(client.post(f"{SESSIONS}/{session['id']}/answers", json=body), 200)
    assert session["result"]["object"] == "o2"
    assert client.get(f"{SESSIONS}/{session['id']}/batch").status_code == 409
    assert client.get(f"{SESSIONS}/{session['id']}/batch", params={"size": 9}).status_code == 422
