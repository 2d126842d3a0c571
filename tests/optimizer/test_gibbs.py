from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from autoprog.optimizer.decomposition import Decomposition, DecompositionPrior, log_prior
from autoprog.optimizer.encoding import Encoding, Points
from autoprog.optimizer.gibbs import GibbsChain, LabelLikelihood
from autoprog.optimizer.kernel import KernelParameters
from autoprog.optimizer.surrogate import Surrogate
from tests.optimizer.toys import draw, toy_space

PARAMETERS = KernelParameters(1.0, 0.5, 0.05, 0.6)


def toy(n: int, seed: int) -> tuple[Encoding, Points, np.ndarray]:
    """Five algorithms, and gains drawn from the model under a partition into two subspaces."""
    rng = np.random.default_rng(seed)
    encoding = Encoding(toy_space(((1,), (1,), (1, 1), (1,))))
    points = encoding.encode(draw(encoding.space, n, rng))
    truth = Surrogate(points, np.zeros(n), np.array([0, 1, 0, 1, 1]), 2, owner=encoding.owner, parameters=PARAMETERS)
    K = truth.component_covariances(points, points).sum(axis=0) + PARAMETERS.noise * np.eye(n)
    return encoding, points, np.linalg.cholesky(K) @ rng.normal(size=n)


def enumerate_posterior(
    encoding: Encoding, points: Points, y: np.ndarray, prior: DecompositionPrior, parameters: KernelParameters
) -> tuple[dict[Decomposition, float], tuple[Decomposition, float]]:
    """Exact probability of every partition, and the labelling with the largest log posterior."""
    by_partition: dict[Decomposition, list[float]] = {}
    for z in product(range(prior.subspaces), repeat=encoding.n_algorithms):
        labels = np.array(z)
        surrogate = Surrogate(points, y, labels, prior.subspaces, owner=encoding.owner, parameters=parameters)
        groups = np.zeros(len(labels), dtype=int) if prior.groups is None else prior.groups
        score = surrogate.log_likelihood + sum(
            log_prior(np.bincount(labels[groups == g], minlength=prior.subspaces), prior.concentration)
            for g in np.unique(groups)
        )
        if prior.homes is not None:
            score += prior.strength * sum(z[a] == home for a, home in enumerate(prior.homes))
        by_partition.setdefault(Decomposition.from_labels(encoding.keys, labels), []).append(score)
    total = logsumexp([s for scores in by_partition.values() for s in scores])
    best = max(by_partition, key=lambda d: max(by_partition[d]))
    return {d: float(np.exp(logsumexp(s) - total)) for d, s in by_partition.items()}, (best, max(by_partition[best]))


WITH_EFFECTS = replace(PARAMETERS, effects=(0.1, 0.2, 0.3, 0.3, 0.05))
AT_HOME = DecompositionPrior(3, 1.0, np.array([0, 1, 2, 2, 0]), 1.0)
BY_STAGE = DecompositionPrior(2, 0.3, groups=np.array([0, 1, 2, 2, 3]))
UNGATED = replace(PARAMETERS, gated=False)


@pytest.mark.parametrize(
    ("prior", "parameters", "seed"),
    [
        pytest.param(DecompositionPrior(2, 1.0), PARAMETERS, 0, marks=pytest.mark.slow),
        pytest.param(DecompositionPrior(3, 0.4), PARAMETERS, 2, marks=pytest.mark.slow),
        (AT_HOME, WITH_EFFECTS, 2),
        pytest.param(BY_STAGE, PARAMETERS, 1, marks=pytest.mark.slow),
        pytest.param(DecompositionPrior(2, 1.0), UNGATED, 0, marks=pytest.mark.slow),
    ],
    ids=["M = 2", "M = 3", "families and effects", "counts by stage", "ungated"],
)
def test_partitions_of_6000_sweeps_follow_the_exact_posterior(
    prior: DecompositionPrior, parameters: KernelParameters, seed: int
) -> None:
    encoding, points, y = toy(14, seed)
    exact, (best, best_score) = enumerate_posterior(encoding, points, y, prior, parameters)
    assert 0.1 < max(exact.values()) < 0.9  # neither flat nor certain: a wrong chain would show

    rng = np.random.default_rng(100 + seed)
    labels = prior.start(encoding.n_algorithms, rng)
    likelihood = LabelLikelihood(points, y, labels, prior.subspaces, owner=encoding.owner, parameters=parameters)
    chain = GibbsChain(likelihood, labels, prior, rng)
    visits: Counter[Decomposition] = Counter()
    for _ in range(6000):
        chain.sweep()
        visits[Decomposition.from_labels(encoding.keys, chain.labels)] += 1

    distance = 0.5 * sum(abs(visits[d] / 6000 - p) for d, p in exact.items())
    assert distance < 0.05
    assert Decomposition.from_labels(encoding.keys, chain.best) == best
    # A density of labels: the source's where labels are exchangeable, up to a constant where they are not.
    assert chain.best_log_posterior == pytest.approx(best_score, abs=1e-8)


