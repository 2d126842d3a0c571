"""A signal summed up over the last visits of a patient, at every visit of every patient at once.

Notation:

========  =====================================================================  =========  ====================
symbol    meaning                                                                shape      unit
========  =====================================================================  =========  ====================
x         the signal's value at each visit, NaN where it was not measured        (n_rows,)  the signal's own
t         time of each visit                                                     (n_rows,)  the visits' time
patient   code of the patient of each visit; rows stand by patient, then time    (n_rows,)
order     number of the visit among its patient's, from 0                        (n_rows,)  visits
window    visits that are looked back on, this one included                                 visits
lag       how many visits back, 0 <= lag < window                                           visits
d         x at a lag, less the last observed value                               (n_rows,)  the signal's own
u         t at a lag, less the time of the last observed value; at most 0        (n_rows,)  the visits' time
========  =====================================================================  =========  ====================

Sums of d and u, not of x and t, so that a signal that does not move has a slope of exactly 0 whatever its level, and
one far from 0 loses no digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WindowStatistics:
    """What is known of one signal at each visit; every attribute has shape = (n_rows,) and is float64.

    Attributes
    ----------
    last : ndarray
        The last observed value; NaN where none is in the window.
    change : ndarray
        That value less the one observed before it; 0 where fewer than two are in the window.
    slope : ndarray
        Slope of the least squares line through the observed values, by time; 0 where fewer than two are in the window.
    mean, minimum, maximum : ndarray
        Of the observed values; NaN where none is in the window.
    time_since : ndarray
        Time since the last observed value, at least 0; NaN where none is in the window.
    count : ndarray
        Number of observed values, 0 to `window`.
    missing : ndarray
        1 where the value was not measured at this visit, else 0.
    """

    last: _Floats
    change: _Floats
    slope: _Floats
    mean: _Floats
    minimum: _Floats
    maximum: _Floats
    time_since: _Floats
    count: _Floats
    missing: _Floats


def visit_order(patient: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each visit among its patient's, from 0.

    Parameters
    ----------
    patient : ndarray, shape = (n_rows,)
        Codes of the patients; the rows of one stand together.

    Returns
    -------
    ndarray, shape = (n_rows,)
        int64.
    """
    row = np.arange(len(patient))
    starts = np.flatnonzero(np.diff(patient, prepend=patient[:1] - 1))
    order: NDArray[np.int64] = row - np.repeat(starts, np.diff(starts, append=len(patient)))
    return order


def last_observed(x: _Floats, order: NDArray[np.int64], window: int | None = None) -> _Floats:
    """The last observed value at each visit, carried forward within a patient.

    Parameters
    ----------
    x : ndarray, shape = (n_rows,)
        The signal; rows stand by patient, then time.
    order : ndarray, shape = (n_rows,)
        As `visit_order` gives it.
    window : int, optional
        Visits that are looked back on, at least 1; by default all.

    Returns
    -------
    ndarray, shape = (n_rows,)
        NaN where none is in the window.
    """
    row = np.arange(len(x))
    seen = np.maximum.accumulate(np.where(np.isnan(x), -1, row))
    reach = order if window is None else np.minimum(order, window - 1)
    return np.where(seen >= row - reach, x[seen], np.nan)


def window_statistics(x: _Floats, t: _Floats, order: NDArray[np.int64], window: int) -> WindowStatistics:
    """Sum up a signal over the window of each visit.

    Parameters
    ----------
    x : ndarray, shape = (n_rows,)
        The signal; rows stand by patient, then time.
    t : ndarray, shape = (n_rows,)
        Time of each visit, ascending within a patient.
    order : ndarray, shape = (n_rows,)
        As `visit_order` gives it.
    window : int
        Visits that are looked back on, at least 1.

    Returns
    -------
    WindowStatistics
        A row of it depends on the patient's visits up to its own, and on no other. What float64 cannot hold is NaN.
    """
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
