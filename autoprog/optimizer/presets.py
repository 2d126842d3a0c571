"""The table of optimizers."""

from __future__ import annotations

from collections.abc import Callable

from autoprog.optimizer._base import Optimizer
from autoprog.optimizer.options import OptimizerOptions
from autoprog.space import Space, TableShape

# The factories import late: torch takes a second and 200 MB, and a process that only serves never proposes.


def _structured(space: Space, shape: TableShape, options: OptimizerOptions) -> Optimizer:
    from autoprog.optimizer.structured import StructuredOptimizer  # noqa: PLC0415  see above

    return StructuredOptimizer(space, shape, options)


def _random(space: Space, shape: TableShape, options: OptimizerOptions) -> Optimizer:
    from autoprog.optimizer.random_search import RandomSearch  # noqa: PLC0415  see above

    return RandomSearch(space, shape, options)


PRESETS: dict[str, Callable[[Space, TableShape, OptimizerOptions], Optimizer]] = {
    "default": _structured,
    "paper": _structured,
    "random": _random,
}


def make_optimizer(space: Space, shape: TableShape, options: OptimizerOptions) -> Optimizer:
    """The optimizer of a preset.

    Parameters
    ----------
    space : Space
        The algorithms in play.
    shape : TableShape
        Of the training folds; says which combinations are valid.
    options : OptimizerOptions
        The preset and its constants.

    Returns
    -------
    Optimizer
        Ready to propose.

    Raises
    ------
    InvalidInputError
        If no combination of the algorithms is valid for the shape.
    """
    return PRESETS[options.preset](space, shape, options)