@pytest.mark.parametrize("gated", [True, False], ids=["gated", "ungated"])
@pytest.mark.parametrize("effects", [(), tuple(np.linspace(0.0, 0.4, 10).tolist())], ids=["source", "effects"])
def test_conditionals_equal_the_surrogates_likelihood_along_a_chain(effects: tuple[float, ...], gated: bool) -> None:
    parameters = replace(PARAMETERS, effects=effects, gated=gated)
    rng = np.random.default_rng(3)
    encoding = Encoding(toy_space(((0, 1), (2, 0, 3), (1, 4, 2), (0, 0))))
    points = encoding.encode(draw(encoding.space, 35, rng))
    y = rng.normal(size=35)
    labels = rng.integers(0, 4, encoding.n_algorithms)
    likelihood = LabelLikelihood(points, y, labels, 4, owner=encoding.owner, parameters=parameters)
    for step in range(60):
        a = step % encoding.n_algorithms
        values = likelihood.detach(a)
        for m in range(4):
            labels[a] = m
            surrogate = Surrogate(points, y, labels, 4, owner=encoding.owner, parameters=parameters)
            assert values[m] == pytest.approx(surrogate.log_likelihood, abs=1e-9)
        labels[a] = rng.integers(4)
        likelihood.attach(a, int(labels[a]), float(values[labels[a]]))


def test_an_algorithm_that_nothing_uses_or_that_everything_uses_is_sampled_too() -> None:
    encoding, points, y = toy(8, 4)
    only = points.used[:, 2]
    points, y = Points(points.used[only], points.units[only]), y[only]
    assert not points.used[:, 3].any()
    assert points.used[:, 0].all()
    labels = np.zeros(5, dtype=np.int64)
    likelihood = LabelLikelihood(points, y, labels, 2, owner=encoding.owner, parameters=PARAMETERS)
    assert likelihood.detach(3).tolist() == [likelihood.value] * 2
    likelihood.attach(3, 0, likelihood.value)
    values = likelihood.detach(0)
    labels[0] = 1
    moved = Surrogate(points, y, labels, 2, owner=encoding.owner, parameters=PARAMETERS).log_likelihood
    assert values[1] == pytest.approx(moved, abs=1e-10)


def test_where_the_data_say_nothing_the_chain_draws_from_the_prior() -> None:
    """Expected co-membership under a symmetric Dirichlet: (gamma + 1) / (M gamma + 1)."""
    encoding, points, _ = toy(2, 5)
    labels = np.zeros(5, dtype=np.int64)
    drowned = KernelParameters(1.0, 0.5, 1e9, 0.6)
    likelihood = LabelLikelihood(points, np.zeros(2), labels, 3, owner=encoding.owner, parameters=drowned)
    chain = GibbsChain(likelihood, labels, DecompositionPrior(3, 1.0), np.random.default_rng(5))
    together = np.zeros(2500)
    for sweep in range(2500):
        chain.sweep()
        together[sweep] = chain.labels[0] == chain.labels[4]
    # Four standard errors over 2,500 sweeps whose effective number is at least a third of that.
    assert together.mean() == pytest.approx(2.0 / 4.0, abs=0.07)


def test_counts_of_a_stage_are_its_own() -> None:
    """Weights of eq. 8 as printed: algorithms of other stages draw none; the prior sums to 1 over all labels."""
    prior = DecompositionPrior(2, 0.5, groups=np.array([0, 0, 1, 1, 1]))
    labels = np.array([0, 1, 1, 1, 0])
    assert prior.sizes(labels).tolist() == [[1, 1], [1, 2]]
    np.testing.assert_allclose(prior.log_weights(2, np.array([1, 1])), np.log([1.5, 1.5]))
    everything = [np.exp(prior.log_density(np.array(z))) for z in product(range(2), repeat=5)]
    assert sum(everything) == pytest.approx(1.0)
    rng = np.random.default_rng(6)
    draws = np.array([prior.draw(5, rng) for _ in range(8000)])
    # Within a group (gamma + 1) / (M gamma + 1) = .75; of two groups 1/2. Four standard errors are .02.
    assert (draws[:, 2] == draws[:, 3]).mean() == pytest.approx(0.75, abs=0.02)
    assert (draws[:, 0] == draws[:, 3]).mean() == pytest.approx(0.5, abs=0.023)
