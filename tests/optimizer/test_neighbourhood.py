from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from autoprog.optimizer.neighbourhood import Neighbourhood
from autoprog.space import STAGES, Configuration, Space, TableShape

SPACE = Space.full()
SHAPE = TableShape(200, 20, 80, has_missing=True)
KINDS = SPACE.valid_kinds(SHAPE)


@pytest.fixture
def neighbourhood() -> Neighbourhood:
    return Neighbourhood(SPACE, KINDS)


def test_candidates_are_of_valid_kinds_and_within_their_ranges(neighbourhood: Neighbourhood) -> None:
    rng = np.random.default_rng(0)
    drawn, kinds = neighbourhood.draw(400, rng), set(KINDS)
    for configuration in drawn + neighbourhood.around(drawn[:40], 10, rng):
        kind = SPACE.find_kind(configuration)
        assert kind in kinds
        for stage, algorithm in zip(STAGES, kind, strict=True):
            parameters = dict(configuration.step(stage).parameters)
            assert set(parameters) == {h.name for h in algorithm.hyperparameters}
            assert all(0 <= h.to_unit(parameters[h.name]) <= 1 for h in algorithm.hyperparameters)


def test_every_predictor_is_drawn_as_often(neighbourhood: Neighbourhood) -> None:
    n = 9_000
    uses = Counter(c.prediction.algorithm for c in neighbourhood.draw(n, np.random.default_rng(0)))
    predictors = {kind[2].name for kind in KINDS}
    assert set(uses) == predictors
    share = 1 / len(predictors)
    # Five standard deviations of a binomial count: an error in one of 30,000 runs over all predictors.
    assert all(abs(count - n * share) < 5 * np.sqrt(n * share) for count in uses.values())


def test_a_change_leaves_the_other_steps_as_they_are(neighbourhood: Neighbourhood) -> None:
    anchor = Configuration(*(SPACE.algorithm(s, a).default_step() for s, a in zip(STAGES, _ANCHOR, strict=True)))
    around = neighbourhood.around([anchor], 300, np.random.default_rng(0))
    changed = [sum(anchor.step(s) != c.step(s) for s in STAGES) for c in around]
    assert Counter(changed).most_common(1)[0][0] == 1
    assert np.mean([n <= 1 for n in changed]) > 0.6
    assert max(changed) >= 2


@pytest.mark.parametrize("predictor", ["xgboost", "random_forest", "logistic_regression"])
def test_where_nothing_is_missing_changes_reach_every_predictor_and_feature_step(predictor: str) -> None:
    """Trees there go without an imputation, which others need: it changes with them."""
    shape = TableShape(400, 20, 150, has_missing=False)
    kinds = SPACE.valid_kinds(shape)
    anchor = SPACE.default(next(k for k in kinds if k[2].name == predictor and k[1].name == "none"))
    around = Neighbourhood(SPACE, kinds).around([anchor], 4_000, np.random.default_rng(0))
    assert {SPACE.find_kind(c) for c in around} <= set(kinds)
    assert {c.prediction.algorithm for c in around} == {kind[2].name for kind in kinds}
    assert {c.features.algorithm for c in around} == {kind[1].name for kind in kinds}


_ANCHOR = ("mice", "pca", "gradient_boosting", "none")
