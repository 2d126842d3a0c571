from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from autoprog.feature_streams import Family, FeatureGroup, FeatureStream, Observation, StreamOptions
from tests.api.conftest import MakeClient
from tests.api.diagnosing import find_faults, made

STREAMS = "/v1/feature-selection/streams"
FEATURES = ["age", "glucose", "insulin", "bmi", "noise"]
STREAM: dict[str, Any] = {"name": "ward", "features": FEATURES, "subset_size": 2, "seed": 3}


def make_stream(client: TestClient, **changes: Any) -> dict[str, Any]:
    return made(client.post(STREAMS, json={**STREAM, **changes}))


def select(client: TestClient, stream: dict[str, Any]) -> dict[str, Any]:
    return made(client.post(f"{STREAMS}/{stream['id']}/selections"))


def body_of(selection: dict[str, Any], row: np.ndarray[Any, Any], label: int) -> dict[str, Any]:
    values = {name: float(row[FEATURES.index(name)]) for name in selection["features"]}
    return {"selection_id": selection["id"], "values": values, "label": label}


def data(n: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(FEATURES)))
    return X, (X[:, 1] + X[:, 3] > 0).astype(int)


def test_a_stream_is_made_shown_listed_and_deleted(client: TestClient) -> None:
    response = client.post(STREAMS, json=STREAM)
    stream = made(response)
    url = f"{STREAMS}/{stream['id']}"
    assert response.headers["location"] == url
    assert (stream["features"], stream["subset_size"], stream["algorithm"]) == (FEATURES, 2, "thompson")
    assert (stream["n_selections"], stream["n_observations"], stream["online_mistake_rate"]) == (0, 0, None)
    assert made(client.get(url), 200) == stream
    assert made(client.get(STREAMS), 200)["items"] == [stream]
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404


@pytest.mark.parametrize("algorithm", ["thompson", "random", "all", "ofs", "epsilon_greedy"])
@pytest.mark.parametrize("classifier", ["mlp", "perceptron"])
def test_a_stream_does_what_the_science_does(client: TestClient, algorithm: str, classifier: str) -> None:
    stream = make_stream(client, algorithm=algorithm, classifier=classifier)
    core = FeatureStream(FEATURES, StreamOptions(algorithm, classifier, 2, seed=3))  # type: ignore[arg-type]
    X, y = data(12)
    for row, label in zip(X, y.tolist(), strict=True):
        selection = select(client, stream)
        number, subset = core.select()
        assert (selection["number"], selection["features"]) == (number, [FEATURES[j] for j in subset])
        seen = core.observe(subset, {FEATURES[j]: row[j] for j in subset}, label)
        answer = made(client.post(f"{STREAMS}/{stream['id']}/observations", json=body_of(selection, row, label)), 200)
        assert (answer["prediction"], answer["correct"]) == (seen.prediction, seen.correct)
        assert answer["online_mistake_rate"] == seen.performance.online_mistake_rate
    shown = made(client.get(f"{STREAMS}/{stream['id']}"), 200)
    assert (shown["n_selections"], shown["n_observations"]) == (12, 12)
    assert shown["best_features"] == list(core.best_features)


def test_late_observations_count_when_they_come_and_once(client: TestClient) -> None:
    stream = make_stream(client, standardisation={"mean": [0] * 5, "sd": [1] * 5})
    assert stream["standardisation"] == "given"
    first, second = select(client, stream), select(client, stream)
    X, _ = data(2)
    url = f"{STREAMS}/{stream['id']}/observations"
    late = made(client.post(url, json=body_of(second, X[0], 1)), 200)
    made(client.post(url, json=body_of(first, X[1], 0)), 200)
    assert made(client.post(url, json=body_of(second, X[0], 1)), 200) == late
    assert client.post(url, json=body_of(second, X[0], 0)).status_code == 409
    assert made(client.get(f"{STREAMS}/{stream['id']}"), 200)["n_observations"] == 2
    selections = f"{STREAMS}/{stream['id']}/selections"
    listed = made(client.get(selections), 200)["items"]
    assert [each["number"] for each in listed] == [1, 2]
    assert listed[1]["observation"] == late
    assert made(client.get(f"{selections}/{second['id']}"), 200) == listed[1]
    assert client.delete(f"{selections}/{second['id']}").status_code == 204
    assert client.get(f"{selections}/{second['id']}").status_code == 404


