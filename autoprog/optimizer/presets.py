"""The table of optimizers."""

from __future__ import annotations

from collections.abc import Callable

from autoprog.optimizer._base import Optimizer
from autoprog.optimizer.initial import Start
from autoprog.optimizer.options import OptimizerOptions
from autoprog.space import Space, TableShape

# The factories import late: torch takes a second and 200 MB, and a process that only serves needs no optimizer.


def _structured(space: Space, shape: TableShape, options: OptimizerOptions, start: Start) -> Optimizer:
    from autoprog.optimizer.structured import StructuredOptimizer  # noqa: PLC0415  see above

    return StructuredOptimizer(space, shape, options, start)


def _random(space: Space, shape: TableShape, options: OptimizerOptions, start: Start) -> Optimizer:
    from autoprog.optimizer.random_search import RandomSearch  # noqa: PLC0415  see above

    return RandomSearch(space, shape, options, start)


PRESETS: dict[str, Callable[[Space, TableShape, OptimizerOptions, Start], Optimizer]] = {
    "default": _structured,
    "paper": _structured,
    "random": _random,
}


def make_optimizer(space: Space, shape: TableShape, options: OptimizerOptions, start: Start | None = None) -> Optimizer:
    """Make the optimizer of a preset.

    Parameters
    ----------
    space : Space
        The algorithms in play.
    shape : TableShape
        Shape of the training folds; decides which combinations are valid.
    options : OptimizerOptions
        The preset and its constants.
    start : Start or None
        Results of earlier cohorts; None for nothing.

    Returns
    -------
    Optimizer
        Ready to propose.

    Raises
    ------
    InvalidInputError
        If no combination of the algorithms is valid for the shape.
    """
    return PRESETS[options.preset](space, shape, options, start or Start())
