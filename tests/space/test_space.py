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
    kinds = space.valid_kinds(WITH_MISSING)
    # All eight with the median, and without an imputation only xgboost on the plain columns, calibrated or not.
    assert len(kinds) == 8 + 2
    for imputation, features, prediction, _ in kinds:
        if imputation.name == "none":
            assert (features.name, prediction.name) == ("none", "xgboost")


def test_complete_tables_keep_one_imputation_for_each_rest() -> None:
    space = Space.subset(SUBSET)  # type: ignore[arg-type]
    kinds = space.valid_kinds(COMPLETE)
    assert len(kinds) == 8
    assert len({tuple(a.key for a in kind[1:]) for kind in kinds}) == 8
    for imputation, features, prediction, _ in kinds:
        takes_missing = (features.name, prediction.name) == ("none", "xgboost")
        assert imputation.name == ("none" if takes_missing else "median")
    assert {a.name for a in space.restricted_to(kinds[:1]).algorithms} == {a.name for a in kinds[0]}


def test_wide_tables_mask_the_polynomial_expansion() -> None:
    wide = TableShape(n_patients=200, n_columns=44, n_minority=50, has_missing=False)
    assert all(features.name != "polynomial" for _, features, _, _ in Space.full().valid_kinds(wide))


def test_large_tables_mask_what_takes_long_for_every_cell() -> None:
    for n_patients, valid in ((100_000, True), (100_001, False)):
        large = TableShape(n_patients=n_patients, n_columns=100, n_minority=9_000, has_missing=True)
        names = {imputation.name for imputation, *_ in Space.full().valid_kinds(large)}
        assert ("miss_forest" in names) is valid
    with pytest.raises(InvalidInputError, match="takes at most 10,000,000 cells"):
        Space.subset({"imputation": ["miss_forest"]}).valid_kinds(large)


def test_names_every_unknown_algorithm_and_every_empty_stage() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Space.subset({"imputation": ["median", "mode"], "features": [], "prediction": ["xgb", "perceptron"]})
    faults = {(f.pointer, f.detail.split(";")[0]) for f in caught.value.faults}
    assert faults == {
        ("/space/imputation", "unknown algorithm 'mode'"),
        ("/space/features", "no algorithm is left in this stage"),
        ("/space/prediction", "unknown algorithm 'xgb'"),
        ("/space/prediction", "unknown algorithm 'perceptron'"),
    }
    assert all("median" in f.detail for f in caught.value.faults if f.pointer == "/space/imputation")


def test_refuses_a_space_without_a_valid_pipeline() -> None:
    space = Space.subset({"imputation": ["none"], "prediction": ["logistic_regression"]})
    with pytest.raises(InvalidInputError, match=r"it has missing cells.*xgboost"):
        space.valid_kinds(WITH_MISSING)


def test_names_the_stage_that_has_nothing_for_the_cohort_and_what_has() -> None:
    space = Space.subset({"features": ["polynomial"], "prediction": ["cox", "survival_forest"]})
    wide = TableShape(n_patients=200, n_columns=44, n_minority=50, has_missing=True)
    with pytest.raises(InvalidInputError) as caught:
        space.valid_kinds(wide)
    assert [f.pointer for f in caught.value.faults] == ["/space/features", "/space/prediction"]
    features, prediction = (f.detail for f in caught.value.faults)
    assert features.startswith("polynomial takes at most 43 columns, and there are 44; add one of agglomeration")
    assert prediction.startswith(
        "survival_forest serves survival and temporal cohorts only; cox serves survival and temporal cohorts only; add"
    )
    assert "logistic_regression" in prediction


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
    assert space.find_kind(again) == space.find_kind(configuration)


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
