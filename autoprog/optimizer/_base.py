"""What a search asks of an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from autoprog.evaluation import History
from autoprog.optimizer.posterior import Posterior
from autoprog.optimizer.proposal import Proposal
from autoprog.space import Configuration


class Optimizer(Protocol):
    """Chooses what to evaluate next; holds nothing that changes."""

    def propose(
        self,
        history: History,
        batch: int,
        size: int,
        rng: np.random.Generator,
        state: Mapping[str, Any],
        pending: Sequence[Configuration] = (),
    ) -> Proposal:
        """The next batch: a function of these arguments alone.

        Parameters
        ----------
        history : History
            All evaluations so far, failed ones too.
        batch : int
            Number of the batch, from 0.
        size : int
            The most configurations, at least 1.
        rng : numpy.random.Generator
            Seeded by the search's seed and `batch`.
        state : mapping
            `state` of the proposal before, which may have been through JSON; empty for the first.
        pending : sequence of Configuration
            Proposed before and still being evaluated: not to be proposed again, nor their likes.

        Returns
        -------
        Proposal
            Without configurations when the space is exhausted, or the options say that enough was found.
        """

    def posterior(self, history: History, rng: np.random.Generator, state: Mapping[str, Any]) -> Posterior:
        """What is known of the explored pipelines.

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
            Over decompositions and the gains of the succeeded evaluations.

        Raises
        ------
        SearchFailedError
            If no evaluation has succeeded.
        """
