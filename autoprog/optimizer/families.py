"""Prior knowledge of algorithms: their families."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.space import Algorithm

# Families of prediction algorithms that are expected to do well and badly on the same cohorts.
_TOGETHER = {"tree": "forest", "survival": "forest", "kernel": "local"}


def family_labels(algorithms: Sequence[Algorithm], subspaces: int) -> NDArray[np.int64]:
    """Label each algorithm's home subspace, shape = (n_alg,), below `subspaces`."""
    # Each stage but prediction is one family; prediction algorithms have the families of their registry entries. Beyond
    # M families, the last ones share subspaces with the first.
    names = [_TOGETHER.get(a.family, a.family) if a.stage == "prediction" else a.stage for a in algorithms]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([order[name] % subspaces for name in names], dtype=np.int64)
