"""The prior mean of gains: what algorithms did on earlier cohorts, as far as this cohort agrees.

======  ==================================================================================  ==========  =====
symbol  meaning                                                                             shape       unit
======  ==================================================================================  ==========  =====
mu      offsets of the algorithms, 0 where nothing is known                                 (n_alg,)    1
m(x)    sum of the offsets of the four algorithms of x, less the mean over the observed     (p,)        1
y       standardised gains of the n observations                                            (n,)        1
b       how far the cohort agrees, in [0, 1.2]                                              scalar      1
======  ==================================================================================  ==========  =====

    b = clip((m'y + 8 b_0) / (m'm + 8), 0, 1.2),   b_0 = 0.6

the regression of y on m, shrunk to b_0 with the weight of eight observations of unit offset. So the trend fades where
the cohort disagrees; the process has the rest to explain.

References
----------
optimizer_findings.md, section 8 ("prior mean").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.encoding import Points

_EXPECTED, _EXPECTED_WEIGHT, _MOST = 0.6, 8.0, 1.2


class Trend:
    """b m(x).

    Parameters
    ----------
    keys : sequence of str, length n_alg
        The algorithms in play.
    offsets : mapping
        Key -> mu.
    points : Points, n of them
        Observed pipelines.
    y : ndarray, shape = (n,)
        Their standardised gains, of mean 0.

    Attributes
    ----------
    agreement : float
        b; 0 without any offset.
    """

    def __init__(
        self, keys: Sequence[str], offsets: Mapping[str, float], points: Points, y: NDArray[np.float64]
    ) -> None:
        self._offsets = np.array([offsets.get(key, 0.0) for key in keys])
        self._centre = float(np.mean(points.used @ self._offsets))
        m = points.used @ self._offsets - self._centre
        b = (m @ y + _EXPECTED_WEIGHT * _EXPECTED) / (m @ m + _EXPECTED_WEIGHT)
        self.agreement = float(np.clip(b, 0.0, _MOST)) if self._offsets.any() else 0.0

    def at(self, points: Points) -> NDArray[np.float64]:
        """Expected standardised gains, shape = (p,)."""
        expected: NDArray[np.float64] = self.agreement * (points.used @ self._offsets - self._centre)
        return expected
