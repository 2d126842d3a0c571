"""Draws of missing values against the conditional laws that they were made by."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from autoprog.cohort import Feature
from autoprog.validation import FeatureDistribution

NUMBERS = tuple(Feature(f"x{j}", "numeric") for j in range(3))
COVARIANCE = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, 0.5], [0.3, 0.5, 1.0]])


def normal(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal([0, 0, 0], COVARIANCE, n)


@pytest.mark.parametrize("missing", [[1], [1, 2], [0, 1, 2]])
def test_draws_of_normal_values_have_the_conditional_mean_and_variance(missing: list[int]) -> None:
    law = FeatureDistribution.fit(NUMBERS, normal(20_000, 0))
    asked = np.array([[1.2, 0.5, -0.7]])
    asked[:, missing] = np.nan
    known = [j for j in range(3) if j not in missing]
    drawn = law.completed(asked, 2_000)[:, 0]
    np.testing.assert_array_equal(drawn[:, known], np.broadcast_to(asked[0, known], (2_000, len(known))))
    across = COVARIANCE[np.ix_(missing, known)] @ np.linalg.pinv(COVARIANCE[np.ix_(known, known)])
    mean = across @ asked[0, known]
    covariance = COVARIANCE[np.ix_(missing, missing)] - across @ COVARIANCE[np.ix_(known, missing)]
    np.testing.assert_allclose(drawn[:, missing].mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(np.atleast_2d(np.cov(drawn[:, missing].T)), covariance, atol=0.08)


def test_levels_are_drawn_as_often_as_they_occur_beside_the_known_values() -> None:
    rng = np.random.default_rng(1)
    site = rng.integers(0, 3, 20_000)
    sign = (rng.random(20_000) < np.array([0.1, 0.5, 0.9])[site]).astype(float)
    features = (Feature("site", "categorical", ("a", "b", "c")), Feature("sign", "binary", ("0", "1")))
    law = FeatureDistribution.fit(features, np.column_stack([site, sign]))
    of_sites = law.completed(np.array([[0, np.nan], [1, np.nan], [2, np.nan]]), 1_000)[:, :, 1].mean(axis=0)
    np.testing.assert_allclose(of_sites, [0.1, 0.5, 0.9], atol=0.03)
    given_sign = law.completed(np.array([[np.nan, 1.0]]), 1_000)[:, 0, 0]
    np.testing.assert_allclose(np.bincount(given_sign.astype(int)) / 1_000, np.array([0.1, 0.5, 0.9]) / 1.5, atol=0.03)


def test_values_that_cannot_occur_are_not_drawn() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.poisson(40, 3_000), rng.exponential(1.0, 3_000), np.full(3_000, np.nan)])
    drawn = FeatureDistribution.fit(NUMBERS, X).completed(np.full((1, 3), np.nan), 500)[:, 0]
    assert set(drawn[:, 0]) <= set(X[:, 0])
    assert X[:, 1].min() <= drawn[:, 1].min() <= drawn[:, 1].max() <= X[:, 1].max()
    assert drawn[:, 1].mean() == pytest.approx(1.0, abs=0.1)
    assert np.isnan(drawn[:, 2]).all()  # nobody has one


def zero_inflated(z: np.ndarray) -> np.ndarray:
    """Of normal values: zero in six of ten, otherwise exponential with mean 20."""
    return -20 * np.log1p(-np.maximum((ndtr(z) - 0.6) / 0.4, 0.0))


TIED = {
    "zeros": zero_inflated,
    "whole": lambda z: np.round(10 * zero_inflated(z)),
    "long tail": lambda z: np.round(zero_inflated(z) ** 2, 1),
    "capped": lambda z: np.minimum(z, 0.25),
}


@pytest.mark.parametrize("make", TIED.values(), ids=TIED.keys())
def test_draws_have_the_margin_of_a_feature_with_many_tied_values(make: Callable[[np.ndarray], np.ndarray]) -> None:
    x = make(np.random.default_rng(9).standard_normal(3_000))
    drawn = FeatureDistribution.fit(NUMBERS[:1], x[:, None]).completed(np.full((1, 1), np.nan), 4_000)[:, 0, 0]
    values, counts = np.unique(x, return_counts=True)
    assert (drawn == values[counts.argmax()]).mean() == pytest.approx(counts.max() / 3_000, abs=0.012)
    assert drawn.mean() == pytest.approx(x.mean(), abs=0.03 * x.std())
    assert drawn.std() == pytest.approx(x.std(), rel=0.08)


@pytest.mark.parametrize("known", [-1.0, 0.0, 1.5])
def test_draws_of_tied_values_have_the_conditional_mean_of_a_gaussian_copula(known: float) -> None:
    z = np.random.default_rng(10).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 20_000)
    law = FeatureDistribution.fit(NUMBERS[:2], np.column_stack([z[:, 0], zero_inflated(z[:, 1])]))
    drawn = law.completed(np.array([[known, np.nan]]), 2_000)[:, 0, 1]
    truth = zero_inflated(0.7 * known + np.sqrt(1 - 0.49) * ndtri((np.arange(10_000) + 0.5) / 10_000))
    assert drawn.mean() == pytest.approx(truth.mean(), rel=0.05, abs=0.25)
    assert (drawn == 0).mean() == pytest.approx((truth == 0).mean(), abs=0.02)


def test_a_tied_value_says_of_others_what_its_range_does() -> None:
    z = np.random.default_rng(11).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 20_000)
    law = FeatureDistribution.fit(NUMBERS[:2], np.column_stack([z[:, 0], zero_inflated(z[:, 1])]))
    drawn = law.completed(np.array([[np.nan, 0.0]]), 2_000)[:, 0, 0]
    below = ndtri(0.6)  # z has the mean -density / 0.6 below it
    assert drawn.mean() == pytest.approx(-0.7 * np.exp(-(below**2) / 2) / np.sqrt(2 * np.pi) / 0.6, abs=0.03)


def test_draws_of_tied_values_are_as_correlated_as_they_were() -> None:
    z = np.random.default_rng(12).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 20_000)
    X = np.column_stack([zero_inflated(z[:, 0]), np.round(np.maximum(z[:, 1], 0.0), 1)])
    drawn = FeatureDistribution.fit(NUMBERS[:2], X).completed(np.full((1, 2), np.nan), 4_000)[:, 0]
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(np.corrcoef(X.T)[0, 1], abs=0.04)


def test_models_of_version_0_2_keep_the_scores_that_their_correlations_are_of() -> None:
    document = FeatureDistribution.fit(NUMBERS[:1], zero_inflated(normal(3_000, 13)[:, :1])).to_json()
    assert document["margins"][0].pop("halves_ties")
    (margin,) = FeatureDistribution.from_json(document).margins
    assert ndtr(margin.scores(np.zeros(1))) == pytest.approx(0.6, abs=0.02)  # the top of the zeros


def test_a_relation_is_found_where_training_patients_lack_values_too() -> None:
    X = normal(5_000, 3)
    X[np.random.default_rng(4).random(X.shape) < 0.3] = np.nan
    drawn = FeatureDistribution.fit(NUMBERS, X).completed(np.array([[1.5, np.nan, np.nan]]), 2_000)[:, 0]
    np.testing.assert_allclose(drawn[:, 1:].mean(axis=0), [0.8 * 1.5, 0.3 * 1.5], atol=0.1)


def test_a_patient_is_drawn_alike_whoever_else_is_asked_about_and_after_storage() -> None:
    law = FeatureDistribution.fit(NUMBERS, normal(500, 5))
    X = normal(40, 6)
    X[::2, 1] = np.nan
    drawn = law.completed(X, 8)
    alone = law.completed(X[6:7], 8)
    np.testing.assert_allclose(alone[:, 0], drawn[:, 6], rtol=1e-12)
    loaded = FeatureDistribution.from_json(json.loads(json.dumps(law.to_json(), allow_nan=False)))
    np.testing.assert_array_equal(loaded.completed(X, 8), drawn)


def test_more_columns_than_patients_are_borne() -> None:
    X = np.random.default_rng(7).standard_normal((60, 300))
    X[0, :150] = np.nan
    features = tuple(Feature(f"x{j}", "numeric") for j in range(300))
    drawn = FeatureDistribution.fit(features, X).completed(X[:1], 8)
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize("broken", [{"centre": [0.0]}, {"loadings": [[1.0]]}, {"margins": [None, None, None]}])
def test_a_damaged_document_is_refused(broken: dict[str, object]) -> None:
    document = FeatureDistribution.fit(NUMBERS, normal(50, 8)).to_json()
    with pytest.raises(ValueError, match=r"match|reshape"):
        FeatureDistribution.from_json({**document, **broken})
