"""Bayesian optimisation with a learned additive kernel.

References
----------
Alaa & van der Schaar 2018, ICML, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from autoprog.errors import SearchFailedError
from autoprog.evaluation import History
from autoprog.optimizer._base import Proposal
from autoprog.optimizer.acquisition import PipelineBounds, n_active_sets, select_batch
from autoprog.optimizer.decomposition import Decomposition
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.improvement import early_cost_penalty, improving_batch
from autoprog.optimizer.initial import Start, cheaper_half, simple_configuration, stratified_design
from autoprog.optimizer.mixture import Mixture
from autoprog.optimizer.neighbourhood import Neighbourhood, draw_pools
from autoprog.optimizer.observations import Observations, observe, with_paths
from autoprog.optimizer.options import OptimizerOptions
from autoprog.optimizer.posterior import Posterior
from autoprog.optimizer.stopping import has_found
from autoprog.optimizer.surrogate_state import SurrogateState
from autoprog.optimizer.threads import one_thread
from autoprog.space import STAGES, Configuration, Space, Step, TableShape

# Evaluations before the surrogate takes over, without earlier cohorts.
_FIRST_DESIGN = 10
# The chain continues from batch to batch, so a few sweeps a batch suffice; a long history affords one.
_MAX_SWEEPS, _SWEEP_EVALUATIONS = 4, 200
# Sweeps of the posterior's chain: discarded ones, and draws.
_BURN_IN, _DRAWS = 10, 20
# Candidates of all active sets together, and the least and most of one set.
_CANDIDATES, _MIN_CANDIDATES, _MAX_CANDIDATES = 20_000, 8, 128
# Number of likelihood-weighted draws that replace one unweighted draw.
_WEIGHTED_DRAWS = 4
# Best observed steps of each algorithm that are mutated.
_ANCHORS = 5


class StructuredOptimizer:
    """Gated additive kernel, Gibbs-sampled decompositions, and expected improvement or upper confidence bounds."""

    def __init__(self, space: Space, shape: TableShape, options: OptimizerOptions, start: Start) -> None:
        self._encoding = Encoding(space)
        self._shape = shape
        self._kinds = space.valid_kinds(shape)
        # A young search learns more from many pipelines than from expensive ones.
        self._first_kinds = cheaper_half(self._kinds, shape)
        self._first = (simple_configuration(self._kinds, shape.simple_predictor), *start.portfolio)
        # Offsets choose better than the rest of a portfolio, which only serves evaluations that run beside its first.
        least = min(len(self._first), 2) if start.offsets else len(self._first)
        self._first_design = max(least, math.ceil(_FIRST_DESIGN * (1.0 - start.trust)))
        self._kind_table = np.array([self._encoding.indices(kind) for kind in self._kinds])
        self._options = options
        self._start = start

    def propose(
        self,
        history: History,
        batch: int,
        size: int,
        rng: np.random.Generator,
        state: Mapping[str, Any],
        pending: Sequence[Configuration] = (),
    ) -> Proposal:
        """Propose the first design, then batches from the surrogate."""
        known = {*(e.configuration for e in history), *pending}
        # A pipeline with a path counts at the setting that was chosen, but is not proposed at its bound again.
        seen = known | {e.proposed for e in history}
        observations = observe(with_paths(history), self._options.outputs, start=self._start)
        if observations is None or len(known) < self._first_design:
            return Proposal(batch, self._design(size, known, seen, rng), state=dict(state))
        options = self._options
        with one_thread():
            # Fit the kernel under the last MAP decomposition, then continue the chain from where it stood.
            belief = SurrogateState.learn(self._encoding, options, observations, state, rng, self._start.offsets)
            if options.decompositions == "learnt":
                belief.sweep(int(np.clip(_SWEEP_EVALUATIONS // len(belief.points), 1, _MAX_SWEEPS)), options.averaged)
            mixture = self._mixture(belief, rng)
            # A separate generator, so that a search that does not stop proposes what it would without the rule.
            apart = rng.spawn(1)[0]
            if options.stop != "never" and has_found(mixture, self._neighbourhood, options.stop, apart):
                return Proposal(batch, (), state=belief.state)
            # `paper` is AutoPrognosis: a diverse batch by upper confidence bounds under the new MAP decomposition. The
            # default takes expected improvement of the whole score, averaged over the sampled decompositions.
            if options.acquisition == "ucb":
                configurations = self._bounded(mixture, size, seen, rng, pending)
            else:
                configurations = improving_batch(
                    mixture,
                    self._neighbourhood,
                    size,
                    seen,
                    rng,
                    pending=pending,
                    prices=early_cost_penalty(self._kinds, self._shape, len(history)) if options.cost_aware else None,
                    is_local=options.local_after is not None and len(history) >= options.local_after,
                )
        return Proposal(batch, configurations, state=belief.state)

    def posterior(self, history: History, rng: np.random.Generator, state: Mapping[str, Any]) -> Posterior:
        """Continue the last batch's chain for longer, and return its draws."""
        # Neither the start's offsets nor its scale: a search's conclusions rest on its own evaluations.
        observations = observe(history)
        if observations is None:
            raise SearchFailedError(f"none of {len(history)} evaluations succeeded")
        keys = self._encoding.keys
        with one_thread():
            belief = SurrogateState.learn(self._encoding, self._options, observations, state, rng)
            if self._options.decompositions == "learnt":
                belief.sweep(_BURN_IN + _DRAWS, _DRAWS)
                drawn = belief.samples
            else:
                drawn = self._mixture(belief, rng, _DRAWS).resampled(_DRAWS, rng)
            explored = observations.succeeded
            points = belief.points[explored]
            surrogates = [belief.surrogate(labels) for labels in drawn]
            moments = [surrogate.joint(points) for surrogate in surrogates]
            smoothers = np.array([surrogate.smoother(points) for surrogate in surrogates])
        return Posterior(
            numbers=tuple(e.number for e, s in zip(observations.evaluations, explored, strict=True) if s),
            means=np.array([mean for mean, _ in moments]),
            covariances=np.array([covariance for _, covariance in moments]),
            decompositions=tuple(Decomposition.from_labels(keys, labels) for labels in drawn),
            best=Decomposition.from_labels(keys, belief.chain.best),
            keys=keys,
            observations=observations,
            smoothers=smoothers,
        )

    @cached_property
    def _neighbourhood(self) -> Neighbourhood:
        return Neighbourhood(self._encoding.space, self._kinds)

    def _design(
        self, size: int, known: set[Configuration], seen: set[Configuration], rng: np.random.Generator
    ) -> tuple[Configuration, ...]:
        """Choose cheap kinds, then any kinds once the cheap ones are exhausted."""
        design = stratified_design(self._encoding, self._first_kinds, size, known, rng, self._first, also_taken=seen)
        rest = stratified_design(
            self._encoding, self._kinds, size - len(design), {*known, *design}, rng, also_taken=seen
        )
        return (*design, *rest)

    def _mixture(self, belief: SurrogateState, rng: np.random.Generator, averaged: int | None = None) -> Mixture:
        """Average the surrogate over decompositions: the chain's latest, or draws from the prior."""
        options = self._options
        n_draws = options.averaged if averaged is None else averaged
        if options.decompositions == "learnt":
            return Mixture(belief, belief.samples)
        n_algorithms, is_weighted = self._encoding.n_algorithms, options.decompositions == "weighted"
        drawn = [belief.prior.draw(n_algorithms, rng) for _ in range(n_draws * (_WEIGHTED_DRAWS if is_weighted else 1))]
        return Mixture(belief, drawn, by_likelihood=is_weighted)

    def _bounded(
        self,
        mixture: Mixture,
        size: int,
        seen: set[Configuration],
        rng: np.random.Generator,
        pending: Sequence[Configuration],
    ) -> tuple[Configuration, ...]:
        """Choose the batch by upper confidence bounds, as in the source."""
        belief = mixture.belief
        is_learnt = self._options.decompositions == "learnt"
        labels = belief.chain.best if is_learnt else mixture.resampled(1, rng)[0]
        per_set = _CANDIDATES // n_active_sets(self._kind_table, labels)
        per_set = int(np.clip(per_set, _MIN_CANDIDATES, _MAX_CANDIDATES))
        pools = draw_pools(self._encoding, per_set, self._anchors(belief.observations), rng)
        mixture = Mixture(belief, [labels])
        mixture.believe(self._encoding.encode(pending))
        (surrogate,) = mixture.surrogates
        options = self._options
        bounds = PipelineBounds(
            surrogate,
            self._encoding,
            self._kind_table,
            pools,
            options.beta,
            trend=belief.trend if self._start.offsets else None,
            ascent=options.ascent,
        )
        return select_batch(bounds, labels, size, seen, is_full=options.full_batches)

    def _anchors(self, observations: Observations) -> list[list[Step]]:
        """List each algorithm's steps in the best pipelines that use it."""
        anchors: list[list[Step]] = [[] for _ in self._encoding.keys]
        for i in np.argsort(-observations.y, kind="stable"):
            if not observations.succeeded[i]:
                continue
            configuration = observations.evaluations[i].configuration
            for stage, a in zip(STAGES, self._encoding.list_algorithms(configuration), strict=True):
                if len(anchors[a]) < _ANCHORS:
                    anchors[a].append(configuration.step(stage))
        return anchors
