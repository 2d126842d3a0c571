"""Step functions and the sums that all estimates start from."""

from __future__ import annotations

import numpy as np

from autoprog.survival import StepFunction


def test_the_value_includes_a_jump_and_the_left_limit_does_not() -> None:
    f = StepFunction(np.array([1.0, 3.0]), np.array([0.5, 0.2]), 1.0)
    at = [0.0, 1.0, 2.0, 3.0, 9.0]
    assert f(at).tolist() == [1.0, 0.5, 0.5, 0.2, 0.2]
    assert f.left(at).tolist() == [1.0, 1.0, 0.5, 0.5, 0.2]


def test_any_shape_of_times() -> None:
    f = StepFunction(np.array([1.0]), np.array([0.5]), 1.0)
    assert float(f(2.0)) == 0.5
    assert f([[0.0], [1.0]]).tolist() == [[1.0], [0.5]]
