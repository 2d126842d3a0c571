from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from autoprog.diagnosis.discretization import BanditOptions, CutFeature, CutLearner, CutOptions, candidate_thresholds
from autoprog.storage import connections
from autoprog.storage.database import Database
from tests.api.conftest import MakeClient
from tests.api.diagnosing import find_faults, made
from tests.api.selecting import send
from tests.cohorts import real_cohort
from tests.storage.support import add_owner

LEARNERS = "/v1/threshold-learners"
LEARNER: dict[str, Any] = {
    "name": "diabetes",
    "features": [{"name": "glucose", "thresholds": [100, 125, 150]}, {"name": "noise", "thresholds": [0]}],
    "labels": ["well", "ill"],
    "seed": 3,
}


def make_learner(client: TestClient, **changes: Any) -> dict[str, Any]:
    return made(client.post(LEARNERS, json={**LEARNER, **changes}))


def cases(n: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, n)
    glucose = rng.normal(110 + 30 * ill, 12)
    return [
        {"values": {"glucose": g, "noise": x}, "label": ("well", "ill")[y]}
        for g, x, y in zip(glucose.tolist(), rng.normal(size=n).tolist(), ill.tolist(), strict=True)
    ]


def teach(client: TestClient, learner: dict[str, Any], some: list[dict[str, Any]]) -> dict[str, Any]:
    return made(client.post(f"{LEARNERS}/{learner['id']}/cases", json={"cases": some}), 200)


def test_a_learner_is_made_shown_listed_and_deleted(client: TestClient) -> None:
    response = client.post(LEARNERS, json=LEARNER)
    learner = made(response)
    url = f"{LEARNERS}/{learner['id']}"
    assert response.headers["location"] == url
    assert (learner["updates"], learner["form"], learner["n_cases"]) == ("shared", "loss", 0)
    assert learner["counts"] == {"well": 0, "ill": 0}
    assert made(client.get(url), 200) == learner
    (listed,) = made(client.get(LEARNERS), 200)["items"]
    assert {name: learner[name] for name in listed} == listed
    assert set(learner) - set(listed) == {"cuts", "next_question"}
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404


@pytest.mark.parametrize("updates", ["shared", "queried"])
@pytest.mark.parametrize(
    ("sent", "bandit", "choice"),
    [
        ({}, BanditOptions(), "bandit"),
        ({"form": "gain", "rate": 0.1}, BanditOptions("gain", rate=0.1), "bandit"),
        ({"form": "hedge", "queries": 90}, BanditOptions("hedge", queries=90), "bandit"),
        ({"choice": "exhaustive", "mixing": 0.1}, BanditOptions(mixing=0.1), "exhaustive"),
    ],
)
def test_a_learner_does_what_the_science_does(
    client: TestClient, updates: Any, sent: dict[str, Any], bandit: BanditOptions, choice: Any
) -> None:
    learner = make_learner(client, updates=updates, **sent)
    features = [CutFeature("glucose", (100.0, 125.0, 150.0)), CutFeature("noise", (0.0,))]
    core = CutLearner(features, ["well", "ill"], CutOptions(updates, choice, bandit, seed=3))
    some = cases(40)
    answers = teach(client, learner, some[:15])["items"] + teach(client, learner, some[15:])["items"]
    for case, answer in zip(some, answers, strict=True):
        done = core.study(np.array(list(case["values"].values())), ["well", "ill"].index(case["label"]))
        assert answer["feature"] == features[done.feature or 0].name
        assert (answer["threshold"], answer["above"], answer["certainty"]) == (
            done.threshold,
            done.answer,
            done.certainty,
        )
        assert (answer["predicted"], answer["correct"]) == (
            core.labels[done.predicted],
            core.labels[done.predicted] == case["label"],
        )
    shown = made(client.get(f"{LEARNERS}/{learner['id']}"), 200)
    assert shown["n_cases"] == 40
    assert shown["counts"] == {"well": int(core.counts[0]), "ill": int(core.counts[1])}
    for cut, document in zip(core.cuts(), shown["cuts"], strict=True):
        assert (document["threshold"], document["probability"]) == (cut.threshold, cut.probability)
        assert (document["lower"], document["upper"]) == (cut.lower, cut.upper)
        assert [each["best"] for each in document["candidates"]] == cut.probabilities.tolist()
        assert [each["drawn"] for each in document["candidates"]] == cut.drawn.tolist()
        assert document["above"] == dict(zip(core.labels, cut.above.tolist(), strict=True))
    question = core.question()
    assert shown["next_question"] == {
        "feature": features[question.feature].name,
        "threshold": question.threshold,
    }


