from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from autoprog.errors import ArtifactError
from autoprog.storage.files import Files
from tests.api.conftest import MakeClient
from tests.api.diagnosing import MODELS, RESPONSES, find_faults, made, make_model, open_session, toy, without_groups
from tests.api.searching import make_cohort


def test_a_model_is_made_shown_listed_and_deleted(client: TestClient, files: Files) -> None:
    response = client.post(MODELS, json=toy())
    model = made(response)
    assert response.headers["location"] == f"{MODELS}/{model['id']}"
    sizes = {name: model[name] for name in ("n_objects", "n_queries", "n_groups")}
    assert sizes == {"n_objects": 4, "n_queries": 3, "n_groups": 2}
    assert (model["algorithm"], model["stop"], model["exponential_cost_base"]) == ("ggbs", "group", 1)
    assert (model["noisy"], model["unidentifiable"], model["warnings"]) == (False, [], [])
    assert (model["expected_cost"], model["worst_case"]) == (1, 1)
    assert model["entropy_bound"] == pytest.approx(0.811278, abs=1e-6)
    assert (model["tree"]["status"], model["tree"]["n_leaves"]) == ("succeeded", 2)
    assert made(client.get(f"{MODELS}/{model['id']}"), 200) == model
    assert made(client.get(MODELS), 200) == {"items": [model], "next_cursor": None}
    assert client.delete(f"{MODELS}/{model['id']}").status_code == 204
    assert client.get(f"{MODELS}/{model['id']}").status_code == 404
    assert made(client.get(MODELS), 200)["items"] == []


@pytest.mark.parametrize(
    ("changes", "algorithm", "costs"),
    [
        ({"algorithm": "gbs"}, "gbs", (1.5, 2)),
        ({"algorithm": "gbs", "stop": "object"}, "gbs", (2, 2)),
        ({"exponential_cost_base": 2}, "group_lambda_gbs", (1, 1)),
        ({"exponential_cost_base": "inf"}, "group_lambda_gbs", (1, 1)),
    ],
)
def test_the_toy_of_figure_1(client: TestClient, changes: dict[str, Any], algorithm: str, costs: Any) -> None:
    model = make_model(client, **changes)
    assert model["algorithm"] == algorithm
    assert (model["expected_cost"], model["worst_case"]) == costs
    assert model["exponential_cost_base"] == changes.get("exponential_cost_base", 1)


@pytest.mark.parametrize(("base", "algorithm"), [(1, "gbs"), (2, "lambda_gbs")])
def test_without_groups_the_objects_are_identified(client: TestClient, base: float, algorithm: str) -> None:
    model = made(client.post(MODELS, json=without_groups(exponential_cost_base=base)))
    assert (model["algorithm"], model["stop"], model["n_groups"]) == (algorithm, "object", 4)
    assert (model["expected_cost"], model["entropy_bound"]) == (2, 2)


def test_what_no_question_tells_apart_is_listed(client: TestClient) -> None:
    twins = [*RESPONSES, RESPONSES[3], RESPONSES[0]]
    groups = ["1", "1", "1", "2", "1", "1"]
    objects = [{"name": f"o{i}", "group": group} for i, group in enumerate(groups, 1)]
    model = make_model(client, objects=objects, responses=twins)
    assert model["unidentifiable"] == [["o4", "o5"]]  # o1 and o6 need not be told apart
    assert model["n_unidentifiable"] == model["tree"]["n_ambiguous"] == 1


def test_a_prior_of_counts_is_normalised_and_that_is_said(client: TestClient) -> None:
    objects = [{"name": f"o{i}", "prior": i} for i in range(1, 5)]
    model = make_model(client, objects=objects)
    assert model["warnings"] == ["the priors summed to 10 and were normalised"]
    session = open_session(client, model["id"])
    assert [each["probability"] for each in session["remaining"]] == pytest.approx([0.4, 0.3, 0.2, 0.1])


