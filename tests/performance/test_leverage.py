"""Leverage against its formula."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autoprog.cohort import Feature
from autoprog.validation.patient_intervals import Leverage
from tests.cohorts import mixed_cohort

NUMBERS = tuple(Feature(f"x{j}", "numeric") for j in range(4))


def numbers(n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + 5


def test_is_the_quadratic_form_of_the_standardised_columns() -> None:
    X = numbers()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    C = Z.T @ Z / len(Z) + 0.01 * np.eye(4)
    h = Leverage.fit(NUMBERS, X)(X)
    np.testing.assert_allclose(h, np.einsum("ij,jk,ik->i", Z, np.linalg.inv(C), Z), rtol=1e-9)
    assert 3 < h.mean() <= 4  # what the ridge leaves


def test_a_missing_cell_is_the_mean_and_a_constant_column_tells_nothing() -> None:
    X = numbers()
    gap, mean = X[:1].copy(), X[:1].copy()
    gap[0, 2], mean[0, 2] = np.nan, X[:, 2].mean()
    leverage = Leverage.fit(NUMBERS, X)
    assert leverage(gap)[0] == pytest.approx(leverage(mean)[0], rel=1e-12)
    constant = np.column_stack([X[:, :3], np.full(len(X), 7.0)])
    np.testing.assert_allclose(
        Leverage.fit(NUMBERS, constant)(constant), Leverage.fit(NUMBERS[:3], X[:, :3])(X[:, :3]), rtol=1e-9
    )


def test_a_rare_level_is_more_unusual_than_a_frequent_one() -> None:
    codes = np.repeat([0.0, 1.0, 2.0], [80, 15, 5])[:, None]
    h = Leverage.fit((Feature("site", "categorical", ("a", "b", "c")),), codes)(np.array([[0.0], [1.0], [2.0]]))
    assert h[0] < h[1] < h[2]


def test_every_kind_of_feature_and_missing_cells_are_borne() -> None:
    cohort = mixed_cohort()
    h = Leverage.fit(cohort.features, cohort.X)(cohort.X)
    assert np.isfinite(h).all()
    assert (h >= 0).all()
    alone = Leverage.fit(cohort.features, cohort.X)(cohort.X[3:4])
    assert alone[0] == pytest.approx(h[3], rel=1e-12)


def test_many_columns_are_reduced_to_twenty_directions() -> None:
    features = tuple(Feature(f"x{j}", "numeric") for j in range(60))
    X = np.random.default_rng(1).normal(size=(200, 60))
    leverage = Leverage.fit(features, X)
    assert leverage.directions.shape == (20, 60)
    assert leverage(X).mean() == pytest.approx(20, rel=0.05)


def test_storage_changes_nothing() -> None:
    cohort = mixed_cohort()
    leverage = Leverage.fit(cohort.features, cohort.X)
    document = json.loads(json.dumps(leverage.to_json()))
    np.testing.assert_array_equal(Leverage.from_json(document)(cohort.X), leverage(cohort.X))
    with pytest.raises(ValueError, match="do not match"):
        Leverage.from_json({**document, "levels": [0]})
