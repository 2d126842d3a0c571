"""A running search is cancelled over HTTP, and a model is built from what it has seen."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.system.server import Server

PATIENT = {
    "age": 63, "sex": 1, "cp": 4, "trestbps": 140, "chol": None, "fbs": 0, "restecg": 2,
    "thalach": 147, "exang": 0, "oldpeak": 1.4, "slope": 2, "ca": 1, "thal": 7,
}  # fmt: skip


@pytest.mark.timeout(240)
def test_a_cancelled_search_ends_while_an_evaluation_hangs_and_delivers(tmp_path: Path) -> None:
    with Server(tmp_path / "data", plugins=("tests.hostile",)) as server:
        asked = {
            "cohort_id": server.post_cleveland(),
            "folds": 3,
            "budget": {"time_s": 3600},
            "limits": {"evaluation_s": 3600},
            "space": {
                "imputation": ["median"],
                "features": ["none"],
                "prediction": ["logistic_regression", "sleeps_forever"],
            },
        }
        search_id = server.post("/v1/searches", json=asked)["id"]
        url = f"/v1/searches/{search_id}"
        deadline = time.monotonic() + 60
        while not (seen := server.evaluations(search_id)):
            assert time.monotonic() < deadline, "nothing was evaluated"
            time.sleep(0.1)
        assert server.get(url)["status"] == "running"

        answer = server.client.post(f"{url}/cancel")
        assert answer.status_code == 202
        search = server.wait(search_id)
        assert search["status"] == "cancelled"
        kept = server.evaluations(search_id)
        assert [e for e in kept if e in seen] == seen
        assert {e["status"] for e in kept} <= {"succeeded", "cancelled"}
        (item,) = server.post(f"{url}/predictions", json={"patients": [PATIENT]})["items"]
        assert 0 < item["risk"] < 1
        assert server.post(f"/v1/models/{search['model_id']}/predictions", json={"patients": [PATIENT]})["items"] == [
            item
        ]

        again = {**asked, "budget": {"evaluations": 1}, "space": {"prediction": ["logistic_regression"]}}
        assert server.wait(server.post("/v1/searches", json=again)["id"])["status"] == "succeeded"  # the slots are free
