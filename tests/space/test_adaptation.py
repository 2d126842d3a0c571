"""Pipelines of one cohort's space in another's."""

from __future__ import annotations

from collections.abc import Sequence

from autoprog.space import Configuration, PipelineKind, Space, Step, TableShape, adapted

SPACE = Space.full()
MISSING = SPACE.valid_kinds(TableShape(400, 20, 100, has_missing=True))
COMPLETE = SPACE.valid_kinds(TableShape(400, 20, 100, has_missing=False))
RIDGE = Configuration(
    SPACE.algorithm("imputation", "mice").default_step(), Step.of("none"), Step.of("ridge", {"alpha": 0.01}),
    Step.of("sigmoid"),
)  # fmt: skip


def brought(configuration: Configuration, kinds: Sequence[PipelineKind]) -> Configuration | None:
    (here,) = adapted([configuration], kinds)
    return here


def test_valid_ones_stay_as_they_are_in_their_order() -> None:
    defaults = [SPACE.default(kind) for kind in MISSING[::97]]
    assert adapted(defaults, MISSING) == defaults


def test_an_imputation_that_is_not_valid_here_becomes_the_median() -> None:
    here = brought(RIDGE, COMPLETE)
    assert here is not None
    assert here.imputation == Step.of("median")
    assert (here.features, here.prediction, here.calibration) == (RIDGE.features, RIDGE.prediction, RIDGE.calibration)


def test_values_that_do_not_exist_here_become_the_nearest_or_the_default() -> None:
    axes = {h.name: h for h in SPACE.algorithm("prediction", "k_nearest_neighbours").hyperparameters}
    (n_neighbours,) = axes.values()
    assert not isinstance(n_neighbours.default, str)
    for given, expected in ((10**9, getattr(n_neighbours, "high")), (0, getattr(n_neighbours, "low"))):  # noqa: B009
        step = Step.of("k_nearest_neighbours", {n_neighbours.name: given, "of another version": 3})
        here = brought(Configuration(RIDGE.imputation, RIDGE.features, step, RIDGE.calibration), MISSING)
        assert here is not None
        assert here.prediction == Step.of("k_nearest_neighbours", {n_neighbours.name: expected})
    bare = Configuration(RIDGE.imputation, RIDGE.features, Step.of("k_nearest_neighbours"), RIDGE.calibration)
    here = brought(bare, MISSING)
    assert here is not None
    assert dict(here.prediction.parameters) == {n_neighbours.name: n_neighbours.default}


def test_a_choice_that_does_not_exist_here_becomes_the_default() -> None:
    tree = SPACE.algorithm("prediction", "decision_tree").default_step()
    values = {**dict(tree.parameters), "criterion": "of another version"}
    other = Configuration(RIDGE.imputation, RIDGE.features, Step.of("decision_tree", values), RIDGE.calibration)
    here = brought(other, MISSING)
    assert here is not None
    assert here.prediction == tree


def test_there_is_none_where_an_algorithm_is_not_in_play() -> None:
    forests = Space.subset({"prediction": ["random_forest"]}).valid_kinds(TableShape(400, 20, 100, has_missing=True))
    assert brought(RIDGE, forests) is None


def test_a_length_of_the_window_comes_and_goes_with_the_space() -> None:
    windows = SPACE.with_windows((1, 3))
    shape = TableShape(400, 20, 100, has_missing=True)
    there = brought(RIDGE, windows.valid_kinds(shape))
    assert there is not None
    assert there.window == 3
    assert brought(there, MISSING) == RIDGE
