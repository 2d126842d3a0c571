"""The interface between a search and its optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from autoprog.evaluation import History
from autoprog.optimizer.posterior import Posterior
from autoprog.space import Configuration


@dataclass(frozen=True)
class Proposal:
    """A batch of configurations to evaluate.

    Attributes
    ----------
    batch : int
        Index of the batch, from 0.
    configurations : tuple of Configuration
        Distinct and never evaluated before; at most as many as requested.
    state : mapping
        The optimizer's input for the next call (chain, fitted values), as JSON; a resumed search continues identically.
    is_final : bool
        Whether the configurations were explored on a sample and are to be evaluated on all patients.
    """

    batch: int
    configurations: tuple[Configuration, ...]
    state: Mapping[str, Any] = field(default_factory=dict)
    is_final: bool = False


class Optimizer(Protocol):
    """Strategy that chooses what to evaluate next, without mutable state."""

    def propose(
        self,
        history: History,
        batch: int,
        size: int,
        rng: np.random.Generator,
        state: Mapping[str, Any],
        pending: Sequence[Configuration] = (),
    ) -> Proposal:
        """Propose the next batch, as a function of these arguments alone.

        Parameters
        ----------
        history : History
            All evaluations so far, including failures.
        batch : int
            Index of the batch, from 0.
        size : int
            The most configurations, at least 1.
        rng : numpy.random.Generator
            Seeded by the search's seed and `batch`.
        state : mapping
            `state` of the last proposal, perhaps from JSON; empty for the first.
        pending : sequence of Configuration
            Configurations under evaluation; neither they nor similar ones are proposed.

        Returns
        -------
        Proposal
            Without configurations if the space is exhausted or the options' stopping rule holds.
        """

    def posterior(self, history: History, rng: np.random.Generator, state: Mapping[str, Any]) -> Posterior:
        """Describe what is known of the explored pipelines.

        Parameters
        ----------
        history : History
            All evaluations.
        rng : numpy.random.Generator
            Source of randomness.
        state : mapping
            `state` of the last proposal.

        Returns
        -------
        Posterior
            Draws of decompositions and of the gains of the succeeded evaluations.

        Raises
        ------
        SearchFailedError
            If no evaluation has succeeded.
        """
