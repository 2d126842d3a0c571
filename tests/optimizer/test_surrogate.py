from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import PairwiseKernel

from autoprog.optimizer.encoding import Encoding, Points
from autoprog.optimizer.fitting import NOISE_FLOOR, MarginalLikelihood, fit_parameters
from autoprog.optimizer.kernel import GatedAdditiveKernel, KernelParameters
from autoprog.optimizer.surrogate import Surrogate, cholesky
from tests.optimizer.toys import draw, toy_space

PARAMETERS = KernelParameters(1.3, 0.6, 0.2, 0.75)
CENTRES = KernelParameters(1.0, 0.5, 0.1, 0.75)


@pytest.fixture(scope="module")
def encoding() -> Encoding:
    return Encoding(toy_space(((0, 1), (2, 0, 3), (1, 4, 2), (0, 0))))


@pytest.fixture(scope="module")
def observed(encoding: Encoding) -> tuple[Points, np.ndarray]:
    rng = np.random.default_rng(2)
    return encoding.encode(draw(encoding.space, 30, rng)), rng.normal(size=30)


@pytest.fixture(scope="module", params=range(3))
def labels(request: pytest.FixtureRequest, encoding: Encoding) -> np.ndarray:
    return np.random.default_rng(request.param).integers(0, 4, encoding.n_algorithms)


@pytest.fixture(scope="module")
def surrogate(encoding: Encoding, observed: tuple[Points, np.ndarray], labels: np.ndarray) -> Surrogate:
    return Surrogate(*observed, labels, 5, owner=encoding.owner, parameters=PARAMETERS)


@pytest.fixture(scope="module")
def with_effects(encoding: Encoding, observed: tuple[Points, np.ndarray], labels: np.ndarray) -> Surrogate:
    effects = tuple(np.random.default_rng(6).uniform(0.05, 0.9, encoding.n_algorithms).tolist())
    return Surrogate(*observed, labels, 5, owner=encoding.owner, parameters=replace(PARAMETERS, effects=effects))


def test_component_means_sum_to_the_joint_mean(surrogate: Surrogate, encoding: Encoding) -> None:
    points = encoding.encode(draw(encoding.space, 50, np.random.default_rng(3)))
    mean, _ = surrogate.components(points)
    np.testing.assert_allclose(mean.sum(axis=0), surrogate.joint(points)[0], atol=1e-8, rtol=0)


def test_with_effects_components_and_effects_sum_to_the_joint_mean_and_bound_it(
    with_effects: Surrogate, encoding: Encoding
) -> None:
    points = encoding.encode(draw(encoding.space, 300, np.random.default_rng(5)))
    mean, sd = with_effects.components(points)
    effect, effect_sd = with_effects.effects()
    joint, covariance = with_effects.joint(points)
    np.testing.assert_allclose(mean.sum(axis=0) + points.used @ effect, joint, atol=1e-8, rtol=0)
    decomposed = (mean + 2.0 * sd).sum(axis=0) + points.used @ (effect + 2.0 * effect_sd)
    assert (decomposed - joint - 2.0 * np.sqrt(np.diag(covariance))).min() > -1e-9


def test_the_posterior_of_effects_follows_its_formulas(with_effects: Surrogate) -> None:
    observed, y = with_effects._points, with_effects._y
    own = np.array(with_effects.parameters.effects)
    precision = np.linalg.inv(with_effects.covariance(observed, observed) + 0.2 * np.eye(len(y)))
    cross = np.diag(own) @ observed.used.T
    mean, sd = with_effects.effects()
    np.testing.assert_allclose(mean, cross @ precision @ y, atol=1e-9)
    np.testing.assert_allclose(sd**2, own - np.diag(cross @ precision @ cross.T), atol=1e-9)


def test_component_posteriors_follow_their_formulas(surrogate: Surrogate, encoding: Encoding) -> None:
    points = encoding.encode(draw(encoding.space, 20, np.random.default_rng(4)))
    observed, y = surrogate._points, surrogate._y
    precision = np.linalg.inv(surrogate.component_covariances(observed, observed).sum(axis=0) + 0.2 * np.eye(len(y)))
    cross = surrogate.component_covariances(points, observed)
    prior = np.diagonal(surrogate.component_covariances(points, points), axis1=1, axis2=2)
    mean, sd = surrogate.components(points)
    np.testing.assert_allclose(mean, cross @ precision @ y, atol=1e-9)
    variance = prior - np.einsum("mij,jk,mik->mi", cross, precision, cross)
    np.testing.assert_allclose(sd**2, variance, atol=1e-9)


def test_the_decomposed_bound_is_never_below_the_joint_one(surrogate: Surrogate, encoding: Encoding) -> None:
    points = encoding.encode(draw(encoding.space, 300, np.random.default_rng(5)))
    component_mean, component_sd = surrogate.components(points)
    mean, covariance = surrogate.joint(points)
    joint = mean + 2.0 * np.sqrt(np.diag(covariance))
    decomposed = (component_mean + 2.0 * component_sd).sum(axis=0)
    assert (decomposed - joint).min() > -1e-9
    assert (decomposed - joint).max() > 1e-3


