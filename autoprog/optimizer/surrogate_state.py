"""The state of the surrogate: observations, kernel parameters and sampled decompositions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.decomposition import DecompositionPrior
from autoprog.optimizer.encoding import Encoding, Points
from autoprog.optimizer.fitting import MarginalLikelihood, fit_parameters
from autoprog.optimizer.gibbs import GibbsChain, LabelLikelihood
from autoprog.optimizer.kernel import GatedAdditiveKernel, KernelParameters
from autoprog.optimizer.main_effects import family_labels
from autoprog.optimizer.observations import Observations
from autoprog.optimizer.options import OptimizerOptions
from autoprog.optimizer.prior_mean import PriorMean
from autoprog.optimizer.surrogate import Surrogate
from autoprog.space import STAGES


@dataclass(frozen=True, eq=False)
class SurrogateState:
    """Observations, the fitted process, and a chain over decompositions that may continue."""

    observations: Observations
    points: Points
    parameters: KernelParameters  # fitted under the MAP decomposition of the batch before
    prior: DecompositionPrior
    chain: GibbsChain
    samples: list[NDArray[np.int64]]  # labels that the chain visited last, the newest last
    encoding: Encoding
    trend: PriorMean  # prior mean from earlier cohorts
    y: NDArray[np.float64]  # gains less the trend, shape = (n,); the process is fitted to them

    @classmethod
    def learn(
        cls,
        encoding: Encoding,
        options: OptimizerOptions,
        observations: Observations,
        state: Mapping[str, Any],
        rng: np.random.Generator,
        offsets: Mapping[str, float] | None = None,
    ) -> SurrogateState:
        """Fit the kernel under the last MAP decomposition and restore the chain from `state`, before any sweep."""
        points = encoding.encode([e.configuration for e in observations.evaluations])
        trend = PriorMean(encoding, offsets or {}, points, observations.y)
        y = observations.y - trend.at(points)
        # An upgrade may have changed the algorithms; their labels then say nothing, and the chain begins anew.
        state = state if state and len(state["labels"]) == encoding.n_algorithms else {}
        M = _count_subspaces(options.subspaces, state)
        knows_families = options.family_strength > 0 and options.decompositions == "learnt"
        homes = family_labels(encoding.algorithms, M) if knows_families else None
        stage_of = np.array([STAGES.index(a.stage) for a in encoding.algorithms])
        groups = np.unique(stage_of, return_inverse=True)[1] if options.counts == "stage" else None
        prior = DecompositionPrior(M, options.concentration, homes, options.family_strength, groups)
        centres = KernelParameters(
            options.variance, options.length, observations.noise, similarity=options.similarity, gated=options.gated
        )
        if state:
            labels, best = (np.array(state[name], dtype=np.int64) for name in ("labels", "best"))
            samples = [np.array(sample, dtype=np.int64) for sample in state["samples"]]
            numbers = dict(state["parameters"])
            start = KernelParameters(**{**numbers, "effects": tuple(numbers["effects"])})
        else:
            labels = best = prior.start(encoding.n_algorithms, rng)
            samples = []
            start = centres
        kernel = GatedAdditiveKernel(
            best,
            encoding.owner,
            options.similarity,
            stages=stage_of if options.effects else None,
            ungated=None if options.gated else M,
        )
        model = MarginalLikelihood(points, y, kernel, centres)
        parameters = fit_parameters(model, start)

        owner = encoding.owner
        likelihood = LabelLikelihood(points, y, labels, M, owner=owner, parameters=parameters)
        former = Surrogate(points, y, best, M, owner=owner, parameters=parameters)
        chain = GibbsChain(likelihood, labels, prior, rng)
        chain.visit(best, former.log_likelihood)
        return cls(observations, points, parameters, prior, chain, samples, encoding, trend, y)

    def sweep(self, times: int, kept: int) -> None:
        """Continue the chain and keep its latest decompositions."""
        for _ in range(times):
            self.chain.sweep()
            self.samples.append(self.chain.labels.copy())
        del self.samples[:-kept]

    def surrogate(self, labels: NDArray[np.int64]) -> Surrogate:
        """The process under one decomposition."""
        return Surrogate(
            self.points,
            self.y,
            labels,
            self.prior.subspaces,
            owner=self.encoding.owner,
            parameters=self.parameters,
        )

    @property
    def state(self) -> dict[str, Any]:
        """The input of the next batch, as JSON."""
        return {
            "subspaces": self.prior.subspaces,
            "labels": self.chain.labels.tolist(),
            "best": self.chain.best.tolist(),
            "samples": [sample.tolist() for sample in self.samples],
            "parameters": {**asdict(self.parameters), "effects": list(self.parameters.effects)},
        }


def _count_subspaces(least: int, state: Mapping[str, Any]) -> int:
    """M: `least`, or more where a continued search inherits labels from a start that taught a larger M."""
    if not state:
        return least
    # States of earlier versions hold no M.
    largest = max(max(labels) for labels in (state["labels"], state["best"], *state["samples"]))
    return max(least, int(state.get("subspaces", 0)), 1 + int(largest))
