"""Tabulate a cohort of visits: each row describes a patient's last visits at one visit.

Windows of every length have the same features, so that pipelines share one schema. A feature that never changes within
a patient stays one column, its last observed value. One that does becomes

============================  ========================================================================================
name                          meaning
============================  ========================================================================================
`x (last)`                    the last observed value
`x (change)`                  that value minus the one observed before it; 0 with fewer than two in the window
`x (slope)`                   least squares slope of the observed values by time; 0 with fewer than two
`x (mean)`                    their mean
`x (minimum)`, `(maximum)`    their range
`x (time since observed)`     time since the last one
`x (times observed)`          their number, 0 to the window's length
`x (missing now)`             whether there is none at this visit
============================  ========================================================================================

A categorical one has `(last)`, `(time since observed)`, `(times observed)` and `(missing now)`. Features without an
observation in the window are missing and left to imputation. `visit number`, `time since first visit` and `time since
previous visit` (0 at the first) count all visits so far, whatever the window.

Summarise a signal over each visit's window of last visits, for all visits of all patients at once.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.cohort import Cohort
from autoprog.cohort.messages import column_pointer
from autoprog.cohort.schema import Feature
from autoprog.cohort.visits import VisitTable
from autoprog.errors import Fault, InvalidInputError

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


_VISIT_FEATURES = ("visit number", "time since first visit", "time since previous visit")

_Column = tuple[Feature, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class WindowSchema:
    """The features of windows; a model of visits needs the schema to read new patients.

    Attributes
    ----------
    features : tuple of Feature
        The features of a visit, as in the cohort's file.
    varying : tuple of bool
        Whether each changes within a patient of the cohort that the schema was made from.
    """

    features: tuple[Feature, ...]
    varying: tuple[bool, ...]

    @classmethod
    def of(cls, cohort: Cohort) -> WindowSchema:
        """Make the schema of a cohort of visits; raises ValueError for another cohort."""
        # A feature varies if it has two different observed values in some patient.
        history = _History.of(cohort)
        return cls(cohort.features, tuple(_varies(x, history.visits.patient) for x in history.X.T))

    @property
    def windowed(self) -> tuple[Feature, ...]:
        """Features of a window of any length, in order, without ranges and shares of missing cells."""
        nothing = VisitTable(np.empty(0, dtype=np.int64), np.empty(0))
        return tuple(feature for feature, _ in window_columns(self, np.empty((0, len(self.features))), nothing, 1))


def windowed(cohort: Cohort, window: int, schema: WindowSchema | None = None) -> Cohort:
    """Summarise a patient's last visits in one row, at each visit.

    Parameters
    ----------
    cohort : Cohort
        A cohort of mode `temporal` with the schema's features.
    window : int
        Number of visits in a window, the present one included; at least 1.
    schema : WindowSchema, optional
        By default the cohort's. For part of a cohort or another one, give the model's: the varying features must match.

    Returns
    -------
    Cohort
        The same visits with other features. A row depends only on the patient's visits up to its own, including those
        without an outcome; ranges and shares of missing cells are those of the whole result.

    Raises
    ------
    InvalidInputError
        If a feature of the cohort has the name of one made here.
    ValueError
        If the window is shorter than 1, or the cohort has no visits.
    """
    schema = schema or WindowSchema.of(cohort)
    names = [feature.name for feature in schema.windowed]
    faults = name_faults(names)
    if faults:
        raise InvalidInputError(faults)
    features: list[Feature] = []
    history, visits = _History.of(cohort), get_visits(cohort)
    X = np.empty((cohort.n_rows, len(names)))
    for j, (feature, x) in enumerate(window_columns(schema, history.X, history.visits, window)):
        X[:, j] = x[history.rows]
        features.append(_described(feature, X[:, j]))
    return replace(
        cohort,
        features=tuple(features),
        X=X,
        visits=visits if visits.earlier is None else replace(visits, earlier=None),
    )


def window_columns(
    schema: WindowSchema, X: NDArray[np.float64], visits: VisitTable, window: int
) -> Iterator[tuple[Feature, NDArray[np.float64]]]:
    """Make the features of windows one by one, for cohorts and new patients; raises ValueError for a window below 1."""
    if window < 1:
        msg = f"a window has at least 1 visit, got {window}"
        raise ValueError(msg)
    order = visit_order(visits.patient)
    for feature, varies, x in zip(schema.features, schema.varying, X.T, strict=True):
        if varies:
            yield from _signal(feature, np.ascontiguousarray(x), visits.time, order, window)
        else:
            yield feature, last_observed(x, order)
    yield from _visit_features(visits.time, order)


def name_faults(names: Sequence[str]) -> list[Fault]:
    """Report features of a window with the same name, pointing to the file's column."""
    twice = sorted({name for name in names if names.count(name) > 1})
    detail = "a feature that is made of the visits has this name too; rename the column or name it in ignore"
    return [Fault(column_pointer(name), detail) for name in twice]


