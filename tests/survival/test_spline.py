"""Restricted cubic splines: their shape."""

from __future__ import annotations

import numpy as np

from autoprog.survival.calibration_curve import spline_columns, spline_knots


def test_linear_beyond_the_knots_and_cubic_between() -> None:
    knots = np.array([-1.0, 0.0, 0.5, 2.0])
    x = np.linspace(-3, 5, 801)
    Z = spline_columns(x, knots)
    third = np.diff(Z, n=3, axis=0)
    assert Z.shape == (801, 4)
    np.testing.assert_allclose(np.diff(Z, n=2, axis=0)[x[1:-1] < -1.01], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diff(Z, n=2, axis=0)[x[1:-1] > 2.01], 0.0, atol=1e-9)
    inside = (x[:-3] > 0.51) & (x[:-3] < 1.95)
    np.testing.assert_allclose(third[inside], np.broadcast_to(third[inside][0], third[inside].shape), atol=1e-9)
    assert np.linalg.matrix_rank(Z) == 4


def test_few_knots() -> None:
    x = np.arange(5.0)
    np.testing.assert_array_equal(spline_columns(x, np.array([1.0])), np.ones((5, 1)))
    np.testing.assert_array_equal(spline_columns(x, np.array([1.0, 2.0])), np.column_stack([np.ones(5), x]))


def test_knots_are_observed_values_and_follow_the_events() -> None:
    x = np.random.default_rng(0).normal(size=200).round(3)
    assert len(spline_knots(x, 100)) == 5
    assert len(spline_knots(x, 99)) == 3
    assert np.isin(spline_knots(x, 100), x).all()
    assert len(spline_knots(np.zeros(10), 100)) == 1


def test_knots_that_coincide_leave_a_line_between_the_ends() -> None:
    x = np.repeat([0.0, 1.0, 2.0], [2, 96, 2])
    np.testing.assert_array_equal(spline_knots(x, 100), [0.0, 2.0])
