"""What is known of algorithms before any evaluation: which are of one kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.space import Algorithm

# Families of prediction algorithms that are expected to do well and badly on the same cohorts.
_TOGETHER = {"tree": "forest", "survival": "forest", "kernel": "local"}


def family_labels(algorithms: Sequence[Algorithm], subspaces: int) -> NDArray[np.int64]:
    """The subspace where each algorithm is at home.

    Imputations are one family, feature processors another, calibrations a third; prediction algorithms are parted as
    their registry entries say.

    Parameters
    ----------
    algorithms : sequence of Algorithm, length n_alg
        All in play.
    subspaces : int
        M; where there are more families, the last ones share subspaces with the first.

    Returns
    -------
    ndarray of int, shape = (n_alg,)
        Labels below M.
    """
    names = [_TOGETHER.get(a.family, a.family) if a.stage == "prediction" else a.stage for a in algorithms]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([order[name] % subspaces for name in names], dtype=np.int64)
