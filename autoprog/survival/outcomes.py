"""Times, event codes and horizons: what is accepted, and what is wrong with the rest.

=======  ===============================================================  ======  ============
symbol   meaning                                                          shape   unit
=======  ===============================================================  ======  ============
time     T, to the first event or to the censoring; above 0               (n,)    the cohort's
event    what ended it: 0 censoring, 1 to K the causes                    (n,)    1
h        horizons, ascending and distinct                                 (H,)    as time
=======  ===============================================================  ======  ============

A horizon bears an estimate as long as somebody was followed beyond it, or everybody had an event by it. At a last time
that is a censoring, and later, nobody knows who is still free of events. Times are tied where they are equal exactly:
those that were computed, as years from days, are best rounded first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.survival.errors import HorizonError, NoEventError, OutcomeError

Times = NDArray[np.float64]
Events = NDArray[np.int64]


def check_outcomes(time: ArrayLike, event: ArrayLike, causes: int | None = None) -> tuple[Times, Events]:
    """Times and event codes as every function of this package takes them.

    Parameters
    ----------
    time : array-like, shape = (n,)
        Times, above 0.
    event : array-like, shape = (n,)
        Whole numbers from 0, or truth values.
    causes : int, optional
        Largest code; any by default.

    Returns
    -------
    time : ndarray of float64, shape = (n,)
        The same times.
    event : ndarray of int64, shape = (n,)
        The same codes.

    Raises
    ------
    OutcomeError
        If there is no patient, the lengths differ, a time is missing, infinite, negative or 0, or a code is unknown.
    """
    t = np.asarray(time, dtype=np.float64)
    codes = np.asarray(event)
    if t.ndim != 1 or codes.shape != t.shape or len(t) == 0:
        msg = f"one time and one event code a patient are needed: got shapes {t.shape} and {codes.shape}"
        raise OutcomeError(msg)
    unusable = int((~np.isfinite(t)).sum())
    if unusable:
        msg = f"{unusable:,} of {len(t):,} times are missing or infinite"
        raise OutcomeError(msg)
    too_early = int((t <= 0).sum())
    if too_early:
        msg = f"times must be above 0: {too_early:,} of {len(t):,} are not, the least is {t.min():g}"
        raise OutcomeError(msg)
    return t, _checked_codes(codes, causes)


def _checked_codes(codes: NDArray[np.generic], causes: int | None) -> Events:
    values = np.asarray(codes, dtype=np.float64)
    most = np.inf if causes is None else causes
    unknown = ~np.isfinite(values) | (values != np.floor(values)) | (values < 0) | (values > most)
    if unknown.any():
        allowed = "whole numbers from 0" if causes is None else f"0 (censored) to {causes}"
        first = values[np.flatnonzero(unknown)[0]]
        msg = f"event codes must be {allowed}: {int(unknown.sum()):,} of {len(values):,} are not, such as {first:g}"
        raise OutcomeError(msg)
    return values.astype(np.int64)


def largest_horizon(time: ArrayLike, event: ArrayLike, followed: int = 1) -> float:
    """The largest of the patients' times that can be a horizon.

    Parameters
    ----------
    time : array-like, shape = (n,)
        Times.
    event : array-like, shape = (n,)
        Codes, 0 for censored.
    followed : int
        Least patients whose time is the horizon or later, 1 or more.

    Returns
    -------
    float
        0 where none can be: all are censored at one time, or there are fewer patients than that.

    Raises
    ------
    OutcomeError
        As `check_outcomes`.
    """
    t, codes = check_outcomes(time, event)
    if followed > len(t):
        return 0.0
    candidate = float(np.partition(t, len(t) - followed)[len(t) - followed])
    if candidate < _end_of_knowledge(t, codes):
        return candidate
    return float(t[t < candidate].max(initial=0.0))


def _end_of_knowledge(time: Times, event: Events) -> float:
    """The time at which, and after which, nobody knows who is still free of events."""
    last = float(time.max())
    return last if (event[time == last] == 0).any() else np.inf


def check_horizons(
    time: ArrayLike, event: ArrayLike, horizons: ArrayLike, *, cause: int = 1, followed: int = 1
) -> NDArray[np.float64]:
    """Horizons at which the incidence of a cause can be estimated and scored.

    Parameters
    ----------
    time : array-like, shape = (n,)
        Times.
    event : array-like, shape = (n,)
        Codes, 0 for censored.
    horizons : array-like, shape = (H,)
        Times.
    cause : int
        Code of the event.
    followed : int
        Least patients whose time is a horizon or later, 1 or more. One is enough for an estimate; who splits the
        patients into folds wants one in each.

    Returns
    -------
    ndarray, shape = (H,)
        The horizons.

    Raises
    ------
    OutcomeError
        As `check_outcomes`.
    HorizonError
        If they are not finite, positive, ascending and distinct, or one lies beyond the follow-up.
    NoEventError
        If nobody had the event by the first of them, or at all.
    """
    t, codes = check_outcomes(time, event)
    h = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    largest = largest_horizon(t, codes, followed)
    if h.ndim != 1 or len(h) == 0 or not np.isfinite(h).all() or h[0] <= 0 or (np.diff(h) <= 0).any():
        msg = f"horizons must be finite, above 0, ascending and distinct: got {np.array2string(h, threshold=5)}"
        raise HorizonError(msg, largest)
    seen = int((t >= h[-1]).sum())
    if seen < followed or h[-1] >= _end_of_knowledge(t, codes):
        msg = (
            f"horizon {h[-1]:g} lies beyond the follow-up: {seen:,} of {len(t):,} patients were followed so far, and "
            f"the last of all times is {t.max():g}; the largest time that can be a horizon is {largest:g}"
        )
        raise HorizonError(msg, largest)
    check_events(t, codes, float(h[0]), cause)
    return h


def check_events(time: Times, event: Events, horizon: float, cause: int) -> None:
    """Whether somebody had the event by the horizon.

    Parameters
    ----------
    time : ndarray, shape = (n,)
        Times.
    event : ndarray, shape = (n,)
        Codes.
    horizon : float
        A time; infinity for the whole follow-up.
    cause : int
        Code of the event.

    Raises
    ------
    NoEventError
        If nobody had.
    """
    of_cause = time[event == cause]
    if len(of_cause) == 0:
        msg = f"none of {len(time):,} patients had an event of code {cause}"
        raise NoEventError(msg)
    if of_cause.min() > horizon:
        msg = (
            f"none of {len(of_cause):,} events of code {cause} was seen by {horizon:g}: the first was at "
            f"{of_cause.min():g}, and {int(((event == 0) & (time <= horizon)).sum()):,} patients were censored before"
        )
        raise NoEventError(msg)
