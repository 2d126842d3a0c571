"""Cuts separate what they should and are short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoprog.interpreter.conditions import cuts_near, readable_cut

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("below", "above", "cut"),
    [
        (47.0, 61.0, 50.0),
        (54.0, 55.0, 55.0),
        (0.1, 0.2, 0.2),
        (0.12, 0.18, 0.15),
        (-3.0, 2.0, 0.0),
        (1234.5, 1234.75, 1234.6),
        (0.593814, 0.594021, 0.594),
    ],
)
def test_the_cut_with_the_fewest_digits_nearest_to_the_middle(below: float, above: float, cut: float) -> None:
    assert readable_cut(below, above) == cut


@given(finite, finite)
def test_a_cut_separates_any_two_values(one: float, other: float) -> None:
    below, above = sorted((one, other))
    if below < above:
        assert below < readable_cut(below, above) <= above


def test_neighbouring_floats_are_separated() -> None:
    below = 0.1
    above = float(np.nextafter(below, 1))
    assert readable_cut(below, above) == above


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=60))
def test_without_tolerance_each_cut_is_as_near_to_its_fraction_as_ties_allow(values: list[int]) -> None:
    x = np.array(values, dtype=np.float64)
    possible = [float(np.mean(x < u)) for u in np.unique(x)[1:]]
    cuts = cuts_near(x, (1 / 3, 2 / 3), 0.0)
    if not possible:
        assert cuts == []
        return
    reached = [float(np.mean(x < c)) for c in cuts]
    for fraction in (1 / 3, 2 / 3):
        nearest = min(abs(p - fraction) for p in possible)
        assert min(abs(p - fraction) for p in reached) == pytest.approx(nearest, abs=1e-12)
    assert cuts == sorted(set(cuts))


def test_a_tolerance_buys_shorter_numbers_and_is_kept() -> None:
    x = np.random.default_rng(0).normal(60, 10, 5000)
    (cut,) = cuts_near(x, (0.5,), 0.025)
    assert cut == 60.0
    assert abs(np.mean(x < cut) - 0.5) <= 0.025
