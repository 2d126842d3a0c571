from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.kernel import (
    CORRELATIONS,
    GatedAdditiveKernel,
    KernelParameters,
    coordinates,
    indicator_weight,
    squared_distances,
    to_tensor,
)
from autoprog.optimizer.surrogate import Surrogate
from autoprog.space import STAGES, Configuration, Step
from tests.optimizer.toys import draw, toy_space


def covariance(
    encoding: Encoding, configurations: list[Configuration], labels: np.ndarray, parameters: KernelParameters
) -> np.ndarray:
    points = encoding.encode(configurations)
    subspaces = int(labels.max()) + 1
    surrogate = Surrogate(points, np.zeros(len(points)), labels, subspaces, owner=encoding.owner, parameters=parameters)
    return surrogate.covariance(points, points)


def test_the_squared_exponential_has_the_sheets_indicator_weight() -> None:
    for rho in (0.3, 0.75, 0.9):
        assert indicator_weight("rbf", rho) == pytest.approx(-np.log(rho), rel=1e-12)


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize("rho", [0.01, 0.3, 0.75, 0.99])
def test_two_pipelines_one_swap_apart_within_a_subspace_correlate_by_rho(correlation: str, rho: float) -> None:
    encoding = Encoding(toy_space(((0,), (0,), (0, 0), (0,))))
    rest = {
        "imputation": Step.of("imputation0"),
        "features": Step.of("features0"),
        "calibration": Step.of("calibration0"),
    }
    pair = [Configuration(prediction=Step.of(f"prediction{i}"), **rest) for i in (0, 1)]
    parameters = KernelParameters(2.0, 0.4, 0.1, rho, correlation)
    K = covariance(encoding, pair, np.zeros(5, dtype=np.int64), parameters)
    np.testing.assert_allclose(K, 2.0 * np.array([[1.0, rho], [rho, 1.0]]), rtol=1e-12)


def test_pipelines_without_a_common_subspace_are_uncorrelated() -> None:
    """The sheet's figure: 3.50 of a variance of 5 without the gate, in five subspaces, though nothing is shared."""
    encoding = Encoding(toy_space(((0, 0, 0, 0, 0),) * 4))
    labels = np.tile(np.arange(5), 4)
    pair = [
        Configuration(*(Step.of(f"{s}{i}") for s in ("imputation", "features", "prediction", "calibration")))
        for i in (0, 1)
    ]
    parameters = KernelParameters(1.0, 0.5, 0.1, 0.5, "rbf")
    np.testing.assert_allclose(covariance(encoding, pair, labels, parameters), np.eye(2), atol=1e-12)

    points = encoding.encode(pair)
    ungated = 0.0
    for m in range(5):
        x = coordinates(points, labels == m, encoding.owner, parameters)
        ungated += float(parameters.correlate(squared_distances(x, x))[0, 1])
    assert ungated == pytest.approx(3.5, rel=1e-12)
    shared = covariance(encoding, pair, labels, replace(parameters, gated=False))
    np.testing.assert_allclose(5.0 * shared, [[5.0, 3.5], [3.5, 5.0]], rtol=1e-12)


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_the_kernel_is_positive_semi_definite_under_every_decomposition(correlation: str, gated: bool) -> None:
    encoding = Encoding(toy_space(((1,), (2,), (1, 0), (0,))))
    configurations = draw(encoding.space, 25, np.random.default_rng(0))
    parameters = KernelParameters(1.0, 0.7, 0.1, 0.75, correlation, gated=gated)
    for z in product(range(3), repeat=5):
        K = covariance(encoding, configurations, np.array(z), parameters)
        assert np.linalg.eigvalsh(K).min() > -1e-12
        np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-12)


def shared_effects(configurations: list[Configuration], effects: np.ndarray) -> np.ndarray:
    """By its definition: the variances of the stages at which two pipelines have the same algorithm."""
    return np.array(
        [
            [
                sum(e for s, e in zip(STAGES, effects, strict=True) if p.step(s).algorithm == q.step(s).algorithm)
                for q in configurations
            ]
            for p in configurations
        ]
    )


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_the_slope_of_a_correlation_is_its_derivative(correlation: str) -> None:
    parameters = KernelParameters(1.0, 0.5, 0.1, 0.75, correlation)
    r2 = np.array([1e-4, 0.02, 0.3, 1.0, 7.0])
    difference = (parameters.correlate(r2 + 1e-7) - parameters.correlate(r2 - 1e-7)) / 2e-7
    np.testing.assert_allclose(parameters.slope(r2), difference, rtol=1e-5)


@pytest.mark.parametrize("gated", [True, False], ids=["gated", "ungated"])
@pytest.mark.parametrize("effects", [False, True], ids=["source", "effects"])
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_gpytorch_and_numpy_hold_the_same_kernel(correlation: str, effects: bool, gated: bool) -> None:
    rng = np.random.default_rng(1)
    encoding = Encoding(toy_space(((0, 1), (2, 0, 3), (1, 4, 2), (0, 0))))
    configurations = draw(encoding.space, 40, rng)
    for _ in range(5):
        labels = rng.integers(0, 4, encoding.n_algorithms)
        parameters = KernelParameters(
            *rng.uniform(0.2, 3.0, 2),
            noise=0.1,
            similarity=float(rng.uniform(0.1, 0.9)),
            correlation=correlation,
            gated=gated,
        )
        stages = np.array([STAGES.index(a.stage) for a in encoding.algorithms]) if effects else None
        ungated = None if gated else int(labels.max()) + 1
        kernel = GatedAdditiveKernel(labels, encoding.owner, parameters.similarity, correlation, stages, ungated)
        kernel.initialize(
            raw_variance=torch.tensor(np.log(parameters.variance)), raw_length=torch.tensor(np.log(parameters.length))
        )
        of_stages = rng.uniform(0.1, 1.0, len(STAGES))
        if effects:
            kernel.initialize(raw_effects=torch.from_numpy(np.log(of_stages)))
            parameters = replace(parameters, effects=kernel.by_algorithm(of_stages.tolist()))
            assert kernel.by_stage(parameters.effects) == tuple(of_stages.tolist())
        x = to_tensor(encoding.encode(configurations))
        with torch.no_grad():
            whole, rectangle = kernel(x).to_dense().numpy(), kernel(x[:7], x[7:]).to_dense().numpy()
            diagonal = kernel(x, diag=True).numpy()
        expected = covariance(encoding, configurations, labels, parameters)
        if effects:
            structured = covariance(encoding, configurations, labels, replace(parameters, effects=()))
            np.testing.assert_allclose(expected, structured + shared_effects(configurations, of_stages), atol=1e-12)
        np.testing.assert_allclose(whole, expected, atol=1e-10, rtol=0)
        np.testing.assert_allclose(rectangle, expected[:7, 7:], atol=1e-10, rtol=0)
        np.testing.assert_allclose(diagonal, np.diag(expected), atol=1e-10, rtol=0)