def test_the_joint_posterior_is_scikit_learns(surrogate: Surrogate, encoding: Encoding) -> None:
    """Against an independent implementation of Gaussian process regression on the same covariances."""
    points = encoding.encode(draw(encoding.space, 10, np.random.default_rng(6)))
    together = Points(
        np.vstack([surrogate._points.used, points.used]), np.vstack([surrogate._points.units, points.units])
    )
    covariance = surrogate.component_covariances(together, together).sum(axis=0)

    def look_up(i: np.ndarray, j: np.ndarray, **_: object) -> float:
        return float(covariance[int(i[0]), int(j[0])])

    n = len(surrogate._y)
    reference = GaussianProcessRegressor(
        PairwiseKernel(metric=look_up, pairwise_kernels_kwargs={}), alpha=PARAMETERS.noise, optimizer=None
    ).fit(np.arange(n)[:, None], surrogate._y)
    expected_mean, expected_covariance = reference.predict(np.arange(n, n + 10)[:, None], return_cov=True)
    mean, posterior = surrogate.joint(points)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-8)
    np.testing.assert_allclose(posterior, expected_covariance, atol=1e-8)


def test_gpytorch_and_numpy_have_the_same_marginal_likelihood(
    surrogate: Surrogate, encoding: Encoding, labels: np.ndarray
) -> None:
    kernel = GatedAdditiveKernel(labels, encoding.owner, PARAMETERS.similarity)
    model = MarginalLikelihood(surrogate._points, surrogate._y, kernel, CENTRES)
    model.set_raw(np.log([PARAMETERS.variance, PARAMETERS.length, PARAMETERS.noise - NOISE_FLOOR]))
    with torch.no_grad():
        assert model.log_likelihood().item() == pytest.approx(surrogate.log_likelihood, abs=1e-10)


def test_the_priors_are_normal_on_logarithms(surrogate: Surrogate, encoding: Encoding, labels: np.ndarray) -> None:
    kernel = GatedAdditiveKernel(labels, encoding.owner, PARAMETERS.similarity)
    model = MarginalLikelihood(surrogate._points, surrogate._y, kernel, KernelParameters(0.8, 0.4, 0.05, 0.75))
    model.set_raw(np.log([PARAMETERS.variance, PARAMETERS.length, PARAMETERS.noise - NOISE_FLOOR]))
    expected = (
        norm.logpdf(np.log(1.3), np.log(0.8), 1.0)
        + norm.logpdf(np.log(0.6), np.log(0.4), 0.7)
        + norm.logpdf(np.log(0.2), np.log(0.05), 1.2)
    )
    with torch.no_grad():
        assert (model.log_posterior() - model.log_likelihood()).item() == pytest.approx(expected, abs=1e-8)


def test_the_fit_climbs_to_a_stationary_point(surrogate: Surrogate, encoding: Encoding, labels: np.ndarray) -> None:
    kernel = GatedAdditiveKernel(labels, encoding.owner, PARAMETERS.similarity)
    model = MarginalLikelihood(surrogate._points, surrogate._y, kernel, CENTRES)
    model.set_raw(np.log([PARAMETERS.variance, PARAMETERS.length, PARAMETERS.noise - NOISE_FLOOR]))
    before = model.log_posterior().item()
    fitted = fit_parameters(model, PARAMETERS)
    model.set_raw(np.log([fitted.variance, fitted.length, fitted.noise - NOISE_FLOOR]))
    after = model.log_posterior()
    assert after.item() > before
    gradients = torch.autograd.grad(after, model.raw_parameters)
    # Fifteen iterations leave a slope of at most a hundredth of a nat for each e-fold of a parameter.
    assert max(abs(g.item()) for g in gradients) < 1e-2
    assert fitted.noise > NOISE_FLOOR


def test_the_noise_of_an_exact_history_stops_at_its_floor(encoding: Encoding) -> None:
    rng = np.random.default_rng(7)
    points = encoding.encode(draw(encoding.space, 40, rng))
    labels = np.zeros(encoding.n_algorithms, dtype=np.int64)
    y = points.used @ rng.normal(size=encoding.n_algorithms)
    y = (y - y.mean()) / y.std()
    kernel = GatedAdditiveKernel(labels, encoding.owner, 0.75)
    fitted = fit_parameters(
        MarginalLikelihood(points, y, kernel, CENTRES), KernelParameters(1.0, 0.5, NOISE_FLOOR, 0.75)
    )
    assert fitted.noise >= NOISE_FLOOR


def test_cholesky_adds_the_least_jitter_and_refuses_what_is_not_a_covariance() -> None:
    twins = np.ones((3, 3))
    factor = cholesky(twins)
    np.testing.assert_allclose(factor @ factor.T, twins, atol=1e-8)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(-np.eye(2))
