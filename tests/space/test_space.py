from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoprog.errors import InvalidInputError
from autoprog.space import Algorithm, Choice, Configuration, Float, Integer, Space, TableShape, register

COMPLETE = TableShape(n_patients=200, n_columns=10, n_minority=50, has_missing=False)
WITH_MISSING = TableShape(n_patients=200, n_columns=10, n_minority=50, has_missing=True)
SUBSET = {
    "imputation": ["none", "median"],
    "features": ["none", "pca"],
    "prediction": ["logistic_regression", "xgboost"],
    "calibration": ["none", "sigmoid"],
}


def test_counts_pipelines_and_dimensions() -> None:
    space = Space.subset(SUBSET)  # type: ignore[arg-type]
    assert space.n_pipelines == 16
    assert space.n_dimensions == 2 + 5 + 4


def test_missing_cells_mask_what_cannot_take_them() -> None:
    space = Space.subset(SUBSET)  # type: ignore[arg-type]
    assert len(space.valid_kinds(COMPLETE)) == 16
    kinds = space.valid_kinds(WITH_MISSING)
    # All eight with the median, and without an imputation only xgboost on the plain columns, calibrated or not.
    assert len(kinds) == 8 + 2
    for imputation, features, prediction, _ in kinds:
        if imputation.name == "none":
            assert (features.name, prediction.name) == ("none", "xgboost")


def test_wide_tables_mask_the_polynomial_expansion() -> None:
    wide = TableShape(n_patients=200, n_columns=44, n_minority=50, has_missing=False)
    assert all(features.name != "polynomial" for _, features, _, _ in Space.full().valid_kinds(wide))


def test_names_every_unknown_algorithm_and_every_empty_stage() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Space.subset({"imputation": ["median", "mode"], "features": [], "prediction": ["xgb", "mlp"]})
    faults = {(f.pointer, f.detail.split(";")[0]) for f in caught.value.faults}
    assert faults == {
        ("/space/imputation", "unknown algorithm 'mode'"),
        ("/space/features", "no algorithm is left in this stage"),
        ("/space/prediction", "unknown algorithm 'xgb'"),
        ("/space/prediction", "unknown algorithm 'mlp'"),
    }
    assert all("median" in f.detail for f in caught.value.faults if f.pointer == "/space/imputation")


def test_refuses_a_space_without_a_valid_pipeline() -> None:
    space = Space.subset({"imputation": ["none"], "prediction": ["logistic_regression"]})
    with pytest.raises(InvalidInputError, match="it has missing cells"):
        space.valid_kinds(WITH_MISSING)


@pytest.mark.parametrize("seed", range(5))
def test_configurations_survive_json_and_hash_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = Space.full()
    kinds = space.valid_kinds(COMPLETE)
    configuration = space.draw(kinds[rng.integers(len(kinds))], rng)
    again = Configuration.from_json(json.loads(json.dumps(configuration.to_json())))
    assert again == configuration
    assert hash(again) == hash(configuration)
    assert again.key == configuration.key
    assert space.kind_of(again) == space.kind_of(configuration)


def test_a_built_in_algorithm_cannot_be_replaced() -> None:
    impostor = Algorithm("prediction", "xgboost", (), lambda *_: None, family="boosting")
    with pytest.raises(ValueError, match="prediction/xgboost is a built-in algorithm"):
        register(impostor)


AXES = [
    Float("plain", -2.0, 5.0, 0.0),
    Float("log", 1e-4, 10.0, 0.1, log=True),
    Integer("count", 3, 150, 25, log=True),
    Integer("degree", 2, 3, 2),
]


@given(st.sampled_from(AXES), st.floats(0, 1))
def test_axes_stay_in_range_and_come_back(axis: Float | Integer, unit: float) -> None:
    value = axis.from_unit(unit)
    assert axis.low <= value <= axis.high
    assert axis.from_unit(axis.to_unit(value)) == pytest.approx(value, rel=1e-12)


@given(st.floats(0, 1))
def test_a_choice_fills_its_bin(unit: float) -> None:
    axis = Choice("mode", ("fpr", "fdr", "fwe"), default="fpr")
    assert axis.from_unit(unit) == axis.choices[min(int(unit * 3), 2)]
    assert axis.from_unit(axis.to_unit(axis.from_unit(unit))) == axis.from_unit(unit)
