"""Random search: the baseline for every other optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autoprog.evaluation import History
from autoprog.optimizer._base import Proposal
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.initial import Start, simple_configuration, uniform_design
from autoprog.optimizer.options import OptimizerOptions
from autoprog.optimizer.posterior import Posterior
from autoprog.optimizer.structured import StructuredOptimizer
from autoprog.space import Configuration, Space, TableShape


class RandomSearch:
    """Uniform draws of valid kinds and their hyperparameters, after the simple pipeline."""

    def __init__(self, space: Space, shape: TableShape, options: OptimizerOptions, start: Start) -> None:
        self._encoding = Encoding(space)
        self._kinds = space.valid_kinds(shape)
        self._first = (simple_configuration(self._kinds, shape.simple_predictor),)
        # The surrogate only judges: the baseline uses no earlier cohorts.
        self._judge = StructuredOptimizer(space, shape, options, start)

    def propose(
        self,
        history: History,
        batch: int,
        size: int,
        rng: np.random.Generator,
        state: Mapping[str, Any],
        pending: Sequence[Configuration] = (),
    ) -> Proposal:
        """Propose uniform draws that were not proposed before."""
        seen = {*(e.configuration for e in history), *(e.proposed for e in history), *pending}
        design = uniform_design(self._encoding, self._kinds, size, seen, rng, self._first)
        return Proposal(batch, design, state=dict(state))

    def posterior(self, history: History, rng: np.random.Generator, state: Mapping[str, Any]) -> Posterior:
        """Describe the explored pipelines by the same surrogate as the other presets."""
        return self._judge.posterior(history, rng, state)
