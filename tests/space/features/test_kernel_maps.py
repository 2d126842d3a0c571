from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from tests.space.features.tables import built, processor, shape_of

RNG = np.random.default_rng(5)
X = 7.0 + 3.0 * RNG.normal(size=(40, 4))
STANDARDISED = StandardScaler().fit_transform(X)


def test_kitchen_sinks_approximate_the_kernel() -> None:
    Z = built("random_kitchen_sinks", X, components=500, gamma=0.5).fit_transform(X)
    error = Z @ Z.T - rbf_kernel(STANDARDISED, gamma=0.5 / 4)
    # A product is a mean of 500 terms in [-2, 2]: Hoeffding's bound for all 820 pairs is 3e-4.
    assert np.abs(error).max() < 0.5
    assert np.abs(error).mean() < 0.05


def test_nystroem_with_all_patients_reproduces_the_kernel_around_its_mean() -> None:
    Z = built("nystroem", X, components=500, gamma=0.5).fit_transform(X)
    K = rbf_kernel(STANDARDISED, gamma=0.5 / 4)
    H = np.eye(40) - 1 / 40
    np.testing.assert_allclose(Z @ Z.T, H @ K @ H, atol=1e-5)


def test_kernel_pca_has_as_many_components_as_asked_for() -> None:
    assert built("kernel_pca", X, components=7).fit_transform(X).shape == (40, 7)


@pytest.mark.parametrize("name", ["kernel_pca", "nystroem", "random_kitchen_sinks"])
def test_an_average_pair_has_the_same_kernel_in_narrow_and_in_wide_tables(name: str) -> None:
    steps = [built(name, RNG.normal(size=(20, d))).steps[-1][1] for d in (2, 50)]
    assert [step.gamma for step in steps] == pytest.approx([0.05, 0.002])


@pytest.mark.parametrize("name", ["kernel_pca", "nystroem", "random_kitchen_sinks"])
def test_features_of_very_many_patients_fit_into_memory(name: str) -> None:
    algorithm = processor(name)
    units = dict.fromkeys((h.name for h in algorithm.hyperparameters), 1.0)
    parameters = dict(algorithm.step_from_unit(units).parameters)
    step = algorithm.build(parameters, shape_of(X, n_patients=800_000), 0).steps[-1][1]  # type: ignore[union-attr]
    assert step.n_components == 62
    assert step.n_components * 800_000 * 8 < 400e6
