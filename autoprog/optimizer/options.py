"""The optimizers' presets and constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Preset = Literal["default", "paper", "random"]
Acquisition = Literal["log_ei", "ucb"]
Decompositions = Literal["learnt", "random", "weighted"]
Outputs = Literal["clipped", "unclipped", "ranks"]
Aim = Literal["pipeline", "ensemble"]
Stop = Literal["never", "improvement", "regret"]
Counts = Literal["shared", "stage"]


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    """Which optimizer, and its constants.

    Attributes
    ----------
    preset : {"default", "paper", "random"}
        A name of the table in `presets.py`.
    subspaces : int
        M, the most subspaces of a decomposition; at least 1.
    concentration : float
        gamma > 0, the symmetric Dirichlet parameter of the decomposition's prior; larger makes subspaces more even.
    similarity : float
        rho in (0, 1), the prior correlation of two pipelines that differ by one algorithm of the same subspace.
    length : float
        Centre of the length-scale's prior, in lengths of a hyperparameter's axis; above 0.
    variance : float
        Centre of the variance's prior, in squared standardised scores; above 0.
    acquisition : {"log_ei", "ucb"}
        Expected improvement of the whole score, or the source's sum of the components' upper confidence bounds.
    beta : float
        Exploration weight of the upper confidence bound, at least 0.
    family_strength : float
        h, the prior log odds that an algorithm shares the subspace of its family; 0 for the source's prior.
    decompositions : {"learnt", "random", "weighted"}
        Average over Gibbs samples, equal draws from the source's prior, or such draws weighted by marginal likelihood.
    averaged : int
        Decompositions that expected improvement is averaged over, at least 1; four times as many weighted draws.
    effects : bool
        Whether every algorithm has an effect of its own beside the source's kernel.
    cost_aware : bool
        Whether a young search prefers pipelines that are predicted to take less time.
    local_after : int or None
        Evaluations after which candidates are made only from the best pipelines; None for never.
    outputs : {"clipped", "unclipped", "ranks"}
        The surrogate's data: standardised gains, clipped below or not, or normal scores of their ranks.
    aim : {"pipeline", "ensemble"}
        Whether the scores given to the optimizer rate a pipeline alone or its worth beside those before it.
    stop : {"never", "improvement", "regret"}
        Propose nothing more once this expectation is below the standard error of a score: the largest improvement, or
        the regret of the best evaluated pipeline.
    ascent : bool
        Whether a gradient ascent refines the best candidate of each component's bound.
    full_batches : bool
        Whether a `ucb` batch with a pipeline of every subspace is filled up with other prediction algorithms.
    counts : {"shared", "stage"}
        Whether algorithms of all stages draw another to their subspace, or only those of its own stage (eq. 8).
    gated : bool
        Whether a component concerns only pipelines that use an algorithm of its subspace, or all.
    """

    preset: Preset = "default"
    subspaces: int = 8
    concentration: float = 1.0
    similarity: float = 0.75
    length: float = 0.5
    variance: float = 1.0
    acquisition: Acquisition = "log_ei"
    beta: float = 4.0
    family_strength: float = 3.0
    decompositions: Decompositions = "learnt"
    averaged: int = 4
    effects: bool = True
    cost_aware: bool = False
    local_after: int | None = None
    outputs: Outputs = "clipped"
    aim: Aim = "pipeline"
    stop: Stop = "never"
    ascent: bool = False
    full_batches: bool = False
    counts: Counts = "shared"
    gated: bool = True

    @classmethod
    def of(cls, preset: Preset, given: dict[str, Any]) -> OptimizerOptions:
        """Take a preset's options, replaced by the given values that are not None."""
        return replace(_PRESETS[preset], **{name: value for name, value in given.items() if value is not None})


_PRESETS: dict[Preset, OptimizerOptions] = {
    "default": OptimizerOptions("default"),
    "paper": OptimizerOptions(
        "paper",
        acquisition="ucb",
        family_strength=0.0,
        averaged=1,
        effects=False,
        ascent=True,
        full_batches=True,
        counts="stage",
    ),
    "random": OptimizerOptions("random"),
}
