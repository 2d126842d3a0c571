from __future__ import annotations

import numpy as np
import pytest

from autoprog.optimizer.encoding import UNSELECTED, Encoding
from autoprog.space import STAGES, Configuration, Space, Step
from tests.optimizer.toys import SHAPE, draw, toy_space


def test_a_configuration_sets_its_algorithms_and_their_hyperparameters_only() -> None:
    encoding = Encoding(toy_space(((0, 1), (2,), (1, 2), (0,))))
    configuration = Configuration(
        Step.of("imputation1", {"h0": 0.1}),
        Step.of("features0", {"h0": 0.2, "h1": 0.3}),
        Step.of("prediction1", {"h0": 0.7, "h1": 0.9}),
        Step.of("calibration0"),
    )
    points = encoding.encode([configuration])
    used = [key for key, u in zip(encoding.keys, points.used[0], strict=True) if u]
    assert used == [
        "imputation/imputation1",
        "features/features0",
        "prediction/prediction1",
        "calibration/calibration0",
    ]
    assert points.units[0].tolist() == [0.1, 0.2, 0.3, UNSELECTED, 0.7, 0.9]
    assert encoding.owner.tolist() == [1, 2, 2, 3, 4, 4]


def test_the_registered_space_is_encoded_in_the_unit_cube() -> None:
    space = Space.full()
    encoding = Encoding(space)
    points = encoding.encode(draw(space, 200, np.random.default_rng(0)))
    assert points.used.sum(axis=1).tolist() == [len(STAGES)] * 200
    assert points.units.shape == (200, space.n_dimensions - len(STAGES))
    assert points.units.min() >= 0.0
    assert points.units.max() <= 1.0


def test_an_algorithm_out_of_play_is_named() -> None:
    encoding = Encoding(toy_space(((0,), (0,), (0,), (0,))))
    foreign = toy_space(((0,), (0,), (0, 0), (0,)))
    configuration = foreign.default(foreign.valid_kinds(SHAPE)[1])
    with pytest.raises(KeyError, match="prediction/prediction1"):
        encoding.encode([configuration])