def test_all_that_is_wrong_is_told(client: TestClient) -> None:
    bad = {
        "name": "", "features": ["a", "a", ""], "subset_size": 9, "algorithm": "tom", "classifier": [], "step": 0,
        "epsilon": "x", "cap": -1, "truncate": 2, "prior": [1], "seed": 1.5, "standardisation": {"mean": [1], "sd": 2},
    }  # fmt: skip
    assert set(find_faults(client.post(STREAMS, json=bad))) >= {
        "/name", "/features/2", "/subset_size", "/algorithm", "/classifier", "/step", "/epsilon", "/cap", "/truncate",
        "/prior", "/seed", "/standardisation/sd",
    }  # fmt: skip
    assert set(find_faults(client.post(STREAMS, json={"features": ["a", "a"]}))) == {"/features/1"}
    assert set(find_faults(client.post(STREAMS, json={"features": []}))) == {"/features"}
    twice = {"features": ["a", "a"], "step": -1, "standardisation": "x", "zz": 1}
    assert set(find_faults(client.post(STREAMS, json=twice))) == {"/features/1", "/step", "/standardisation", "/zz"}
    none = {"features": "x", "step": -1, "subset_size": 0, "algorithm": "z"}
    assert set(find_faults(client.post(STREAMS, json=none))) == {"/features", "/step", "/subset_size", "/algorithm"}
    stream = make_stream(client)
    selection = select(client, stream)
    chosen, other = selection["features"], next(name for name in FEATURES if name not in selection["features"])
    url = f"{STREAMS}/{stream['id']}/observations"
    wrong = {"selection_id": selection["id"], "values": {chosen[0]: 1, other: 2}, "label": 2}
    assert set(find_faults(client.post(url, json=wrong))) == {f"/values/{chosen[1]}", f"/values/{other}", "/label"}
    wrong["values"] = {chosen[0]: True, chosen[1]: 1e200}
    assert set(find_faults(client.post(url, json=wrong))) == {"/label"} | {f"/values/{name}" for name in chosen}
    words = {**wrong, "values": {chosen[0]: "x", "a/b": 1}, "label": 7, "zz": 1}
    expected = {f"/values/{chosen[0]}", f"/values/{chosen[1]}", "/values/a~1b", "/label", "/zz"}
    assert set(find_faults(client.post(url, json=words))) == expected
    assert set(find_faults(client.post(url, json={**wrong, "values": []}))) == {"/values", "/label"}
    assert client.post(url, json={**wrong, "selection_id": "0" * 32}).status_code == 404
    assert made(client.get(f"{STREAMS}/{stream['id']}"), 200)["n_observations"] == 0


