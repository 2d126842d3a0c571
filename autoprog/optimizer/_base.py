"""The interface between a search and its optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from autoprog.evaluation import History
from autoprog.optimizer.posterior import Posterior
from autoprog.optimizer.proposal import Proposal
from autoprog.space import Configuration


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
