"""Right-continuous step functions: what every estimate over time is.

======  =============================================================  ======  ============
symbol  meaning                                                        shape   unit
======  =============================================================  ======  ============
s       times at which the function jumps, ascending and distinct      (m,)    the cohort's
v       value from s_j on, up to s_{j+1}                               (m,)    any
v_0     value before s_1                                               scalar  as v
======  =============================================================  ======  ============

    f(t)  = v_j,  j the last with s_j <= t        the value includes a jump at t
    f(t-) = v_j,  j the last with s_j <  t        the left limit does not
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class StepFunction:
    """A right-continuous step function; beyond its last time the last value holds.

    Attributes
    ----------
    times : ndarray, shape = (m,)
        s, ascending and distinct.
    values : ndarray, shape = (m,)
        v.
    before : float
        v_0.
    """

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    before: float

    def __call__(self, t: ArrayLike) -> NDArray[np.float64]:
        """f(t), jumps at t included; the shape of t."""
        return self._compute_value(np.searchsorted(self.times, t, side="right"))

    def left(self, t: ArrayLike) -> NDArray[np.float64]:
        """f(t-), jumps at t excluded; the shape of t."""
        return self._compute_value(np.searchsorted(self.times, t, side="left"))

    def _compute_value(self, count: NDArray[np.intp]) -> NDArray[np.float64]:
        """Value after so many jumps."""
        return np.asarray(np.concatenate([[self.before], self.values])[count])
