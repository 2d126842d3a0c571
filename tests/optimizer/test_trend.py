"""The prior mean: how far a cohort agrees with earlier ones."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.trend import Trend
from tests.optimizer.toys import draw, toy_space

ENCODING = Encoding(toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0))))
POINTS = ENCODING.encode(draw(ENCODING.space, 200, np.random.default_rng(0)))
OFFSETS = {"prediction/prediction1": 1.0, "prediction/prediction2": -1.0, "features/features1": 0.5}
SUMS = POINTS.used @ np.array([OFFSETS.get(key, 0.0) for key in ENCODING.keys])
M = SUMS - SUMS.mean()


@pytest.mark.parametrize(("slope", "expected"), [(1.0, 1.0), (0.3, 0.3), (-1.0, 0.0), (5.0, 1.2)])
def test_the_cohort_says_how_much_of_it_is_believed(slope: float, expected: float) -> None:
    trend = Trend(ENCODING.keys, OFFSETS, POINTS, slope * M)
    assert trend.agreement == pytest.approx(expected, abs=0.05)
    np.testing.assert_allclose(trend.at(POINTS), trend.agreement * M, atol=1e-12)


def test_before_there_is_evidence_six_tenths_are() -> None:
    one = ENCODING.encode(draw(ENCODING.space, 1, np.random.default_rng(1)))
    assert Trend(ENCODING.keys, OFFSETS, one, np.zeros(1)).agreement == pytest.approx(0.6)


def test_without_offsets_there_is_none() -> None:
    trend = Trend(ENCODING.keys, {"prediction/elsewhere": 1.0}, POINTS, M)
    assert trend.agreement == 0
    assert not trend.at(POINTS).any()


def test_it_is_least_squares_with_eight_observations_more() -> None:
    y = np.random.default_rng(2).normal(size=200)
    grid = np.linspace(-0.5, 1.2, 1701)
    loss = [np.sum((y - b * M) ** 2) + 8 * (b - 0.6) ** 2 for b in grid]
    found = Trend(ENCODING.keys, OFFSETS, POINTS, y - y.mean()).agreement
    assert found == pytest.approx(max(grid[int(np.argmin(loss))], 0.0), abs=1e-3)
