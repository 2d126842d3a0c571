"""The pipeline space over HTTP."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.space.service import space_document
from autoprog.space import STAGES, Space, TableShape, list_algorithms, predicted_seconds
from autoprog.space.calibration import CALIBRATION
from autoprog.space.features import FEATURES
from autoprog.space.imputation import IMPUTATION
from autoprog.space.prediction import PREDICTION

# Other tests register algorithms of their own.
TABLE_1 = Space((IMPUTATION, FEATURES, PREDICTION, CALIBRATION))

Json = dict[str, Any]


@pytest.fixture
def answer(client: TestClient) -> Json:
    found: Json = client.get("/v1/space").json()
    return found


def entry(answer: Json, stage: str, name: str) -> Json:
    (algorithms,) = (s["algorithms"] for s in answer["stages"] if s["name"] == stage)
    (found,) = (a for a in algorithms if a["name"] == name)
    return dict(found)


def test_table_1_is_shown_whole() -> None:
    document = space_document(TABLE_1)
    assert sum(len(stage.algorithms) for stage in document.stages) == 41
    assert (document.pipelines, document.dimensions) == (4800, 106)


def test_the_space_is_told_stage_by_stage(answer: Json) -> None:
    assert [stage["name"] for stage in answer["stages"]] == list(STAGES)
    for stage, built_in in zip(answer["stages"], TABLE_1.stages, strict=True):
        names = [algorithm["name"] for algorithm in stage["algorithms"]]
        assert names == [algorithm.name for algorithm in list_algorithms(stage["name"])]
        assert names[: len(built_in)] == [algorithm.name for algorithm in built_in]
    axes = [axis for stage in answer["stages"] for a in stage["algorithms"] for axis in a["hyperparameters"]]
    assert answer["pipelines"] == prod(len(stage["algorithms"]) for stage in answer["stages"])
    assert answer["dimensions"] == len(axes) + len(STAGES)


def test_a_hyperparameter_is_a_range_with_a_scale_or_choices(answer: Json) -> None:
    axes = [axis for stage in answer["stages"] for a in stage["algorithms"] for axis in a["hyperparameters"]]
    assert {axis["kind"] for axis in axes} == {"float", "integer", "choice"}
    for axis in axes:
        if axis["kind"] == "choice":
            assert set(axis) == {"name", "kind", "choices", "default"}
            assert axis["default"] in axis["choices"]
        else:
            assert set(axis) == {"name", "kind", "range", "scale", "default"}
            low, high = axis["range"]
            assert low <= axis["default"] <= high
            assert axis["scale"] in {"linear", "log"}


def test_whole_hyperparameters_are_whole_numbers(answer: Json) -> None:
    (neighbours,) = entry(answer, "prediction", "k_nearest_neighbours")["hyperparameters"]
    expected = {"name": "neighbours", "kind": "integer", "range": [3, 150], "scale": "log", "default": 25}
    assert neighbours == expected
    assert all(isinstance(value, int) for value in (*neighbours["range"], neighbours["default"]))


def test_choices_keep_their_type(answer: Json) -> None:
    axes = {axis["name"]: axis for axis in entry(answer, "features", "polynomial")["hyperparameters"]}
    assert axes["include_bias"] == {
        "name": "include_bias",
        "kind": "choice",
        "choices": [True, False],
        "default": False,
    }


@pytest.mark.parametrize("algorithm", TABLE_1.algorithms, ids=lambda a: a.key)
def test_an_algorithm_shows_what_it_declares(algorithm: Any) -> None:
    shown = entry(space_document(TABLE_1).model_dump(), algorithm.stage, algorithm.name)
    assert shown["modes"] == list(algorithm.modes)
    assert shown["family"] == algorithm.family
    assert shown["reference"] == algorithm.reference
    assert len(shown["takes"]) == len(algorithm.takes)
    assert set(shown["takes"]) == algorithm.takes
    cost = shown["cost"]
    predicted = cost["seconds"] * (5000 / 1000) ** cost["patients"] * (60 / 20) ** cost["columns"]
    assert predicted == pytest.approx(algorithm.cost.at(5000, 60))
    assert shown["refits"] == algorithm.refits
    assert (shown["max_columns"], shown["max_patients"]) == (algorithm.max_columns, algorithm.max_patients)
    assert shown["subsample"] == (algorithm.subsample if algorithm.max_patients else None)


@pytest.mark.parametrize("calibration", ["sigmoid", "none"])
def test_a_client_can_predict_what_a_pipeline_costs(answer: Json, calibration: str) -> None:
    names = ("mice", "pca", "random_forest", calibration)
    kind = tuple(Space.full().algorithm(stage, name) for stage, name in zip(STAGES, names, strict=True))
    shape = TableShape(n_patients=30_000, n_columns=35, n_minority=3_000, has_missing=True)
    *stages, last = (entry(answer, stage, name) for stage, name in zip(STAGES, names, strict=True))
    seconds = 0.0
    for shown in stages:
        n, cost = min(shape.n_patients, shown["max_patients"] or shape.n_patients), shown["cost"]
        seconds += cost["seconds"] * (n / 1000) ** cost["patients"] * (shape.n_columns / 20) ** cost["columns"]
    assert last["refits"] * seconds == pytest.approx(predicted_seconds(kind, shape))  # type: ignore[arg-type]


def test_what_has_no_bound_says_so(answer: Json) -> None:
    shown = entry(answer, "prediction", "logistic_regression")
    assert {name: shown[name] for name in ("max_columns", "max_patients", "subsample")} == {
        "max_columns": None,
        "max_patients": None,
        "subsample": None,
    }
    assert shown["modes"] == ["classification", "survival", "temporal"]