def test_the_cut_of_glucose_in_pima(client: TestClient) -> None:
    """768 women in their order: the interval grows narrower, and holds the cut that tells most of all of them."""
    cohort = real_cohort("pima_missing")
    names = [feature.name for feature in cohort.features]
    X = cohort.X[:, [names.index("glucose"), names.index("bp")]]
    tau = candidate_thresholds(X[:, 0], 7)
    asked = {"features": [{"name": "glucose", "sample": X[:, 0][~np.isnan(X[:, 0])].tolist(), "n_thresholds": 7},
                          {"name": "bp", "sample": X[:, 1][~np.isnan(X[:, 1])].tolist()}],
             "labels": ["well", "diabetes"]}  # fmt: skip
    learner = made(client.post(LEARNERS, json=asked))
    assert learner["features"][0]["thresholds"] == tau.tolist()
    assert len(learner["features"][1]["thresholds"]) == 9
    rows = [
        {"values": {name: None if np.isnan(x) else x for name, x in zip(("glucose", "bp"), row, strict=True)},
         "label": ("well", "diabetes")[int(y)]}
        for row, y in zip(X.tolist(), cohort.y, strict=True)
    ]  # fmt: skip
    widths = []
    for part in (rows[:100], rows[100:]):
        teach(client, learner, part)
        shown = made(client.get(f"{LEARNERS}/{learner['id']}"), 200)
        cut = shown["cuts"][0]
        widths.append(cut["upper"] - cut["lower"])
    assert shown["next_question"]["feature"] == "glucose"
    assert widths[1] < widths[0]
    assert cut["lower"] <= cut["threshold"] <= cut["upper"]
    gains = []
    for t in tau:
        above, y = X[:, 0] > t, cohort.y
        seen = ~np.isnan(X[:, 0])
        theta = np.array([[above[seen & (y == j)].mean()] for j in (0, 1)])
        gains.append(information(np.array([np.mean(y == 0), np.mean(y == 1)]), theta[:, 0]))
    assert cut["lower"] <= tau[int(np.argmax(gains))] <= cut["upper"]
    assert cut["information_lower"] < gains[tau.tolist().index(cut["threshold"])] < cut["information_upper"]
    assert cut["n_cases"] == int((~np.isnan(X[:, 0])).sum())


def information(w: np.ndarray, theta: np.ndarray) -> float:
    def h(p: float) -> float:
        return float(-p * np.log2(p) - (1 - p) * np.log2(1 - p))

    return h(float(w @ theta)) - float(w @ [h(p) for p in theta])


def test_under_queried_only_the_asked_value_is_needed(client: TestClient) -> None:
    whole, sparing = (make_learner(client, updates="queried") for _ in range(2))
    for case in cases(10):
        question = made(client.get(f"{LEARNERS}/{sparing['id']}"), 200)["next_question"]
        only = {**case, "values": {question["feature"]: case["values"][question["feature"]]}}
        assert teach(client, sparing, [only])["items"] == teach(client, whole, [case])["items"]
    first, second = (made(client.get(f"{LEARNERS}/{each['id']}"), 200) for each in (whole, sparing))
    assert first["cuts"] == second["cuts"]


