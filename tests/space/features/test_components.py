from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import FastICA
from sklearn.preprocessing import StandardScaler

from tests.space.features.tables import built, same_up_to_sign_and_order


def mixed_sources(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    S = np.column_stack([rng.uniform(-1, 1, n), rng.laplace(size=n), rng.choice([-1.0, 1.0], n)])
    return S, S @ rng.normal(size=(3, 3)).T + 5.0


@pytest.mark.parametrize("fraction", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [30, 300], ids=["by singular values", "by the covariance"])
def test_pca_is_the_singular_value_decomposition_of_the_standardised_columns(n: int, fraction: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) + 3.0
    U, s, _ = np.linalg.svd((X - X.mean(axis=0)) / X.std(axis=0), full_matrices=False)
    p = {0.1: 1, 0.5: 3, 1.0: 6}[fraction]
    found = built("pca", X, fraction=fraction).fit_transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(U * s)[:, :p], atol=1e-8)
    whitened = built("pca", X, fraction=fraction, whiten=True).fit_transform(X)
    np.testing.assert_allclose(np.abs(whitened), np.abs(U)[:, :p] * np.sqrt(n), atol=1e-8)


@pytest.mark.parametrize(("name", "changed"), [("pca", {"whiten": False}), ("pca", {"whiten": True}), ("fast_ica", {})])
def test_components_of_rounding_noise_are_left_out(name: str, changed: dict[str, bool]) -> None:
    """All three dummies of a feature sum to one: a table of them has one rank less than columns."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(60, 10, 200), rng.integers(0, 4, 200), np.eye(3)[rng.integers(0, 3, 200)]])
    Z = built(name, X, fraction=1.0, **changed).fit_transform(X)
    assert Z.shape[1] == 4  # of five columns
    assert Z.var(axis=0).min() > 0.1


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("contrast", ["logcosh", "exp", "cube"])
def test_ica_recovers_independent_sources(algorithm: str, contrast: str) -> None:
    S, X = mixed_sources()
    Z = built("fast_ica", X, fraction=1.0, algorithm=algorithm, contrast=contrast).fit_transform(X)
    correlation = np.abs(np.corrcoef(S.T, Z.T)[:3, 3:])
    # The contrasts' asymptotic error at 2,000 patients is below 0.05 in angle: cosines above 0.99.
    assert set(correlation.argmax(axis=1)) == {0, 1, 2}
    assert correlation.max(axis=1).min() > 0.99
    np.testing.assert_allclose(Z.var(axis=0), 1.0, rtol=1e-6)


def test_ica_after_whitening_components_is_ica_that_whitens() -> None:
    _, X = mixed_sources()
    Z = built("fast_ica", X, fraction=1.0).fit_transform(X)
    theirs = FastICA(whiten="unit-variance", random_state=0).fit_transform(StandardScaler().fit_transform(X))
    assert same_up_to_sign_and_order(Z, theirs)


def test_ica_of_dependent_columns_is_ica_of_independent_ones() -> None:
    _, X = mixed_sources()
    twice = np.hstack([X, X])
    Z = built("fast_ica", twice, fraction=1.0).fit_transform(twice)
    assert same_up_to_sign_and_order(Z, built("fast_ica", X, fraction=1.0).fit_transform(X))


@pytest.mark.parametrize(("contrast", "matters"), [("logcosh", True), ("exp", False), ("cube", False)])
def test_the_slope_is_that_of_the_log_cosh(contrast: str, matters: bool) -> None:
    _, X = mixed_sources(300)
    gentle, steep = (
        built("fast_ica", X, fraction=1.0, contrast=contrast, slope=slope).fit_transform(X) for slope in (1.0, 2.0)
    )
    assert matters == (np.abs(gentle - steep).max() > 1e-3)
