"""Right-continuous step functions, the form of every estimate over time.

    s       times at which the function jumps, ascending and distinct      (m,)    the cohort's
    v       value from s_j on, up to s_{j+1}                               (m,)    any
    v_0     value before s_1                                               scalar  as v

The value at t includes a jump at t, the left limit does not:

    f(t)  = v_j,  j the last with s_j <= t
    f(t-) = v_j,  j the last with s_j <  t
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class StepFunction:
    """A right-continuous step function; after its last time the last value holds.

    Attributes
    ----------
    times, values : ndarray, shape = (m,)
        Ascending, distinct times of the jumps, and the value from each of them on.
    before : float
        Value before the first time.
    """

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    before: float

    def __call__(self, t: ArrayLike) -> NDArray[np.float64]:
        """f(t), including a jump at t; the shape of t."""
        return self._compute_value(np.searchsorted(self.times, t, side="right"))

    def left(self, t: ArrayLike) -> NDArray[np.float64]:
        """f(t-), excluding a jump at t; the shape of t."""
        return self._compute_value(np.searchsorted(self.times, t, side="left"))

    def _compute_value(self, count: NDArray[np.intp]) -> NDArray[np.float64]:
        """Value after this many jumps."""
        return np.asarray(np.concatenate([[self.before], self.values])[count])
