"""A diverse batch: distinct predictors from distinct subspaces.

References
----------
Alaa & van der Schaar 2018, ICML, section 3.3.3, step 2.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from itertools import chain, islice

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
    is_full: bool = False,
) -> tuple[Configuration, ...]:
    """Take the best unseen configuration of each subspace that holds a prediction algorithm, up to `size`."""
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
    others: list[Configuration] = []
    subspaces: set[int] = set()
    for _, configuration, p in heads:
        (others if labels[p] in subspaces else batch).append(configuration)
        subspaces.add(int(labels[p]))
    # A full batch continues with the best of the other prediction algorithms, then with whatever is left.
    if not is_full:
        return tuple(batch[:size])
    rest = (configuration for _, configuration in heapq.merge(*streams.values(), key=lambda item: -item[0]))
    return tuple(islice(chain(batch, others, rest), size))
