from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from autoprog.jobs import JobKind
from autoprog.jobs.runner import JobRunner
from autoprog.jobs.work import WORK
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.job_store import DatabaseJobStore
from autoprog.work import CallStatus
from tests.api.conftest import MakeClient
from tests.api.diagnosing import MODELS, find_faults, made, make_model, real, toy, upload
from tests.search.inline import InlineDispatcher

JOBS = "/v1/jobs"


def get_tree(client: TestClient, model: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    return made(client.get(f"{MODELS}/{model['id']}/tree", params=parameters), 200)


@pytest.fixture
def zoo(client: TestClient) -> dict[str, Any]:
    return made(client.post(MODELS, files=upload(real("zoo"))))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tree is too large to be built while the client waits."""
    monkeypatch.setattr("api.diagnosis.models.service.MAX_CELLS_AT_ONCE", 0)


@pytest.fixture
def runner(database: Database, files: Files) -> JobRunner:
    return JobRunner(DatabaseJobStore(database, files), InlineDispatcher(), WORK, runner_id="test", lease_s=60.0)


def test_the_tree_of_the_toy(client: TestClient) -> None:
    tree = get_tree(client, make_model(client))
    root, no, yes = tree["nodes"]
    assert (root["query"], root["no"], root["yes"], root["probability"]) == ("q2", 1, 2, 1)
    assert (no["objects"], no["group"], no["probability"]) == (["o4"], "2", 0.25)
    assert (yes["objects"], yes["group"], yes["probability"]) == (["o1", "o2", "o3"], "1", 0.75)
    assert "query" not in no
    assert (tree["node"], tree["depth"], tree["complete"], tree["n_nodes"]) == (0, 1, True, 3)
    assert (tree["expected_cost"], tree["worst_case"]) == (1, 1)


def test_a_tree_comes_in_parts_that_make_the_whole(client: TestClient, zoo: dict[str, Any]) -> None:
    whole = {node["node"]: node for node in get_tree(client, zoo)["nodes"]}
    assert len(whole) == zoo["tree"]["n_nodes"]
    parts: dict[int, Any] = {}
    waiting = [0]
    while waiting:
        part = get_tree(client, zoo, node=waiting.pop(), depth=1)
        assert len(part["nodes"]) <= 3
        parts |= {node["node"]: node for node in part["nodes"]}
        if not part["complete"]:
            waiting += [node["node"] for node in part["nodes"][1:] if "query" in node]
    assert parts == whole


def test_an_answer_holds_so_many_nodes_and_no_more(
    client: TestClient, zoo: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.diagnosis.models.trees.MAX_NODES", 8)
    tree = get_tree(client, zoo)
    assert 1 < len(tree["nodes"]) <= 8
    assert not tree["complete"]
    response = client.get(f"{MODELS}/{zoo['id']}/tree", params={"depth": 50})
    assert set(find_faults(response)) == {"/depth"}


def test_nodes_that_are_not_there(client: TestClient) -> None:
    url = f"{MODELS}/{make_model(client)['id']}/tree"
    assert set(find_faults(client.get(url, params={"node": 3}))) == {"/node"}
    assert set(find_faults(client.get(url, params={"node": -1, "depth": -1}))) == {"/node", "/depth"}
    assert set(find_faults(client.get(url, params={"node": 3, "format": "svg"}))) == {"/node"}
    assert set(find_faults(client.get(url, params={"format": "png"}))) == {"/format"}


def test_a_leaf_of_what_nothing_tells_apart_is_ambiguous(client: TestClient) -> None:
    model = make_model(client, responses=[[0, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]])
    leaves = [node for node in get_tree(client, model)["nodes"] if "objects" in node]
    (ambiguous,) = [leaf for leaf in leaves if leaf["group"] is None]
    assert ambiguous["objects"] == ["o3", "o4"]
    assert ambiguous["groups"] == {"1": 0.5, "2": 0.5}
    assert all({"objects", "group", "probability"} <= set(leaf) and "query" not in leaf for leaf in leaves)


class TestAPicture:
    def test_by_the_header(self, client: TestClient) -> None:
        url = f"{MODELS}/{make_model(client)['id']}/tree"
        svg = client.get(url, headers={"Accept": "image/svg+xml"})
        assert svg.headers["content-type"] == "image/svg+xml"
        assert "default-src 'none'" in svg.headers["content-security-policy"]
        text = client.get(url, headers={"Accept": "text/plain;q=0.9, application/json;q=0.1"})
        assert text.headers["content-type"].startswith("text/plain")
        assert "q2" in text.text
        for accept in ("application/json", "*/*", "text/html"):
            assert client.get(url, headers={"Accept": accept}).json()["n_nodes"] == 3

    def test_names_cannot_break_out_of_it(self, client: TestClient) -> None:
        name = '<script>alert("&")</script>'
        model = make_model(client, queries=[{"name": "q1"}, {"name": name}, {"name": "q3"}])
        svg = client.get(f"{MODELS}/{model['id']}/tree", params={"format": "svg"}).text
        root = ET.fromstring(svg)  # noqa: S314  what we have just written
        assert not [each for each in root.iter() if each.tag.endswith("script")]
        assert any(name in (each.text or "") for each in root.iter())

    def test_a_large_one_folds(self, client: TestClient, zoo: dict[str, Any]) -> None:
        url = f"{MODELS}/{zoo['id']}/tree"
        whole = client.get(url, params={"format": "text"}).text
        folded = client.get(url, params={"format": "text", "depth": 1}).text
        assert len(folded.splitlines()) < len(whole.splitlines())
        below = client.get(url, params={"format": "svg", "node": 1, "depth": 0})
        assert below.status_code == 200


class TestALargeTree:
    def test_is_built_by_a_job(self, client: TestClient, later: None, runner: JobRunner) -> None:
        model = make_model(client)
        url = f"{MODELS}/{model['id']}"
        assert model["tree"]["status"] == "none"
        assert {model[name] for name in ("expected_cost", "exponential_cost", "worst_case")} == {None}
        assert model["entropy_bound"] is not None
        assert client.get(f"{url}/tree").status_code == 409
        response = client.post(f"{url}/tree")
        assert (response.headers["location"], response.headers["retry-after"]) == (url, "1")
        queued = made(response, 202)["tree"]
        assert queued["status"] == "queued"
        assert made(client.post(f"{url}/tree"), 202)["tree"]["job_id"] == queued["job_id"]  # one is enough
        assert client.get(f"{url}/tree").status_code == 409
        assert runner.run_one()
        assert not runner.run_one()
        built = made(client.get(url), 200)
        assert (built["tree"]["status"], built["tree"]["n_nodes"], built["expected_cost"]) == ("succeeded", 3, 1)
        assert made(client.post(f"{url}/tree"), 200) == built
        assert get_tree(client, model)["nodes"][0]["query"] == "q2"

    def test_is_the_one_that_would_have_been_built_at_once(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch, runner: JobRunner
    ) -> None:
        at_once = made(client.post(MODELS, files=upload(real("zoo"), ties="random", seed=7)))
        monkeypatch.setattr("api.diagnosis.models.service.MAX_CELLS_AT_ONCE", 0)
        by_job = made(client.post(MODELS, files=upload(real("zoo"), ties="random", seed=7)))
        client.post(f"{MODELS}/{by_job['id']}/tree")
        runner.run_one()
        trees = [get_tree(client, model) for model in (at_once, by_job)]
        assert trees[0]["nodes"] == trees[1]["nodes"]
        assert trees[0]["expected_cost"] == trees[1]["expected_cost"]

    def test_that_fails_says_why_and_may_be_asked_for_again(
        self, client: TestClient, later: None, runner: JobRunner, database: Database, files: Files
    ) -> None:
        url = f"{MODELS}/{make_model(client)['id']}"
        client.post(f"{url}/tree")
        store = DatabaseJobStore(database, files)
        out_of_memory = InlineDispatcher(before=lambda _: CallStatus.MEMORY)
        JobRunner(store, out_of_memory, WORK, runner_id="poor", lease_s=60.0).run_one()
        tree = made(client.get(url), 200)["tree"]
        assert tree["status"] == "failed"
        assert tree["error"]["type"] == "/problems/job-failed"
        assert tree["error"]["detail"] == "memory: as the test says"
        again = made(client.post(f"{url}/tree"), 202)["tree"]
        assert again["status"] == "queued"
        assert again["job_id"] != tree["job_id"]
        runner.run_one()
        assert made(client.get(url), 200)["tree"]["status"] == "succeeded"

    def test_is_given_up_with_its_model(
        self, client: TestClient, later: None, database: Database, files: Files
    ) -> None:
        model = make_model(client)
        made(client.post(f"{MODELS}/{model['id']}/tree"), 202)
        store = DatabaseJobStore(database, files)
        claim = store.claim("test", 60.0, [JobKind.DIAGNOSIS_TREE])
        assert claim is not None
        assert client.delete(f"{MODELS}/{model['id']}").status_code == 204
        assert made(client.get(JOBS), 200)["items"] == []

    def test_asked_for_twice_with_a_key(self, client: TestClient, later: None) -> None:
        url = f"{MODELS}/{make_model(client)['id']}/tree"
        first, again = (client.post(url, headers={"Idempotency-Key": "k"}) for _ in range(2))
        assert made(first, 202) == made(again, 202)
        assert again.headers["idempotency-replayed"] == "true"


class TestAJob:
    def test_tells_how_far_it_is(self, client: TestClient, later: None, runner: JobRunner) -> None:
        model = make_model(client)
        job_id = made(client.post(f"{MODELS}/{model['id']}/tree"), 202)["tree"]["job_id"]
        job = made(client.get(f"{JOBS}/{job_id}"), 200)
        assert (job["kind"], job["subject_id"], job["status"]) == ("diagnosis_tree", model["id"], "queued")
        assert (job["started_at"], job["finished_at"], job["error"]) == (None, None, None)
        runner.run_one()
        ended = made(client.get(f"{JOBS}/{job_id}"), 200)
        assert ended["status"] == "succeeded"
        assert ended["created_at"] <= ended["started_at"] <= ended["finished_at"]
        assert made(client.get(JOBS), 200) == {"items": [ended], "next_cursor": None}

    def test_is_its_owners(self, client_of: MakeClient, later: None) -> None:
        ada, bob = client_of("ada"), client_of("bob")
        job_id = made(ada.post(f"{MODELS}/{make_model(ada)['id']}/tree"), 202)["tree"]["job_id"]
        assert ada.get(f"{JOBS}/{job_id}").status_code == 200
        assert bob.get(f"{JOBS}/{job_id}").status_code == 404
        assert made(bob.get(JOBS), 200)["items"] == []
        assert ada.get(f"{JOBS}/{'0' * 32}").status_code == 404


def test_there_is_no_tree_where_answers_may_be_wrong(client: TestClient) -> None:
    queries = [{"name": f"q{i}", "false_positive_rate": 0.1} for i in range(1, 4)]
    url = f"{MODELS}/{make_model(client, queries=queries)['id']}"
    refused = [client.get(f"{url}/tree"), client.post(f"{url}/tree"), client.get(f"{url}/optimum")]
    assert {response.status_code for response in refused} == {409}


class TestTheOptimum:
    def test_is_never_above_the_grown_tree(self, client: TestClient) -> None:
        rng = np.random.default_rng(1)
        objects = [{"name": f"o{i}", "prior": int(n)} for i, n in enumerate(rng.integers(1, 9, 9))]
        queries = [{"name": f"q{i}", "cost": int(n)} for i, n in enumerate(rng.integers(1, 4, 12))]
        responses = rng.integers(0, 2, (9, 12)).tolist()
        for base in (1, 3, "inf"):
            body = toy(objects=objects, queries=queries, responses=responses, exponential_cost_base=base)
            model = made(client.post(MODELS, json=body))
            best = made(client.get(f"{MODELS}/{model['id']}/optimum"), 200)
            name = {1: "expected_cost", 3: "exponential_cost", "inf": "worst_case"}[base]
            assert best["grown_cost"] == model[name]
            assert best["cost"] <= model[name] + 1e-12
            assert best["nodes"][0]["query"].startswith("q")

    def test_of_another_cost(self, client: TestClient) -> None:
        url = f"{MODELS}/{make_model(client)['id']}/optimum"
        worst = made(client.get(url, params={"objective": "worst_case"}), 200)
        assert (worst["objective"], worst["cost"], worst["grown_cost"]) == ("worst_case", 1, 1)
        assert set(find_faults(client.get(url, params={"objective": "exponential"}))) == {"/objective"}

    def test_of_a_large_model_is_refused(self, client: TestClient, zoo: dict[str, Any]) -> None:
        assert client.get(f"{MODELS}/{zoo['id']}/optimum").status_code == 413
