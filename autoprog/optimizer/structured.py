"""Bayesian optimisation with a learned additive kernel: the method of AutoPrognosis.

Each batch: fit the kernel's numbers under the last MAP decomposition, sample decompositions by Gibbs from where the
chain stood, and take a diverse batch by the decomposed upper confidence bound under the new MAP decomposition.

References
----------
Sheet autoprognosis.md; Alaa & van der Schaar 2018, ICML, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import SearchFailedError
from autoprog.evaluation import History
from autoprog.optimizer.acquisition import PipelineBounds, n_active_sets
from autoprog.optimizer.batch import select_batch
from autoprog.optimizer.candidates import draw_pools
from autoprog.optimizer.covariance import KernelParameters
from autoprog.optimizer.decomposition import Decomposition, draw_labels
from autoprog.optimizer.encoding import Encoding, Points
from autoprog.optimizer.fitting import MarginalLikelihood, fit_parameters
from autoprog.optimizer.gibbs import GibbsChain, LabelLikelihood
from autoprog.optimizer.initial import cheaper_half, stratified_design
from autoprog.optimizer.kernel import GatedAdditiveKernel
from autoprog.optimizer.observations import Observations, observe
from autoprog.optimizer.options import OptimizerOptions
from autoprog.optimizer.posterior import Posterior
from autoprog.optimizer.proposal import Proposal
from autoprog.optimizer.surrogate import Surrogate
from autoprog.optimizer.threads import one_thread
from autoprog.space import STAGES, Configuration, Space, Step, TableShape

# Evaluations before the surrogate takes over.
_FIRST_DESIGN = 10
# The chain goes on from batch to batch, so that a few sweeps a batch suffice; long histories afford one.
_MOST_SWEEPS, _SWEEP_EVALUATIONS = 4, 200
# Of the chain behind the posterior.
_BURN_IN, _DRAWS = 10, 20
# Candidates over all active sets, and the bounds of one set's.
_CANDIDATES, _LEAST_CANDIDATES, _MOST_CANDIDATES = 20_000, 8, 128
# Best observed pipelines whose hyperparameters are mutated.
_ANCHORS = 5


@dataclass(frozen=True, eq=False)
class _Belief:
    """The surrogate's inputs, its numbers, and the chain after its sweeps."""

    observations: Observations
    points: Points
    parameters: KernelParameters
    chain: GibbsChain


