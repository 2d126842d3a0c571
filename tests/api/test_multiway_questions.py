"""Questions with more than two answers, by REST: the same as the library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from api.diagnosis.models.schemas import MAX_INLINE_CELLS
from autoprog.diagnosis import build_multiway_model, expected_cost, grow_multiway_tree, multiway_bounds
from tests.api.diagnosing import find_faults, made

URL = "/v1/diagnosis/multiway-questions"
ANAEMIA: dict[str, Any] = {
    "objects": [
        {"name": "iron deficiency"},
        {"name": "thalassaemia"},
        {"name": "B12 deficiency"},
        {"name": "bleeding"},
    ],
    "queries": [{"name": "cell volume"}, {"name": "ferritin", "answers": ["low", "normal", "high"]}],
    "responses": [["low", "low"], ["low", "normal"], ["high", "normal"], ["normal", "low"]],
}


def ask(client: TestClient, **changes: Any) -> dict[str, Any]:
    return made(client.post(URL, json={**ANAEMIA, **changes}), 200)


def test_a_session_of_answers_identifies(client: TestClient) -> None:
    first = ask(client)
    assert (first["status"], first["tree"]) == ("asking", None)
    assert first["next_query"] == {"name": "cell volume", "answers": ["low", "high", "normal"]}
    assert [each["probability"] for each in first["remaining"]] == [0.25] * 4
    second = ask(client, answers={"cell volume": "low"})
    assert second["next_query"] == {"name": "ferritin", "answers": ["low", "normal", "high"]}
    assert {each["name"] for each in second["remaining"]} == {"iron deficiency", "thalassaemia"}
    last = ask(client, answers={"cell volume": "low", "ferritin": "normal"})
    assert (last["status"], last["next_query"]) == ("identified", None)
    assert last["remaining"] == [{"name": "thalassaemia", "probability": 1}]
    assert ask(client, answers={"cell volume": "low", "ferritin": "high"})["status"] == "contradictory"
    assert ask(client, answers={"cell volume": None, "ferritin": None})["status"] == "ambiguous"


def test_the_tree_is_the_library_s(client: TestClient) -> None:
    rng = np.random.default_rng(0)
    responses = [[f"a{c}" for c in row] for row in rng.integers(0, 4, size=(30, 6))]
    groups, prior = [f"g{k}" for k in rng.integers(5, size=30)], rng.dirichlet(np.ones(30)).tolist()
    objects = [{"name": f"o{i}", "group": groups[i], "prior": prior[i]} for i in range(30)]
    queries = [{"name": f"q{q}", "cost": 1 + q / 4} for q in range(6)]
    body = {"objects": objects, "queries": queries, "responses": responses, "exponential_cost_base": 1.5}
    found = ask(client, **body, tree=True)
    model = build_multiway_model(
        responses, objects=[f"o{i}" for i in range(30)], queries=[f"q{q}" for q in range(6)], groups=groups,
        prior=prior, costs=[1 + q / 4 for q in range(6)], exponential_cost_base=1.5,
    )  # fmt: skip
    tree = grow_multiway_tree(model)
    told = found["tree"]
    assert told["expected_cost"] == expected_cost(tree)
    assert told["entropy_bound"] == multiway_bounds(model).expected
    assert len(told["nodes"]) == tree.n_nodes
    assert found["next_query"]["name"] == told["nodes"][0]["query"]
    for i in range(30):  # every object ends where its answers lead
        node = told["nodes"][0]
        while node["query"] is not None:
            node = told["nodes"][node["children"][responses[i][int(node["query"][1:])]]]
        assert f"o{i}" in node["objects"]


def test_every_fault_is_named(client: TestClient) -> None:
    wrong = {
        "objects": [{"name": "a"}, {"name": "a", "prior": -1}],
        "queries": [{"name": "q", "answers": ["x", "x"]}, {"name": "r", "cost": 0}],
        "responses": [["x", "y"], ["x"]],
        "exponential_cost_base": 0.5,
        "answers": {"q": 3},
        "colour": "red",
    }
    faults = find_faults(client.post(URL, json=wrong))
    assert {"/colour", "/responses/1", "/exponential_cost_base", "/answers/q", "/queries/1/cost"} <= set(faults)
    assert set(find_faults(client.post(URL, json={**ANAEMIA, "responses": 3}))) == {"/responses"}
    assert set(find_faults(client.post(URL, json={**ANAEMIA, "responses": [3, ["low", "low"]]}))) == {"/responses/0"}
    assert set(find_faults(client.post(URL, json={**ANAEMIA, "answers": []}))) == {"/answers"}
    twice = [{"name": "cell volume", "answers": "low"}, {"name": "ferritin", "answers": ["low", "low"]}]
    assert set(find_faults(client.post(URL, json={**ANAEMIA, "queries": twice}))) == {"/queries/0/answers"}
    for answer in ({}, 1, ""):
        odd = [{"name": "cell volume", "answers": ["low", answer]}, {"name": "ferritin"}]
        assert "/queries/0/answers" in find_faults(client.post(URL, json={**ANAEMIA, "queries": odd}))
    twice[0] = {"name": "cell volume"}
    assert "/queries/1/answers" in find_faults(client.post(URL, json={**ANAEMIA, "queries": twice}))
    unknown = {"cell volume": "huge", "colour": "pale"}
    assert set(find_faults(client.post(URL, json={**ANAEMIA, "answers": unknown}))) == {
        "/answers/cell volume", "/answers/colour",
    }  # fmt: skip


@pytest.mark.slow
def test_a_model_that_is_too_large_is_refused(client: TestClient) -> None:
    rows = [["x"] * 1000] * (MAX_INLINE_CELLS // 1000 + 1)
    assert client.post(URL, json={**ANAEMIA, "responses": rows}).status_code == 413
