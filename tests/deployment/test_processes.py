"""What docker-compose.yml starts carries a search from the cohort to the prediction."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from autoprog.cohort import cleveland
from autoprog.storage.database import Database
from tests.deployment.installation import PATIENCE_S, Installation, wait_until

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.parametrize("backend", ["postgresql"]),
]

SETTINGS = {
    "folds": 3,
    "budget": {"evaluations": 8, "time_s": 300},
    "space": {
        "imputation": ["median", "mean"],
        "features": ["none"],
        "prediction": ["logistic_regression", "ridge", "gaussian_nb"],
        "calibration": ["none", "sigmoid"],
    },
}
PATIENT = {
    "age": 63, "sex": 1, "cp": 4, "trestbps": 140, "chol": None, "fbs": 0, "restecg": 2,
    "thalach": 147, "exang": 0, "oldpeak": 1.4, "slope": 2, "ca": 1, "thal": 7,
}  # fmt: skip


@pytest.fixture
def installation(empty_database: Database, tmp_path: Path) -> Iterator[Installation]:
    with Installation(empty_database.url, tmp_path) as made:
        yield made


def start(installation: Installation, runners: list[str]) -> tuple[list[str], httpx2.Client]:
    """Start everything in the order of the file; returns the workers' names and a client with a key."""
    installation.run("migrate")
    installation.run("certificates")
    installation.start("scheduler")
    create = ["autoprog", "keys", "create", "--owner", "Ward 7", "--scopes", "read,write,predict"]
    key = installation.run("api", create).strip()
    installation.wait_until_healthy("scheduler")
    workers = [f"worker{number}" for number in range(installation.replicas("worker"))]
    for name in workers:
        installation.start("worker", name)
    for name in runners:
        installation.start("runner", name)
    installation.start("api")
    installation.wait_until_ready()
    for name in runners:
        wait_until(lambda name=name: "runner_started" in installation.log(name), f"{name} has started")
    return workers, httpx2.Client(base_url=installation.url, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def accepted(response: httpx2.Response) -> Any:
    assert response.is_success, response.text
    return response.json()


def post_cleveland(client: httpx2.Client) -> str:
    content, spec = cleveland()
    parts = {"file": ("cleveland.csv.gz", content), "spec": (None, spec.model_dump_json(exclude_unset=True))}
    return str(accepted(client.post("/v1/cohorts", files=parts))["id"])


def ended(client: httpx2.Client, search: dict[str, Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while (search := accepted(client.get(f"/v1/searches/{search['id']}")))["finished_at"] is None:
        assert time.monotonic() < deadline, search
        time.sleep(0.2)
    return search


def test_two_runners_carry_a_search_each_from_the_cohort_to_the_prediction(installation: Installation) -> None:
    runners = ["runner0", "runner1"]
    workers, client = start(installation, runners)
    with client:
        assert httpx2.get(f"{installation.url}/v1/cohorts").status_code == 401
        cohort = post_cleveland(client)
        asked = [{"cohort_id": cohort, "seed": seed, **SETTINGS} for seed in (1, 2)]
        posted = [accepted(client.post("/v1/searches", json=search)) for search in asked]
        for search in posted:
            done = ended(client, search)
            assert done["status"] == "succeeded", done["error"]
            assert done["progress"]["evaluations"]["succeeded"] == 8
            assert_predicts(client, f"/v1/searches/{search['id']}")
    for name in runners:
        claimed = [search["id"] for search in posted if search["id"] in installation.log(name)]
        assert len(claimed) == 1, installation.log(name)
    codes = installation.terminate(["api", *runners, *workers, "scheduler"])
    assert [codes[name] for name in ("api", *runners, *workers)] == [0] * 5


def assert_predicts(client: httpx2.Client, url: str) -> None:
    ensemble = accepted(client.get(f"{url}/ensemble"))
    assert sum(member["weight"] for member in ensemble["members"]) == pytest.approx(1)
    assert ensemble["score"]["estimate"] > 0.85
    assert accepted(client.get(f"{url}/rules"))["strata"]
    (item,) = accepted(client.post(f"{url}/predictions", json={"patients": [PATIENT]}))["items"]
    assert 0 < item["risk"] < 1
    assert item["warnings"] == ["chol was imputed"]
