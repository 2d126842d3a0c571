from __future__ import annotations

import pytest

from autoprog.errors import InvalidInputError
from autoprog.search.opening import opening_for
from autoprog.space import Space, TableShape


def shape_for(n: int, **changes: object) -> TableShape:
    sizes = {"n_patients": n * 4 // 5, "n_columns": 20, "n_minority": n // 5}
    return TableShape(**{**sizes, "has_missing": True, **changes})  # type: ignore[arg-type]


def opening(n: int, space: Space | None = None, **changes: object) -> list[str]:
    shape = shape_for(n, **changes)
    chosen = opening_for((space or Space.full()).valid_kinds(shape), shape, n)
    assert len(set(chosen)) == len(chosen)
    return [c.prediction.algorithm for c in chosen]


@pytest.mark.parametrize("n", [60, 300, 1_000, 5_000, 50_000])
@pytest.mark.parametrize("has_missing", [False, True])
def test_it_begins_with_the_simple_pipeline_and_is_of_many_kinds(n: int, has_missing: bool) -> None:
    names = opening(n, has_missing=has_missing)
    assert names[0] == "logistic_regression"
    assert len(names) >= 12
    assert {"penalised_logistic", "spline_logistic", "kernel_logistic", "stochastic_boosting"} <= set(names)


def test_every_configuration_lies_in_the_space() -> None:
    for n in (60, 1_000, 5_000):
        shape = shape_for(n)
        for configuration in opening_for(Space.full().valid_kinds(shape), shape, n):
            for algorithm, step in zip(Space.full().find_kind(configuration), configuration.steps, strict=True):
                axes = {h.name: h for h in algorithm.hyperparameters}
                assert dict(step.parameters).keys() == axes.keys()
                for name, value in step.parameters:
                    assert 0 <= axes[name].to_unit(value) <= 1, (algorithm.key, name, value)


def test_small_cohorts_have_no_deep_trees_and_large_ones_no_process() -> None:
    few, some, many = opening(200), opening(1_000), opening(5_000)
    assert "random_forest" not in few
    assert "gaussian_process" in some
    assert "gaussian_process" not in many
    assert many.count("random_forest") == 2


def test_what_a_space_leaves_out_is_passed_over() -> None:
    assert opening(1_000, Space.subset({"prediction": ["lda"]})) == ["lda"]
    of_table = opening(5_000, Space.table_1())
    assert set(of_table) == {"logistic_regression", "random_forest", "extra_trees"}


def test_event_times_begin_with_cox() -> None:
    times = {"times": (1.0, 2.0, 3.0), "horizons": (3.0,), "n_periods": 2_000}
    names = opening(1_000, mode="survival", simple_predictor="cox", **times)
    assert names[0] == "cox"
    assert "survival_forest" in names
    assert len(names) >= 8


def test_an_empty_space_is_refused_before() -> None:
    with pytest.raises(InvalidInputError):
        opening(1_000, Space.subset({"imputation": ["none"], "prediction": ["lda"]}))