def test_observations_at_once_are_learnt_one_after_another(client: TestClient) -> None:
    stream = make_stream(client)
    selections = [select(client, stream) for _ in range(12)]
    X, y = data(12)
    answers: list[int] = []

    def observe(i: int) -> None:
        response = client.post(f"{STREAMS}/{stream['id']}/observations", json=body_of(selections[i], X[i], int(y[i])))
        answers.append(response.status_code)

    threads = [threading.Thread(target=observe, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 12
    assert made(client.get(f"{STREAMS}/{stream['id']}"), 200)["n_observations"] == 12


def test_a_selection_is_deleted_after_its_observation_if_both_come_at_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make_stream(client)
    selection = select(client, stream)
    url = f"{STREAMS}/{stream['id']}"
    deleted: list[int] = []

    def delete() -> None:
        deleted.append(client.delete(f"{url}/selections/{selection['id']}").status_code)

    thread, observe = threading.Thread(target=delete), FeatureStream.observe

    def observe_meanwhile(self: FeatureStream, *observed: Any) -> Observation:
        thread.start()
        thread.join(0.5)
        return observe(self, *observed)

    monkeypatch.setattr(FeatureStream, "observe", observe_meanwhile)
    response = client.post(f"{url}/observations", json=body_of(selection, data(1)[0][0], 1))
    thread.join()
    assert (response.status_code, deleted) == (200, [204])
    assert made(client.get(url), 200)["n_observations"] == 1


def test_what_belongs_to_another_owner_is_not_there(client_of: MakeClient) -> None:
    ada, bob = client_of("ada"), client_of("bob")
    stream = make_stream(ada)
    selection = select(ada, stream)
    url = f"{STREAMS}/{stream['id']}"
    body = body_of(selection, data(1)[0][0], 1)
    for method, path, sent in (
        ("GET", url, None), ("DELETE", url, None), ("POST", f"{url}/selections", None),
        ("GET", f"{url}/selections", None),
        ("GET", f"{url}/selections/{selection['id']}", None), ("DELETE", f"{url}/selections/{selection['id']}", None),
        ("POST", f"{url}/observations", body),
    ):  # fmt: skip
        assert bob.request(method, path, json=sent).status_code == 404, path
    assert bob.get(STREAMS).json()["items"] == []


GROUPS: list[dict[str, Any]] = [
    {"name": "blood", "features": ["glucose", "insulin"], "cost": 40.4},
    {"name": "scale", "features": ["bmi"], "cost": 1},
]
FAMILIES: list[tuple[dict[str, Any], Family]] = [
    ({"groups": GROUPS, "budget": 41, "subset_size": 3},
     Family((FeatureGroup("blood", ("glucose", "insulin"), 40.4), FeatureGroup("scale", ("bmi",), 1.0)), None, 41.0)),
    ({"groups": GROUPS[:1], "trade_off": 0.01, "subset_size": None},
     Family((FeatureGroup("blood", ("glucose", "insulin"), 40.4),), trade_off=0.01)),
    ({"subsets": [["age", "bmi"], ["noise"], ["age", "glucose", "insulin"]], "subset_size": None},
     Family(subsets=(("age", "bmi"), ("noise",), ("age", "glucose", "insulin")))),
]  # fmt: skip


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
@pytest.mark.parametrize(("sent", "family"), FAMILIES)
def test_a_family_of_subsets_is_kept_to(
    client: TestClient, likelihood: Any, sent: dict[str, Any], family: Family
) -> None:
    """Selections, what has to be ordered and its cost, and what was learnt from rewards, as the science has them."""
    stream = make_stream(client, likelihood=likelihood, noise=0.3, prior=[0.5, 0.4], **sent)
    options = StreamOptions(
        subset_size=sent["subset_size"], likelihood=likelihood, noise=0.3, prior=(0.5, 0.4), family=family, seed=3
    )
    core = FeatureStream(FEATURES, options)
    assert stream["family"] == family.to_json()
    X, y = data(15)
    for k, (row, label) in enumerate(zip(X, y.tolist(), strict=True)):
        selection = select(client, stream)
        _, subset = core.select()
        names = [FEATURES[j] for j in subset]
        order, cost = family.order(FEATURES, names)
        assert (selection["features"], selection["order"], selection["cost"]) == (names, list(order), cost)
        assert family.budget is None or cost <= family.budget
        reward = None if k % 2 else 0.25
        core.observe(subset, {FEATURES[j]: row[j] for j in subset}, label, reward)
        body = body_of(selection, row, label) | ({} if reward is None else {"reward": reward})
        made(client.post(f"{STREAMS}/{stream['id']}/observations", json=body), 200)
    assert made(client.get(f"{STREAMS}/{stream['id']}"), 200)["best_features"] == list(core.best_features)
    listed = made(client.get(f"{STREAMS}/{stream['id']}/selections"), 200)["items"]
    assert [each["cost"] for each in listed] == [family.order(FEATURES, each["features"])[1] for each in listed]


def test_the_prior_mean_of_a_normal_reward_may_be_negative(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()["components"]["schemas"]["StreamRequest"]["properties"]["prior"]
    assert schema["items"] == {"type": "number"}
    assert make_stream(client, likelihood="gaussian", prior=[-2, 0.5])["prior"] == [-2, 0.5]
    for likelihood, detail in (
        ("gaussian", "must be a mean and a standard deviation above 0"),
        ("bernoulli", "must be two numbers above 0"),
    ):
        body = {"features": FEATURES, "likelihood": likelihood, "prior": ["x", 1]}
        assert find_faults(client.post(STREAMS, json=body)) == {"/prior": detail}


def test_all_that_is_wrong_with_a_family_and_a_reward_is_told(client: TestClient) -> None:
    bad = {
        **STREAM, "budget": "x", "trade_off": [], "subsets": [["age"], 3, ["", "bmi"]], "likelihood": 3, "noise": "z",
        "groups": [{"name": "", "features": 1, "zz": 2}, 7, {"name": "g", "features": ["age"], "cost": "dear"}],
    }  # fmt: skip
    assert set(find_faults(client.post(STREAMS, json=bad))) == {
        "/budget", "/trade_off", "/subsets/1", "/subsets/2/0", "/likelihood", "/noise", "/groups/0/name",
        "/groups/0/features", "/groups/0/zz", "/groups/1", "/groups/2/cost",
    }  # fmt: skip
    split = {**STREAM, "groups": GROUPS, "subsets": [["glucose"], ["age", "x"]]}
    assert set(find_faults(client.post(STREAMS, json=split))) == {"/subsets/0", "/subsets/1/1"}
    dear = [{"name": n, "features": [n], "cost": 2} for n in FEATURES]
    none = {**STREAM, "algorithm": "random", "groups": dear, "budget": 1}
    assert set(find_faults(client.post(STREAMS, json=none))) == {"/algorithm", "/budget"}
    many = {**STREAM, "subsets": [FEATURES] * 4001}
    assert client.post(STREAMS, json=many).status_code == 413
    stream = make_stream(client)
    selection = select(client, stream)
    url, body = f"{STREAMS}/{stream['id']}/observations", body_of(selection, data(1)[0][0], 1)
    for reward in (1.5, "much", True, []):
        assert set(find_faults(client.post(url, json={**body, "reward": reward}))) == {"/reward"}
    made(client.post(url, json={**body, "reward": 1}), 200)
    assert made(client.post(url, json={**body, "reward": 1.0}), 200)
    assert client.post(url, json={**body, "reward": 0.5}).status_code == 409
    assert client.post(url, json=body).status_code == 409
