"""The pipeline space over HTTP."""

from __future__ import annotations

from math import prod

from fastapi.testclient import TestClient

from autoprog.space import STAGES


def test_the_space_is_told_stage_by_stage(client: TestClient) -> None:
    space = client.get("/v1/space").json()
    assert [stage["name"] for stage in space["stages"]] == list(STAGES)
    assert space["pipelines"] == prod(len(stage["algorithms"]) for stage in space["stages"])
    axes = [axis for stage in space["stages"] for a in stage["algorithms"] for axis in a["hyperparameters"]]
    assert space["dimensions"] == len(axes) + len(STAGES)
    for axis in axes:
        if axis["kind"] == "choice":
            assert set(axis) == {"name", "kind", "choices", "default"}
            assert axis["default"] in axis["choices"]
        else:
            assert set(axis) == {"name", "kind", "range", "scale", "default"}
            low, high = axis["range"]
            assert low <= axis["default"] <= high
            assert axis["scale"] in {"linear", "log"}


def test_whole_hyperparameters_are_told_from_real_ones(client: TestClient) -> None:
    stages = {stage["name"]: stage["algorithms"] for stage in client.get("/v1/space").json()["stages"]}
    (neighbours,) = (a for a in stages["prediction"] if a["name"] == "k_nearest_neighbours")
    kinds = {axis["name"]: axis["kind"] for axis in neighbours["hyperparameters"]}
    assert "integer" in kinds.values()
    assert neighbours["modes"] == ["classification"]
