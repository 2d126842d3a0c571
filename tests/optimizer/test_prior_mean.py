"""The prior mean: how far a cohort agrees with earlier ones."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.main_effects import basis, term_names
from autoprog.optimizer.prior_mean import PriorMean
from tests.optimizer.toys import draw, toy_space

ENCODING = Encoding(toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0))))
POINTS = ENCODING.encode(draw(ENCODING.space, 200, np.random.default_rng(0)))
OFFSETS = {"prediction/prediction1": 1.0, "prediction/prediction2": -1.0, "prediction/prediction3/h0": 0.5}
SUMS = basis(ENCODING, POINTS) @ np.array([OFFSETS.get(name, 0.0) for name in term_names(ENCODING)])
M = SUMS - SUMS.mean()


@pytest.mark.parametrize(("slope", "expected"), [(1.0, 1.0), (0.3, 0.3), (-1.0, 0.0), (5.0, 2.0)])
def test_the_cohort_says_how_much_of_it_is_believed(slope: float, expected: float) -> None:
    trend = PriorMean(ENCODING, OFFSETS, POINTS, slope * M)
    assert trend.agreement == pytest.approx(expected, abs=0.05)
    np.testing.assert_allclose(trend.at(POINTS), trend.agreement * M, atol=1e-12)


def test_before_there_is_evidence_all_of_it_is() -> None:
    one = ENCODING.encode(draw(ENCODING.space, 1, np.random.default_rng(1)))
    assert PriorMean(ENCODING, OFFSETS, one, np.zeros(1)).agreement == pytest.approx(1.0)


def test_without_offsets_there_is_none() -> None:
    trend = PriorMean(ENCODING, {"prediction/elsewhere": 1.0}, POINTS, M)
    assert trend.agreement == 0
    assert not trend.at(POINTS).any()


def test_it_is_least_squares_with_five_observations_more() -> None:
    y = np.random.default_rng(2).normal(size=200)
    grid = np.linspace(-0.5, 2.0, 2501)
    loss = [np.sum((y - b * M) ** 2) + 5 * (b - 1.0) ** 2 for b in grid]
    found = PriorMean(ENCODING, OFFSETS, POINTS, y - y.mean()).agreement
    assert found == pytest.approx(max(grid[int(np.argmin(loss))], 0.0), abs=1e-3)
