"""A diverse batch: distinct predictors from distinct subspaces.

References
----------
Sheet autoprognosis.md, "Acquisition and batch"; Alaa & van der Schaar 2018, section 3.3.3, step 2.
"""

from __future__ import annotations

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
) -> tuple[Configuration, ...]:
    """The configurations with the greatest acquisition, one a subspace of their prediction algorithms.

    At most as many as there are subspaces with a prediction algorithm.

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

    Returns
    -------
    tuple of Configuration
        At most `size`; fewer where the rule or the space gives no more.
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
    subspaces: set[int] = set()
    for _, configuration, p in heads:
        if labels[p] not in subspaces:
            batch.append(configuration)
            subspaces.add(int(labels[p]))
    return tuple(batch[:size])
