"""The choices that the method leaves open."""

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
        gamma, the symmetric Dirichlet parameter of the decomposition's prior; above 0. Larger: more even subspaces.
    similarity : float
        rho in (0, 1), the prior correlation of two pipelines that differ by one algorithm swapped for another of its
        subspace.
    acquisition : {"log_ei", "ucb"}
        Expected improvement of the whole score, or the source's sum of the components' upper confidence bounds.
    length, variance : float
        Centres of the priors of the kernel's length-scale, in lengths of a hyperparameter's axis, and of its variance,
        in squared standardised scores; above 0.
    beta : float
        Exploration weight of the upper confidence bound, at least 0.
    ascent : bool
        Whether the bounds of components are maximised by ascent from the best of their candidates, or over these alone.
    full_batches : bool
        Whether a batch of bounds that has a pipeline of every subspace goes on with other prediction algorithms until
        it is full, or falls short.
    counts : {"shared", "stage"}
        Which algorithms draw another to their subspace: those of all stages, or, as eq. 8 has it, of its own.
    gated : bool
        Whether a component says something of pipelines that use an algorithm of its subspace alone, or of all.
    family_strength : float
        h, the prior log odds that an algorithm shares the subspace of its family; 0 for the source's prior.
    decompositions : {"learnt", "random", "weighted"}
        What expected improvement is averaged over: Gibbs samples; draws from the source's prior, all alike; or more
        such draws, by their marginal likelihood.
    averaged : int
        Decompositions that it is averaged over, at least 1; of weighted draws four times as many.
    effects : bool
        Whether every algorithm has an effect of its own beside the source's kernel.
    cost_aware : bool
        Whether a young search prefers pipelines that are predicted to take less time.
    local_after : int or None
        Evaluations after which candidates are made from the best pipelines alone; None for never.
    outputs : {"clipped", "unclipped", "ranks"}
        What of the scores proposals are made from: standardised gains, cut off below or not, or normal scores of their
        ranks.
    aim : {"pipeline", "ensemble"}
        Whether proposals are to be better alone, or worth more beside those before them: what the scores are that an
        optimizer is told.
    stop : {"never", "improvement", "regret"}
        Whether to propose nothing more where the largest expected improvement, or the expected regret of the best
        evaluated pipeline, is below the standard error of a score.
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
        """A preset's options, but for those that are given and not None."""
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