def test_every_fault_is_named_in_one_answer(client: TestClient) -> None:
    body = {
        "name": " ",
        "objects": [
            {"name": "a", "prior": -1, "group": "g"},
            {"name": "a", "prior": 0},
            {"name": "", "prior": "much", "group": "g"},
        ],
        "queries": [
            {"name": "q", "cost": 0},
            {"name": "q", "false_positive_rate": 1},
            {"name": "r", "false_positive_rate": 0.5, "false_negative_rate": 0.5},
        ],
        "responses": [[0, 2, 1], [1, "x", 0], [None, 1, 0]],
        "algorithm": "best",
        "exponential_cost_base": 0.5,
        "ties": "any",
        "seed": -1,
    }
    assert set(find_faults(client.post(MODELS, json=body))) == {
        "/name",
        "/objects/0/prior",
        "/objects/1/name",
        "/objects/1/prior",
        "/objects/1/group",
        "/objects/2/name",
        "/objects/2/prior",
        "/queries/0/cost",
        "/queries/1/name",
        "/queries/1/false_positive_rate",
        "/queries/2",
        "/responses/0/1",
        "/responses/1/1",
        "/responses/2/0",
        "/algorithm",
        "/exponential_cost_base",
        "/ties",
        "/seed",
    }


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"responses": [[0, 1, 1], [1, 1, 0]]}, {"/objects"}),
        ({"responses": [[0, 1], [1, 1], [0, 0], [1, 0]]}, {"/queries"}),
        ({"responses": [[0, 1, 1], [1, 1, 0], [0, 1], [1, 0, 0]]}, {"/responses/2"}),
        ({"objects": [], "queries": [], "responses": []}, {"/responses"}),
        ({"queries": [], "responses": [[], [], [], []]}, {"/responses"}),
        ({"responses": "0110"}, {"/responses"}),
        ({"responses": [[0, None, 1], *RESPONSES[1:]]}, {"/responses/0/1"}),
        ({"exponential_cost_base": "infinite"}, {"/exponential_cost_base"}),
        ({"algorithm": "lambda_gbs", "stop": "group"}, {"/stop"}),
        ({"algorithm": ["gbs"], "stop": 1, "ties": {}, "seed": "1"}, {"/algorithm", "/stop", "/ties", "/seed"}),
        ({"exponential_cost_base": -(10**400), "seed": 2**63}, {"/exponential_cost_base", "/seed"}),
        (
            {"name": "\ud800", "queries": [{"name": "\udfff"}, {"name": "\0"}, {"name": "q"}]},
            {"/name", "/queries/0/name", "/queries/1/name"},
        ),
        ({"colour": "red", "objects": [{"name": "a", "weight": 1}]}, {"/colour", "/objects/0/weight"}),
    ],
)
def test_what_cannot_be_a_model(client: TestClient, changes: dict[str, Any], pointers: set[str]) -> None:
    # Spelt with escapes, as half a surrogate pair could not be sent otherwise.
    content, headers = json.dumps(toy(**changes)), {"Content-Type": "application/json"}
    assert set(find_faults(client.post(MODELS, content=content, headers=headers))) == pointers


def test_a_base_beyond_all_numbers_is_infinite(client: TestClient) -> None:
    assert make_model(client, exponential_cost_base=10**400)["exponential_cost_base"] == "inf"


def test_a_body_that_is_no_json(client: TestClient) -> None:
    response = client.post(MODELS, content=b"{", headers={"Content-Type": "application/json"})
    assert set(find_faults(response)) == {""}
    assert client.post(MODELS, content=b"a,b\n", headers={"Content-Type": "text/csv"}).status_code == 415


