"""Pipelines of one cohort's space in another's."""

from __future__ import annotations

from autoprog.space import Configuration, Space, Step, TableShape, adapted

SPACE = Space.full()
MISSING = SPACE.valid_kinds(TableShape(400, 20, 100, has_missing=True))
COMPLETE = SPACE.valid_kinds(TableShape(400, 20, 100, has_missing=False))
RIDGE = Configuration(
    SPACE.algorithm("imputation", "mice").default_step(), Step.of("none"), Step.of("ridge", {"alpha": 0.01}),
    Step.of("sigmoid"),
)  # fmt: skip


def test_a_valid_one_stays_as_it_is() -> None:
    for kind in MISSING[::97]:
        assert adapted(SPACE.default(kind), MISSING) == SPACE.default(kind)


def test_an_imputation_that_is_not_valid_here_becomes_the_median() -> None:
    here = adapted(RIDGE, COMPLETE)
    assert here is not None
    assert here.imputation == Step.of("median")
    assert (here.features, here.prediction, here.calibration) == (RIDGE.features, RIDGE.prediction, RIDGE.calibration)


def test_values_that_do_not_exist_here_become_the_nearest_or_the_default() -> None:
    axes = {h.name: h for h in SPACE.algorithm("prediction", "k_nearest_neighbours").hyperparameters}
    (n_neighbours,) = axes.values()
    assert not isinstance(n_neighbours.default, str)
    for given, expected in ((10**9, getattr(n_neighbours, "high")), (0, getattr(n_neighbours, "low"))):  # noqa: B009
        step = Step.of("k_nearest_neighbours", {n_neighbours.name: given, "of another version": 3})
        here = adapted(Configuration(RIDGE.imputation, RIDGE.features, step, RIDGE.calibration), MISSING)
        assert here is not None
        assert here.prediction == Step.of("k_nearest_neighbours", {n_neighbours.name: expected})
    bare = Configuration(RIDGE.imputation, RIDGE.features, Step.of("k_nearest_neighbours"), RIDGE.calibration)
    here = adapted(bare, MISSING)
    assert here is not None
    assert dict(here.prediction.parameters) == {n_neighbours.name: n_neighbours.default}


def test_a_choice_that_does_not_exist_here_becomes_the_default() -> None:
    tree = SPACE.algorithm("prediction", "decision_tree").default_step()
    values = {**dict(tree.parameters), "criterion": "of another version"}
    other = Configuration(RIDGE.imputation, RIDGE.features, Step.of("decision_tree", values), RIDGE.calibration)
    here = adapted(other, MISSING)
    assert here is not None
    assert here.prediction == tree


def test_there_is_none_where_an_algorithm_is_not_in_play() -> None:
    forests = Space.subset({"prediction": ["random_forest"]}).valid_kinds(TableShape(400, 20, 100, has_missing=True))
    assert adapted(RIDGE, forests) is None


def test_a_length_of_the_window_comes_and_goes_with_the_space() -> None:
    windows = SPACE.with_windows((1, 3))
    shape = TableShape(400, 20, 100, has_missing=True)
    there = adapted(RIDGE, windows.valid_kinds(shape))
    assert there is not None
    assert there.window == 3
    assert adapted(there, MISSING) == RIDGE
