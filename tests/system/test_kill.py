"""The serving process is killed in mid-search and started again on the same data folder."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.system.server import Server

MIN_CHILDREN = 3  # the fork server and a child a slot
SETTINGS = {
    "seed": 5,
    "folds": 3,
    "budget": {"evaluations": 9, "time_s": 600},
    "space": {
        "imputation": ["median", "mean"],
        "features": ["none", "pca"],
        "prediction": ["logistic_regression", "ridge", "gaussian_nb", "k_nearest_neighbours"],
        "calibration": ["none", "isotonic"],
    },
}


@pytest.mark.timeout(600)
def test_a_killed_server_goes_on_where_it_stood(tmp_path: Path) -> None:
    with Server(tmp_path / "unbroken") as server:
        asked = {"cohort_id": server.post_cleveland(), **SETTINGS}
        unbroken = server.post("/v1/searches", json=asked)["id"]
        assert server.wait(unbroken, 280)["status"] == "succeeded"
        expected = server.evaluations(unbroken)
        ensemble = server.get(f"/v1/searches/{unbroken}/ensemble")

    data = tmp_path / "broken"
    with Server(data) as server:
        broken = server.post("/v1/searches", json={"cohort_id": server.post_cleveland(), **SETTINGS})["id"]
        while len(before := server.evaluations(broken)) < 4:
            time.sleep(0.02)
        server.kill()
    assert len(before) < len(expected)
    with Server(data) as server:
        kept = server.evaluations(broken)
        assert [e for e in kept if e in before] == before  # nothing is lost
        search = server.wait(broken, 280)
        assert search["status"] == "succeeded", search["error"]
        assert server.evaluations(broken) == expected
        assert server.get(f"/v1/searches/{broken}/ensemble") == ensemble
        assert {e["status"] for e in expected} <= {"succeeded", "raced_out"}


@pytest.mark.timeout(600)
def test_no_child_outlives_a_killed_server(tmp_path: Path) -> None:
    with Server(tmp_path / "data", plugins=("tests.hostile",)) as server:
        asked = {
            "cohort_id": server.post_cleveland(),
            "space": {"prediction": ["sleeps_forever"]},
            "limits": {"evaluation_s": 300},
        }
        search_id = server.post("/v1/searches", json=asked)["id"]
        while server.get(f"/v1/searches/{search_id}")["phase"] != "search":
            time.sleep(0.1)
        while len(server.children()) < MIN_CHILDREN:
            time.sleep(0.1)
        time.sleep(4)  # both slots hang in C
        children = server.kill()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and any(child.is_running() for child in children):
            time.sleep(0.1)
        assert [child for child in children if child.is_running()] == []
