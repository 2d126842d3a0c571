"""Summarise a signal over each visit's window of last visits, for all visits of all patients at once.

Notation:

========  =====================================================================  =========  ====================
symbol    meaning                                                                shape      unit
========  =====================================================================  =========  ====================
x         the signal's value at each visit, NaN where it was not measured        (n_rows,)  the signal's own
t         time of each visit                                                     (n_rows,)  the visits' time
patient   patient code of each visit; rows are sorted by patient, then time      (n_rows,)
order     number of the visit among its patient's, from 0                        (n_rows,)  visits
window    number of visits in the window, this one included                                 visits
lag       number of visits back, 0 <= lag < window                                          visits
d         x at a lag, minus the last observed value                              (n_rows,)  the signal's own
u         t at a lag, minus the time of the last observed value; at most 0       (n_rows,)  the visits' time
========  =====================================================================  =========  ====================

Sums of d and u, not of x and t, give a constant signal a slope of exactly 0, and lose no digits far from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WindowStatistics:
    """Statistics of one signal at each visit; every field is float64 with shape = (n_rows,)."""

    last: _Floats  # NaN without an observed value in the window, like mean, minimum, maximum, time_since
    change: _Floats  # last value minus the one observed before it; 0 with fewer than two
    slope: _Floats  # least squares slope by time; 0 with fewer than two
    mean: _Floats
    minimum: _Floats
    maximum: _Floats
    time_since: _Floats  # time since the last observed value, at least 0
    count: _Floats  # number of observed values, 0 to `window`
    missing: _Floats  # 1 if the value was not measured at this visit, else 0


def visit_order(patient: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of each visit among its patient's, from 0; a patient's rows are adjacent."""
    row = np.arange(len(patient))
    starts = np.flatnonzero(np.diff(patient, prepend=patient[:1] - 1))
    order: NDArray[np.int64] = row - np.repeat(starts, np.diff(starts, append=len(patient)))
    return order


def last_observed(x: _Floats, order: NDArray[np.int64], window: int | None = None) -> _Floats:
    """Last observed value within the window (by default all visits), carried forward within a patient."""
    row = np.arange(len(x))
    seen = np.maximum.accumulate(np.where(np.isnan(x), -1, row))
    reach = order if window is None else np.minimum(order, window - 1)
    return np.where(seen >= row - reach, x[seen], np.nan)


def window_statistics(x: _Floats, t: _Floats, order: NDArray[np.int64], window: int) -> WindowStatistics:
    """Summarise a signal over each visit's window; values beyond float64 become NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _window_statistics(x, t, order, window)


def _window_statistics(x: _Floats, t: _Floats, order: NDArray[np.int64], window: int) -> WindowStatistics:
    last = last_observed(x, order, window)
    lowest, highest, t_last = last.copy(), last.copy(), np.full(len(x), np.nan)
    count, change, sum_d, sum_u, sum_uu, sum_ud = np.zeros((6, len(x)))
    for lag in range(min(window, len(x))):
        rows = np.flatnonzero((order[lag:] >= lag) & ~np.isnan(x[: len(x) - lag])) + lag
        value, seen = x[rows - lag], count[rows]
        t_last[rows] = np.where(seen == 0, t[rows - lag], t_last[rows])
        d, u = value - last[rows], t[rows - lag] - t_last[rows]
        change[rows] = np.where(seen == 1, -d, change[rows])
        lowest[rows], highest[rows] = np.minimum(lowest[rows], value), np.maximum(highest[rows], value)
        count[rows] = seen + 1
        sum_d[rows] += d
        sum_u[rows] += u
        sum_uu[rows] += u * u
        sum_ud[rows] += u * d
    n = np.maximum(count, 1)
    variation = sum_uu - sum_u**2 / n
    slope = np.divide(sum_ud - sum_u * sum_d / n, variation, out=np.zeros(len(x)), where=(count > 1) & (variation > 0))
    return WindowStatistics(
        last=last,
        change=_finite(change),
        slope=_finite(slope),
        mean=_finite(last + sum_d / n),
        minimum=lowest,
        maximum=highest,
        time_since=t - t_last,
        count=count,
        missing=np.isnan(x).astype(np.float64),
    )


def _finite(a: _Floats) -> _Floats:
    return np.where(np.isinf(a), np.nan, a)