def get_visits(cohort: Cohort) -> VisitTable:
    """Visits of a cohort; raises ValueError if it has none."""
    if cohort.visits is None:
        msg = f"cohort {short(cohort.name)} has no visits: its mode is {cohort.mode!r}"
        raise ValueError(msg)
    return cohort.visits


@dataclass(frozen=True, eq=False)
class _History:
    """All visits of a cohort, including those without an outcome, and the positions of the cohort's rows."""

    X: NDArray[np.float64]
    visits: VisitTable
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, cohort: Cohort) -> _History:
        visits = get_visits(cohort)
        earlier = visits.earlier
        if earlier is None:
            return cls(cohort.X, visits, np.arange(cohort.n_rows))
        patient = np.concatenate([visits.patient, earlier.patient])
        time = np.concatenate([visits.time, earlier.time])
        order = np.lexsort((time, patient))
        X = np.concatenate([cohort.X, earlier.X])[order]
        return cls(X, VisitTable(patient[order], time[order]), np.flatnonzero(order < cohort.n_rows))


def _varies(x: NDArray[np.float64], patient: NDArray[np.int64]) -> bool:
    observed = ~np.isnan(x)
    values, patients = x[observed], patient[observed]
    return bool(((values[1:] != values[:-1]) & (patients[1:] == patients[:-1])).any())


def _signal(
    feature: Feature, x: NDArray[np.float64], t: NDArray[np.float64], order: NDArray[np.int64], window: int
) -> Iterator[_Column]:
    known = window_statistics(x, t, order, window)
    yield replace(feature, name=f"{feature.name} (last)"), known.last
    if feature.kind != "categorical":
        # the mean of binary codes is a share, of ordinal codes a place on the scale
        yield _made(feature, "change", feature.unit), known.change
        yield _made(feature, "slope", None), known.slope
        yield _made(feature, "mean", feature.unit), known.mean
        yield _made(feature, "minimum", feature.unit), known.minimum
        yield _made(feature, "maximum", feature.unit), known.maximum
    yield _made(feature, "time since observed", None), known.time_since
    yield _made(feature, "times observed", None), known.count
    missing = Feature(f"{feature.name} (missing now)", "binary", ("0", "1"), meta_group=feature.meta_group)
    yield missing, known.missing


def _made(feature: Feature, what: str, unit: str | None) -> Feature:
    return Feature(f"{feature.name} ({what})", "numeric", unit=unit, meta_group=feature.meta_group)


def _visit_features(t: NDArray[np.float64], order: NDArray[np.int64]) -> Iterator[_Column]:
    first = np.arange(len(t)) - order
    previous = np.arange(len(t)) - (order > 0)
    columns = (order + 1.0, t - t[first], t - t[previous])
    yield from ((Feature(name, "numeric"), x) for name, x in zip(_VISIT_FEATURES, columns, strict=True))


def _described(feature: Feature, x: NDArray[np.float64]) -> Feature:
    observed = x[~np.isnan(x)]
    has_range = feature.kind == "numeric" and len(observed) > 0
    return replace(
        feature,
        missing_fraction=1 - len(observed) / len(x),
        minimum=float(observed.min()) if has_range else None,
        maximum=float(observed.max()) if has_range else None,
    )
