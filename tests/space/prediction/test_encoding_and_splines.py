from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from autoprog.space.prediction.linear_encoding import LinearEncoding
from autoprog.space.prediction.restricted_cubic_splines import RestrictedCubicSplines


def test_encoded_columns_are_known_bounded_and_standardised() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(0, 2, 400), rng.standard_normal(400), rng.integers(0, 2, 400)])
    X[rng.random(400) < 0.2, 0] = np.nan
    encoding = LinearEncoding().fit(X)
    z = encoding.transform(X)
    assert z.shape == (400, 4)  # three columns, and where the first is missing
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), 1)
    far = encoding.transform(np.array([[1e30, -1e30, 1.0]]))
    assert np.isfinite(far).all()
    assert np.abs(far).max() < 50


def test_rare_columns_and_copies_of_an_indicator_are_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 4))
    X[:, 1] = 0.0
    X[:2, 1] = 1.0  # two patients of a thousand
    X[:30, 2:] = np.nan  # missing together
    X[500:502, 0] = np.nan
    encoding = LinearEncoding().fit(X)
    assert encoding.kept_.tolist() == [0, 2, 3]
    assert encoding.indicated_.tolist() == [2]


def test_of_nothing_but_constants_a_column_of_zeros_stays() -> None:
    z = LinearEncoding().fit_transform(np.ones((20, 3)))
    assert z.shape == (20, 1)
    assert not z.any()


def test_a_column_that_nobody_has_is_the_median_of_nothing() -> None:
    X = np.column_stack([np.full(50, np.nan), np.arange(50.0)])
    assert np.isfinite(LinearEncoding().fit_transform(X)).all()


@pytest.mark.parametrize("knots", [3, 4, 5, 6, 7])
def test_splines_span_the_natural_cubic_ones(knots: int) -> None:
    """A natural cubic spline through any values at the knots is a combination of 1, x and the columns."""
    rng = np.random.default_rng(knots)
    x = rng.standard_normal((600, 1))
    splines = RestrictedCubicSplines(knots).fit(x)
    _, before, last, first = splines.knots_[0]
    t = np.unique(np.concatenate([splines.knots_[:, 0], [before, last]]))
    assert len(t) == knots
    natural = CubicSpline(t, rng.standard_normal(knots), bc_type="natural")
    inside = np.linspace(first, last, 200)[:, None]
    columns = np.column_stack([np.ones(200), inside, splines.transform(inside)])
    assert columns.shape[1] == knots
    fit, *_ = np.linalg.lstsq(columns, natural(inside[:, 0]), rcond=None)
    np.testing.assert_allclose(columns @ fit, natural(inside[:, 0]), atol=1e-8)


def test_splines_are_straight_outside() -> None:
    x = np.random.default_rng(0).standard_normal((600, 1))
    splines = RestrictedCubicSplines(5).fit(x)
    for start in (-10.0, 5.0):
        s = splines.transform(np.linspace(start, start + 4, 9)[:, None])
        np.testing.assert_allclose(np.diff(s, n=2, axis=0), 0, atol=1e-8)


def test_columns_of_few_values_have_no_spline() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.integers(0, 5, 300), rng.standard_normal(300)])
    assert set(RestrictedCubicSplines(5).fit(X.astype(float)).columns_.tolist()) == {2}