def test_a_large_matrix_is_to_be_uploaded(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.diagnosis.models.building.MAX_INLINE_CELLS", 11)
    response = client.post(MODELS, json=toy())
    assert response.status_code == 413
    assert "upload" in response.json()["detail"]


def test_a_cell_may_be_unknown_where_answers_may_be_wrong(client: TestClient) -> None:
    queries = [{"name": "q1", "false_positive_rate": 0.1}, {"name": "q2"}, {"name": "q3", "false_negative_rate": 0.2}]
    model = make_model(client, queries=queries, responses=[[None, 1, None], *RESPONSES[1:]])
    assert model["noisy"]
    assert model["tree"]["status"] == "none"
    assert {model[name] for name in ("expected_cost", "worst_case", "entropy_bound")} == {None}


def test_the_same_request_twice_makes_one_model(client: TestClient) -> None:
    key = {"Idempotency-Key": "k1"}
    first, again = (client.post(MODELS, json=toy(), headers=key) for _ in range(2))
    assert made(first) == made(again)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == first.headers["location"]
    assert len(made(client.get(MODELS), 200)["items"]) == 1
    other = client.post(MODELS, json=toy(name="other"), headers=key)
    assert set(find_faults(other)) == {"/headers/idempotency-key"}


def test_models_are_listed_page_by_page(client: TestClient) -> None:
    ids = [make_model(client, name=f"m{i}")["id"] for i in range(3)]
    first = made(client.get(MODELS, params={"limit": 2}), 200)
    second = made(client.get(MODELS, params={"limit": 2, "cursor": first["next_cursor"]}), 200)
    assert [item["id"] for item in first["items"] + second["items"]] == ids
    assert second["next_cursor"] is None
    assert set(find_faults(client.get(MODELS, params={"cursor": "x"}))) == {"/cursor"}


def test_a_model_is_its_owners(client_of: MakeClient) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    model_id = make_model(ada)["id"]
    session_id = open_session(ada, model_id)["id"]
    session = f"/v1/diagnosis/sessions/{session_id}"
    asked = [
        bob.get(f"{MODELS}/{model_id}"),
        bob.delete(f"{MODELS}/{model_id}"),
        bob.get(f"{MODELS}/{model_id}/tree"),
        bob.post(f"{MODELS}/{model_id}/tree"),
        bob.get(f"{MODELS}/{model_id}/optimum"),
        bob.get(f"{MODELS}/{model_id}/sessions"),
        bob.post(f"{MODELS}/{model_id}/sessions"),
        bob.get(session),
        bob.delete(session),
        bob.post(f"{session}/answers", json={"query": "q2", "answer": True}),
        bob.delete(f"{session}/answers/1"),
    ]
    assert {response.status_code for response in asked} == {404}
    assert made(bob.get(MODELS), 200)["items"] == []
    assert made(ada.get(session), 200)["answers"] == []


def test_a_key_that_reads_makes_no_model(client_of: MakeClient) -> None:
    reader = client_of("ada", "read")
    assert reader.post(MODELS, json=toy()).status_code == 403
    assert reader.get(MODELS).status_code == 200


def test_deleting_a_model_deletes_what_hangs_on_it(client: TestClient, files: Files) -> None:
    first, second = make_model(client), make_model(client)
    session = open_session(client, first["id"])
    assert first["sha256"] == second["sha256"]
    client.delete(f"{MODELS}/{first['id']}")
    assert client.get(f"/v1/diagnosis/sessions/{session['id']}").status_code == 404
    assert client.get(f"{MODELS}/{second['id']}/tree").status_code == 200
    assert files.get("diagnosis_models", second["sha256"])
    client.delete(f"{MODELS}/{second['id']}")
    with pytest.raises(ArtifactError, match="missing"):
        files.get("diagnosis_models", second["sha256"])


class TestOfACohort:
    FINDINGS = ("sex", "cp", "thalach", "exang")

    def test_patients_become_distinct_rows_with_multiplicities(self, client: TestClient) -> None:
        asked = {"name": "chest pain", "cohort_id": make_cohort(client)["id"], "findings": list(self.FINDINGS)}
        model = made(client.post(MODELS, json={**asked, "thresholds": {"thalach": [120, 150]}}))
        assert model["cohort_id"] == asked["cohort_id"]
        assert model["thresholds"] == {"thalach": [120, 150]}
        assert model["n_queries"] == 1 + 4 + 2 + 1
        assert model["n_groups"] == 2
        assert model["n_objects"] < 303
        assert model["warnings"] == ["the priors summed to 303 and were normalised"]
        groups = {each["group"]: each["probability"] for each in open_session(client, model["id"])["remaining"]}
        assert groups == pytest.approx({"outcome = 0": 164 / 303, "outcome = 1": 139 / 303})

    def test_thresholds_that_are_not_given_are_learnt_alike_each_time(self, client: TestClient) -> None:
        asked = {"name": "m", "cohort_id": make_cohort(client)["id"], "findings": ["age", "thalach"], "seed": 3}
        first, again = (made(client.post(MODELS, json=asked)) for _ in range(2))
        assert set(first["thresholds"]) == {"age", "thalach"}
        assert first["thresholds"] == again["thresholds"]
        assert first["sha256"] == again["sha256"]

    def test_every_fault_is_named_in_one_answer(self, client: TestClient) -> None:
        asked = {
            "name": "",
            "cohort_id": make_cohort(client)["id"],
            "group": "diagnosis",
            "thresholds": {"sex": [1], "age": []},
            "seed": -1,
            "exponential_cost_base": 0,
        }
        assert set(find_faults(client.post(MODELS, json=asked))) == {
            "/name",
            "/seed",
            "/exponential_cost_base",
            "/group",
            "/thresholds/sex",
            "/thresholds/age",
            "/findings/ca",
            "/findings/thal",
        }

    def test_a_cohort_of_another_owner_is_not_there(self, client_of: MakeClient) -> None:
        cohort_id = make_cohort(client_of("ada"))["id"]
        response = client_of("bob").post(MODELS, json={"name": "m", "cohort_id": cohort_id, "findings": ["sex"]})
        assert response.status_code == 404

    @pytest.mark.parametrize(("models", "status"), [("keep", 200), ("delete", 404)])
    def test_what_becomes_of_it_when_the_cohort_is_deleted(self, client: TestClient, models: str, status: int) -> None:
        cohort_id = make_cohort(client)["id"]
        model = made(client.post(MODELS, json={"name": "m", "cohort_id": cohort_id, "findings": ["sex", "cp"]}))
        assert client.delete(f"/v1/cohorts/{cohort_id}", params={"models": models}).status_code == 204
        response = client.get(f"{MODELS}/{model['id']}")
        assert response.status_code == status
        if status == 200:
            assert response.json()["cohort_id"] is None


def test_many_that_are_alike_are_counted_and_the_first_named(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.diagnosis.models.service._MAX_NAMES", 3)
    monkeypatch.setattr("api.diagnosis.models.service._MAX_IN_A_SET", 2)
    objects = [{"name": f"o{i}", "group": f"g{i}"} for i in range(9)]
    model = make_model(client, objects=objects, queries=[{"name": "a"}, {"name": "b"}], responses=[
        [0, 0], [0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]])  # fmt: skip
    assert model["unidentifiable"] == [["o0", "o1"], ["o3", "o4"]]
    assert model["n_unidentifiable"] == 4


def test_bodies_are_described_with_examples_that_are_accepted(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    content = document["paths"][MODELS]["post"]["requestBody"]["content"]
    assert set(content) == {"application/json", "multipart/form-data"}
    assert content["multipart/form-data"]["schema"]["required"] == ["file", "spec"]
    schemas = document["components"]["schemas"]
    (example,) = schemas["DiagnosisModelRequest"]["examples"]
    model = made(client.post(MODELS, json=example))
    for example in schemas["SessionRequest"]["examples"]:
        open_session(client, model["id"], **example)
    (learner,) = schemas["LearnerRequest"]["examples"]
    made(client.post("/v1/diagnosis/learners", json=learner))
    assert schemas["AnswerRequest"]["examples"]
    assert schemas["DiagnosisObject"]["properties"]["prior"]["exclusiveMinimum"] == 0


def test_wrong_answers_that_stay_the_same_have_a_tree(client: TestClient) -> None:
    noisy = [{"name": f"q{i}", "false_positive_rate": 0.1, "false_negative_rate": 0.1} for i in range(1, 7)]
    code = [[0] * 6, [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1] * 6]
    objects = [{"name": f"o{i}"} for i in range(4)]
    changes: dict[str, Any] = {"objects": objects, "queries": noisy, "responses": code, "exponential_cost_base": 2}
    assert (free := make_model(client, **changes))["tree"]["status"] == "none"
    assert (free["max_objects"], free["max_errors"]) == (1, None)
    model = make_model(client, **changes, max_errors=1)
    # each object with no wrong answer, or with one of six
    assert (model["n_objects"], model["n_groups"], model["max_errors"]) == (28, 4, 1)
    assert (model["algorithm"], model["stop"], model["noisy"]) == ("group_lambda_gbs", "group", False)
    assert (model["tree"]["status"], model["tree"]["n_ambiguous"]) == ("succeeded", 0)
    assert model["exponential_cost"] >= model["exponential_bound"]
    assert "more than 1 wrong answers" in model["warnings"][0]
    session = open_session(client, model["id"])
    asked = 0
    while not session["done"]:
        name = session["next_query"]["name"]
        wrong = asked == 0  # the first answer is
        said = bool(code[1][int(name[1:]) - 1]) ^ wrong
        session = made(
            client.post(f"/v1/diagnosis/sessions/{session['id']}/answers", json={"query": name, "answer": said}), 200
        )
        asked += 1
    assert session["result"]["group"] == "o1"


@pytest.mark.parametrize(
    ("priors", "p"),
    [
        ((0.5, 0.25, 0.25), (0.5, 0.25, 0.25)),
        ((0.3, 0.2, 0.1), (0.3, 0.2, 0.1)),
        ((0.9, 0.8, 0.1), (0.9, 0.8, 0.1)),
        ((2, 1, 1), (0.5, 0.25, 0.25)),
    ],
)
def test_several_objects_at_once(
    client: TestClient, priors: tuple[float, float, float], p: tuple[float, float, float]
) -> None:
    objects = [{"name": name, "prior": prior} for name, prior in zip(("flu", "cold", "gout"), priors, strict=True)]
    queries = [{"name": name} for name in ("fever", "cough", "toe")]
    model = make_model(
        client, objects=objects, queries=queries, responses=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], max_objects=2
    )
    assert (model["n_objects"], model["max_objects"]) == (6, 2)
    assert (model["warnings"] == []) == (sum(priors) == 1 or max(priors) < 1)
    session = open_session(client, model["id"])
    names = {each["object"]: each["probability"] for each in session["remaining"]}
    a, b, c = (each / (1 - each) for each in p)
    odds = {"flu": a, "cold": b, "gout": c, "flu + cold": a * b, "flu + gout": a * c, "cold + gout": b * c}
    assert names == pytest.approx({name: p / sum(odds.values()) for name, p in odds.items()})


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"max_objects": 0}, "/max_objects", "at least 1"),
        ({"max_objects": "two"}, "/max_objects", "at least 1"),
        ({"max_errors": 1}, "/max_errors", "no query has an error rate"),
        ({"max_errors": -1}, "/max_errors", "at least 0"),
    ],
)
def test_expansions_that_cannot_be(client: TestClient, changes: dict[str, Any], pointer: str, words: str) -> None:
    response = client.post(MODELS, json=toy(**changes))
    assert response.status_code == 422
    assert any(e["pointer"] == pointer and words in e["detail"] for e in response.json()["errors"])


def test_both_expansions_are_told_of_at_once(client: TestClient) -> None:
    assert set(find_faults(client.post(MODELS, json=toy(max_objects=0, max_errors=1)))) == {
        "/max_objects",
        "/max_errors",
    }


def test_a_cohort_is_expanded_too(client: TestClient) -> None:
    rates = {"false_positive_rate": 0.05, "false_negative_rate": 0.05}
    asked = {"name": "m", "cohort_id": make_cohort(client)["id"], "findings": ["sex", "cp"], **rates}
    noisy, exact = (made(client.post(MODELS, json={**asked, "max_errors": most})) for most in (None, 1))
    assert (noisy["noisy"], exact["noisy"], exact["tree"]["status"]) == (True, False, "succeeded")
    # one variant without a wrong answer, and one for each query
    assert exact["n_objects"] == noisy["n_objects"] * (1 + noisy["n_queries"])
