"""A diverse batch: distinct predictors from distinct subspaces.

References
----------
Sheet autoprognosis.md, "Acquisition and batch"; Alaa & van der Schaar 2018, section 3.3.3, step 2.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.acquisition import PipelineBounds
from autoprog.space import STAGES, Configuration

_PREDICTION = STAGES.index("prediction")


def select_batch(
    bounds: PipelineBounds,
    labels: NDArray[np.int64],
    size: int,
    seen: Collection[Configuration],
    *,
    fill: bool,
) -> tuple[tuple[Configuration, ...], int]:
    """The configurations with the greatest acquisition, one a subspace of their prediction algorithms.

    At most as many as there are subspaces with a prediction algorithm. To fill the batch up, the next best pipelines
    with a distinct prediction algorithm follow, whatever their subspace, then the next best distinct configurations.

    Parameters
    ----------
    bounds : PipelineBounds
        The acquisition.
    labels : ndarray of int, shape = (n_alg,)
        z, the MAP decomposition.
    size : int
        B, the most configurations.
    seen : collection of Configuration
        Never to be proposed again.
    fill : bool
        Whether to fill the batch up.

    Returns
    -------
    configurations : tuple of Configuration
        At most `size`; fewer where the rule or the space gives no more.
    filled : int
        How many of the last ones fill up.
    """
    predictors = np.unique(bounds.kinds[:, _PREDICTION]).tolist()
    streams = {
        p: (
            item for item in bounds.best_first(np.flatnonzero(bounds.kinds[:, _PREDICTION] == p)) if item[1] not in seen
        )
        for p in predictors
    }
    heads = [(*head, p) for p, stream in streams.items() if (head := next(stream, None)) is not None]
    heads.sort(key=lambda head: -head[0])

    batch: list[Configuration] = []
    rest: list[Configuration] = []
    subspaces: set[int] = set()
    for _, configuration, p in heads:
        (rest if labels[p] in subspaces else batch).append(configuration)
        subspaces.add(int(labels[p]))
    batch = batch[:size]
    if not fill:
        return tuple(batch), 0
    filling = rest[: size - len(batch)]
    following = heapq.merge(*streams.values(), key=lambda item: -item[0])
    while len(batch) + len(filling) < size and (item := next(following, None)) is not None:
        filling.append(item[1])
    return (*batch, *filling), len(filling)
