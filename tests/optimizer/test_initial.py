from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.initial import (
    SIMPLE_PIPELINE,
    cheaper_half,
    simple_configuration,
    stratified_design,
    uniform_design,
)
from autoprog.space import STAGES, Configuration, Space, TableShape, predicted_seconds
from tests.optimizer.toys import SHAPE, toy_space


def names(configuration: Configuration) -> tuple[str, ...]:
    return tuple(configuration.step(stage).algorithm for stage in STAGES)


@pytest.mark.parametrize("missing", [False, True])
def test_the_simple_pipeline_is_the_plain_clinical_model(missing: bool) -> None:
    kinds = Space.full().valid_kinds(TableShape(200, 20, 80, has_missing=missing))
    assert names(simple_configuration(kinds)) == SIMPLE_PIPELINE


@pytest.mark.parametrize("design", [stratified_design, uniform_design])
def test_a_design_begins_with_what_it_is_given(design) -> None:  # noqa: ANN001
    space = Space.full()
    kinds = space.valid_kinds(TableShape(200, 20, 80, has_missing=True))
    given = tuple(space.default(kind) for kind in kinds[::100])[:6]
    first = design(Encoding(space), kinds, 4, set(), np.random.default_rng(0), given)
    assert first == given[:4]
    following = design(Encoding(space), kinds, 4, set(first), np.random.default_rng(1), given)
    assert following[:2] == given[4:]
    assert len({*first, *following}) == 8


def test_of_a_survival_cohort_it_is_coxs_model() -> None:
    times = tuple(np.arange(1.0, 11.0).tolist())
    shape = TableShape(200, 20, 80, has_missing=True, mode="survival", times=times, horizons=times[4:5], n_periods=1200)
    assert names(simple_configuration(Space.full().valid_kinds(shape), "cox")) == ("median", "none", "cox", "none")


@pytest.mark.parametrize(
    ("names_in_play", "expected"),
    [
        ({"imputation": ["mean", "mice"]}, ("mean", "none", "logistic_regression", "none")),
        ({"calibration": ["sigmoid"]}, ("median", "none", "logistic_regression", "sigmoid")),
        ({"prediction": ["ridge", "xgboost"]}, ("median", "none", "ridge", "none")),
        ({"imputation": ["none"], "prediction": ["xgboost"]}, ("none", "none", "xgboost", "none")),
    ],
)
def test_without_it_the_nearest_valid_pipeline_comes_first(names_in_play, expected: tuple[str, ...]) -> None:  # noqa: ANN001
    space = Space.subset(names_in_play)
    nearest = simple_configuration(space.valid_kinds(TableShape(200, 20, 80, has_missing=True)))
    assert names(nearest) == expected
    assert nearest == space.default(space.find_kind(nearest))


def test_the_design_uses_predictors_equally_often_and_starts_them_from_defaults() -> None:
    kinds = Space.full().valid_kinds(TableShape(200, 20, 80, has_missing=True))
    space = Space.full().restricted_to(kinds)
    encoding = Encoding(space)
    design: list[Configuration] = []
    for batch in range(7):  # as a search asks for it: four at a time
        design += stratified_design(encoding, kinds, 4, set(design), np.random.default_rng(batch))
    assert len(set(design)) == 28
    n = len(space.stages[2])
    uses = Counter(c.prediction.algorithm for c in design)
    assert set(uses.values()) <= {28 // n, -(-28 // n)}
    assert all(c == space.default(space.find_kind(c)) for c in design[:n])
    for stage in STAGES:
        assert len({c.step(stage).algorithm for c in design}) == len(space.stages[STAGES.index(stage)])


@pytest.mark.parametrize("design", [stratified_design, uniform_design])
def test_a_finite_space_is_exhausted_without_repeats(design) -> None:  # noqa: ANN001
    space = toy_space(((0, 0), (0,), (0, 0, 0), (0,)))
    drawn = design(Encoding(space), space.valid_kinds(SHAPE), 10, set(), np.random.default_rng(0))
    assert len(set(drawn)) == len(drawn) == 6
    assert design(Encoding(space), space.valid_kinds(SHAPE), 10, set(drawn), np.random.default_rng(0)) == ()


def test_uniform_draws_favour_no_kind() -> None:
    space = toy_space(((0, 0), (1,), (0, 0, 0, 0, 0), (0, 0)))
    drawn = uniform_design(Encoding(space), space.valid_kinds(SHAPE), 200, set(), np.random.default_rng(0))
    uses = Counter(names(c) for c in drawn)
    assert len(uses) == 20
    assert max(uses.values()) - min(uses.values()) <= 1  # the last round is short


def test_the_cheaper_half_holds_every_predictor_and_nothing_dearer_than_what_it_leaves_out() -> None:
    shape = TableShape(240, 20, 100, has_missing=True)
    kinds = Space.full().valid_kinds(shape)
    kept = set(cheaper_half(kinds, shape))
    for predictor in {kind[2] for kind in kinds}:
        own = [kind for kind in kinds if kind[2] is predictor]
        left_out = [predicted_seconds(kind, shape) for kind in own if kind not in kept]
        assert len(own) / 2 <= len(own) - len(left_out) < len(own)
        assert max(predicted_seconds(kind, shape) for kind in own if kind in kept) < min(left_out)
