from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from autoprog.space.features.polynomial import n_terms
from tests.space.features.tables import built, processor, shape_of


@pytest.mark.parametrize(("d", "degree", "interaction_only"), [*product([1, 2, 5, 9], [1, 2, 3], [False, True])])
def test_counts_terms_as_they_come_out(d: int, degree: int, interaction_only: bool) -> None:
    expansion = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False)
    made = expansion.fit(np.zeros((1, d))).n_output_features_
    assert n_terms(d, degree, interaction_only=interaction_only) == made


@pytest.mark.parametrize(
    ("n_patients", "d", "asked", "made"),
    [
        (1_000, 16, (3, False), (3, False)),  # 968 terms
        (1_000, 17, (3, False), (3, True)),  # 1,139 terms, 833 without powers
        (1_000, 20, (3, False), (2, False)),  # 1,770 and 1,350 terms
        (1_000, 20, (3, True), (2, True)),
        (1_000, 43, (2, False), (2, False)),
        (2_000, 12, (3, False), (3, False)),  # 454 of the 500 terms of a million cells
        (2_000, 13, (3, False), (3, True)),  # 559 terms, 377 without powers
        (4_000, 12, (3, False), (2, False)),
        (320_000, 16, (2, False), (2, False)),  # 152 of the 156 terms that fit into 400 MB
        (320_000, 17, (2, False), (2, True)),
        (320_000, 20, (3, False), (1, False)),  # not even the products of two
        (100_000_000, 20, (2, True), (1, True)),
    ],
)
def test_gives_up_powers_then_degrees(n_patients: int, d: int, asked: tuple[int, bool], made: tuple[int, bool]) -> None:
    parameters = {"degree": asked[0], "interaction_only": asked[1], "include_bias": False}
    pipeline = processor("polynomial").build(parameters, shape_of(np.zeros((1, d)), n_patients), 0)
    expansion = pipeline.steps[-1][1]  # type: ignore[union-attr]
    assert expansion.degree == made[0]
    assert made[0] == 1 or expansion.interaction_only == made[1]


def test_terms_are_products_of_standardised_columns() -> None:
    X = np.random.default_rng(8).normal(5, 2, size=(30, 2))
    a, b = StandardScaler().fit_transform(X).T
    Z = built("polynomial", X, include_bias=True).fit_transform(X)
    np.testing.assert_allclose(Z, np.column_stack([np.ones(30), a, b, a * a, a * b, b * b]), atol=1e-12)
