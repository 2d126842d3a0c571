"""Random search: the yardstick that every other optimizer has to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autoprog.evaluation import History
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.initial import simple_configuration, uniform_design
from autoprog.optimizer.options import OptimizerOptions
from autoprog.optimizer.posterior import Posterior
from autoprog.optimizer.proposal import Proposal
from autoprog.optimizer.start import Start
from autoprog.optimizer.structured import StructuredOptimizer
from autoprog.space import Configuration, Space, TableShape


class RandomSearch:
    """Valid kinds of pipeline and their hyperparameters drawn uniformly; the simple pipeline first.

    What was explored is judged by the same surrogate as under the other presets.

    Parameters
    ----------
    space : Space
        The algorithms in play.
    shape : TableShape
        The training folds.
    options : OptimizerOptions
        Of the surrogate.
    start : Start
        Passed over: the yardstick learns from nothing.
    """

    def __init__(self, space: Space, shape: TableShape, options: OptimizerOptions, start: Start) -> None:
        self._encoding = Encoding(space)
        self._kinds = space.valid_kinds(shape)
        self._first = (simple_configuration(self._kinds, shape.mode),)
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
        """Uniform draws that were not proposed before."""
        seen = {*(e.configuration for e in history), *pending}
        design = uniform_design(self._encoding, self._kinds, size, seen, rng, self._first)
        return Proposal(batch, design, state=dict(state))

    def posterior(self, history: History, rng: np.random.Generator, state: Mapping[str, Any]) -> Posterior:
        """As of the structured optimizer."""
        return self._judge.posterior(history, rng, state)