def test_all_that_is_wrong_is_told(client: TestClient) -> None:
    bad = {
        "name": "", "labels": ["a", "a", ""], "updates": "some", "choice": [], "form": "exp", "rate": 0, "queries": 0,
        "mixing": "x", "floor": "y", "prior": [1], "seed": -1, "zz": 1,
        "features": [
            {"name": "x", "thresholds": [2, 1]}, {"name": "x", "sample": [1, 1]}, {"name": 7, "thresholds": ["a", 1]},
            {"name": "y"}, {"name": "z", "sample": [1, 2], "n_thresholds": 0}, 5,
            {"name": "v", "thresholds": [1], "sample": [1, 2], "yy": 2}, {"name": "u", "thresholds": []},
        ],
    }  # fmt: skip
    assert set(find_faults(send(client, LEARNERS, bad))) == {
        "/name", "/labels/1", "/labels/2", "/updates", "/choice", "/form", "/rate", "/queries", "/mixing", "/floor",
        "/prior", "/seed", "/zz", "/features/0/thresholds", "/features/1/name", "/features/1/sample",
        "/features/2/name", "/features/2/thresholds/0", "/features/3/thresholds", "/features/4/n_thresholds",
        "/features/5", "/features/6/sample", "/features/6/yy", "/features/7/thresholds",
    }  # fmt: skip
    assert set(find_faults(client.post(LEARNERS, json={"features": [], "labels": ["a"]}))) == {"/features", "/labels"}
    assert set(find_faults(client.post(LEARNERS, json={"features": 1, "labels": 2}))) == {"/features", "/labels"}
    assert set(find_faults(client.post(LEARNERS, json={}))) >= {"/features", "/labels"}
    large = {**LEARNER, "features": [{"name": "x", "thresholds": list(range(6000))}]}
    assert client.post(LEARNERS, json=large).status_code == 413
    learner = make_learner(client)
    url = f"{LEARNERS}/{learner['id']}/cases"
    wrong = [
        {"values": {"glucose": "x", "bmi": 1}, "label": "dead"}, 3, {"values": [1], "label": "ill"},
        {"values": {"noise": 1e999}, "label": "ill", "when": 1},
    ]  # fmt: skip
    body = '{"cases": [{"values": {"noise": 1e999}, "label": "ill"}]}'
    headers = {"Content-Type": "application/json"}
    assert set(find_faults(client.post(url, content=body, headers=headers))) == {"/cases/0/values/noise"}
    wrong[3]["values"] = {"noise": True}  # type: ignore[index]
    assert set(find_faults(client.post(url, json={"cases": wrong}))) == {
        "/cases/0/values/glucose", "/cases/0/values/bmi", "/cases/0/label", "/cases/1", "/cases/2/values",
        "/cases/3/values/noise", "/cases/3/when",
    }  # fmt: skip
    assert set(find_faults(client.post(url, json={"cases": []}))) == {"/cases"}
    assert set(find_faults(client.post(url, json={"zz": 1}))) >= {"/cases", "/zz"}
    assert client.post(url, json={"cases": [{}] * 10_001}).status_code == 413
    assert made(client.get(f"{LEARNERS}/{learner['id']}"), 200)["n_cases"] == 0


def test_cases_with_a_key_are_learnt_once(client: TestClient) -> None:
    learner = make_learner(client)
    for _ in range(2):
        body, key = {"cases": cases(1)}, {"Idempotency-Key": "k"}
        assert client.post(f"{LEARNERS}/{learner['id']}/cases", json=body, headers=key).json()["n_cases"] == 1
    assert made(client.get(f"{LEARNERS}/{learner['id']}"), 200)["n_cases"] == 1


def test_lessons_at_once_all_count_and_others_can_write_meanwhile(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{LEARNERS}/{make_learner(client)['id']}"
    started, go_on = threading.Event(), threading.Event()
    study = CutLearner.study

    def slow(*arguments: Any, **named: Any) -> Any:
        started.set()
        assert go_on.wait(60)
        return study(*arguments, **named)

    body = {"cases": cases(1)}
    with ThreadPoolExecutor() as pool:
        with monkeypatch.context() as patch:
            patch.setattr(CutLearner, "study", slow)
            first = pool.submit(client.post, f"{url}/cases", json=body)
            assert started.wait(60)
        try:
            assert client.post(f"{url}/cases", json=body).status_code == 200
            make_learner(client)
        finally:
            go_on.set()
        assert first.result(60).json()["n_cases"] == 2
    assert made(client.get(url), 200)["n_cases"] == 2


def test_a_learner_is_computed_before_the_database_is_written(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts, writers = CutLearner.cuts, []

    def cut_while_another_writes(learner: CutLearner) -> Any:
        with database.session() as session:
            writers.append(add_owner(session, f"another {len(writers)}"))
        return cuts(learner)

    monkeypatch.setattr(connections, "_TURN_TIMEOUT_S", 1.0)
    monkeypatch.setattr(CutLearner, "cuts", cut_while_another_writes)
    make_learner(client)
    assert writers


def test_what_belongs_to_another_owner_is_not_there(client_of: MakeClient) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    learner = make_learner(ada)
    url = f"{LEARNERS}/{learner['id']}"
    for method, path, sent in (
        ("GET", url, None), ("DELETE", url, None), ("POST", f"{url}/cases", {"cases": cases(1)}),
    ):  # fmt: skip
        assert bob.request(method, path, json=sent).status_code == 404, path
    assert bob.get(LEARNERS).json()["items"] == []