class StructuredOptimizer:
    """Gated additive kernel, Gibbs-sampled decompositions, decomposed upper confidence bound.

    Parameters
    ----------
    space : Space
        The algorithms in play.
    shape : TableShape
        The training folds; invalid combinations are masked before scoring.
    options : OptimizerOptions
        M, gamma, rho and beta.
    fill : bool
        Whether a batch with more places than subspaces of predictors is filled up.
    """

    def __init__(self, space: Space, shape: TableShape, options: OptimizerOptions, *, fill: bool) -> None:
        self._encoding = Encoding(space)
        self._kinds = space.valid_kinds(shape)
        # A young search learns more from many pipelines than from dear ones.
        self._first_kinds = cheaper_half(self._kinds, shape)
        self._kind_table = np.array([self._encoding.indices(kind) for kind in self._kinds])
        self._options = options
        self._fill = fill

    def propose(
        self, history: History, batch: int, size: int, rng: np.random.Generator, state: Mapping[str, Any]
    ) -> Proposal:
        """The first design, then the method's batches."""
        seen = {e.configuration for e in history}
        observations = observe(history)
        if observations is None or len(history) < _FIRST_DESIGN:
            design = stratified_design(self._encoding, self._first_kinds, size, seen, rng)
            return Proposal(batch, design, state=dict(state))
        with one_thread():
            belief = self._learn(observations, state, rng)
            for _ in range(int(np.clip(_SWEEP_EVALUATIONS // len(belief.points), 1, _MOST_SWEEPS))):
                belief.chain.sweep()
            configurations, filled = self._select(belief, size, seen, rng)
        return Proposal(batch, configurations, filled, self._state(belief))

    def posterior(self, history: History, rng: np.random.Generator, state: Mapping[str, Any]) -> Posterior:
        """Draws of a longer chain that goes on from the last batch's."""
        observations = observe(history)
        if observations is None:
            raise SearchFailedError(f"none of {len(history)} evaluations succeeded")
        with one_thread():
            belief = self._learn(observations, state, rng)
            for _ in range(_BURN_IN):
                belief.chain.sweep()
            draws: list[NDArray[np.int64]] = []
            for _ in range(_DRAWS):
                belief.chain.sweep()
                draws.append(belief.chain.labels.copy())
            explored = observations.succeeded
            points = Points(belief.points.used[explored], belief.points.units[explored])
            surrogates = [self._surrogate(belief, labels) for labels in draws]
            moments = [surrogate.joint(points) for surrogate in surrogates]
            smoothers = np.array([surrogate.smoother(points) for surrogate in surrogates])
        return Posterior(
            numbers=tuple(e.number for e, s in zip(observations.evaluations, explored, strict=True) if s),
            means=np.array([mean for mean, _ in moments]),
            covariances=np.array([covariance for _, covariance in moments]),
            decompositions=tuple(Decomposition.from_labels(self._encoding.keys, labels) for labels in draws),
            best=Decomposition.from_labels(self._encoding.keys, belief.chain.best),
            keys=self._encoding.keys,
            observations=observations,
            smoothers=smoothers,
        )

    def _learn(self, observations: Observations, state: Mapping[str, Any], rng: np.random.Generator) -> _Belief:
        """Fit the numbers under the last MAP decomposition and take the chain up, before any sweep."""
        options, owner = self._options, self._encoding.owner
        points = self._encoding.encode([e.configuration for e in observations.evaluations])
        if state:
            labels, best = (self._labels(state[name]) for name in ("chain", "best"))
            start = KernelParameters(**state["parameters"], similarity=options.similarity)
        else:
            labels = draw_labels(self._encoding.n_algorithms, options.subspaces, options.concentration, rng)
            best = labels
            start = KernelParameters(1.0, 0.5, observations.noise, similarity=options.similarity)
        kernel = GatedAdditiveKernel(best, owner, options.similarity)
        model = MarginalLikelihood(points, observations.y, kernel, observations.noise)
        parameters = fit_parameters(model, start)

        data = (points, observations.y)
        likelihood = LabelLikelihood(*data, labels, options.subspaces, owner=owner, parameters=parameters)
        former = Surrogate(*data, best, options.subspaces, owner=owner, parameters=parameters)
        chain = GibbsChain(likelihood, labels, options.subspaces, options.concentration, rng)
        chain.visit(best, former.log_likelihood)
        return _Belief(observations, points, parameters, chain)

    def _select(
        self, belief: _Belief, size: int, seen: set[Configuration], rng: np.random.Generator
    ) -> tuple[tuple[Configuration, ...], int]:
        labels = belief.chain.best
        per_set = _CANDIDATES // n_active_sets(self._kind_table, labels)
        per_set = int(np.clip(per_set, _LEAST_CANDIDATES, _MOST_CANDIDATES))
        pools = draw_pools(self._encoding, per_set, self._anchors(belief.observations), rng)
        surrogate = self._surrogate(belief, labels)
        bounds = PipelineBounds(surrogate, self._encoding, self._kind_table, pools, self._options.beta)
        return select_batch(bounds, labels, size, seen, fill=self._fill)

    def _anchors(self, observations: Observations) -> list[list[Step]]:
        """For each algorithm its steps in the best pipelines that use it."""
        anchors: list[list[Step]] = [[] for _ in self._encoding.keys]
        for i in np.argsort(-observations.y, kind="stable"):
            if not observations.succeeded[i]:
                continue
            configuration = observations.evaluations[i].configuration
            for stage, a in zip(STAGES, self._encoding.algorithms_of(configuration), strict=True):
                if len(anchors[a]) < _ANCHORS:
                    anchors[a].append(configuration.step(stage))
        return anchors

    def _surrogate(self, belief: _Belief, labels: NDArray[np.int64]) -> Surrogate:
        return Surrogate(
            belief.points,
            belief.observations.y,
            labels,
            self._options.subspaces,
            owner=self._encoding.owner,
            parameters=belief.parameters,
        )

    def _labels(self, subspaces: Mapping[str, Any]) -> NDArray[np.int64]:
        return Decomposition.from_json(subspaces).labels(self._encoding.keys)

    def _state(self, belief: _Belief) -> dict[str, Any]:
        keys, parameters = self._encoding.keys, belief.parameters
        return {
            "chain": Decomposition.from_labels(keys, belief.chain.labels).to_json(),
            "best": Decomposition.from_labels(keys, belief.chain.best).to_json(),
            "parameters": {
                "variance": parameters.variance,
                "length": parameters.length,
                "noise": parameters.noise,
            },
        }
