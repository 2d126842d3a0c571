"""Checks of times, event codes and horizons.

    time     T, time to the first event or to the censoring, above 0                    (n,)
    event    0 for a censoring, 1 to K for the causes                                   (n,)
    h        horizons, ascending and distinct                                           (H,)

An estimate at a horizon needs somebody who was followed beyond it, or an event of everybody by it. If the last time is
a censoring, it is unknown from there on who is still free of events. Times are tied if they are exactly equal: round
computed times, such as years from days, first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.errors import AutoprogError


class SurvivalError(AutoprogError, ValueError):
    """Times, event codes or horizons cannot be used."""

    code = "invalid-input"


class OutcomeError(SurvivalError):
    """Times, event codes or other inputs are invalid: negative, missing, of different lengths, an unknown code."""


class NoEventError(SurvivalError):
    """Nobody had the event, or nobody by a horizon, so there is nothing to estimate."""


class NoPairError(SurvivalError):
    """No two patients can be compared, so a rank measure has no value."""


class HorizonError(SurvivalError):
    """A horizon lies where nothing is known; the attribute `largest` is the largest horizon that can be used."""

    def __init__(self, message: str, largest: float) -> None:
        super().__init__(message)
        self.largest = largest


class ConvergenceError(AutoprogError, ArithmeticError):
    """A regression has no finite or no unique estimate; `column` is the index of the column it fails by, or None."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


Times = NDArray[np.float64]
Events = NDArray[np.int64]


def check_outcomes(time: ArrayLike, event: ArrayLike, causes: int | None = None) -> tuple[Times, Events]:
    """Check times and event codes, and convert them to arrays.

    Parameters
    ----------
    time : array-like, shape = (n,), above 0
    event : array-like, shape = (n,), whole numbers from 0, or truth values
    causes : int, optional, largest code allowed; any by default

    Returns
    -------
    time, event : ndarray of float64 and int64, shape = (n,)
        The same times and codes.

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
    """Largest of the patients' times that can be a horizon.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    followed : int
        1 or more, smallest number of patients with the horizon or a later time.

    Returns
    -------
    float
        0 if there is none: all are censored at one time, or there are fewer patients than `followed`.

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
    """Time from which on it is unknown who is still free of events."""
    last = float(time.max())
    return last if (event[time == last] == 0).any() else np.inf


def check_horizons(
    time: ArrayLike, event: ArrayLike, horizons: ArrayLike, *, cause: int = 1, followed: int = 1
) -> NDArray[np.float64]:
    """Check horizons at which the incidence of a cause is to be estimated and scored.

    Parameters
    ----------
    time, event : array-like, shape = (n,), times and codes, 0 for censored
    horizons : array-like, shape = (H,)
    cause : int
        Code of the event.
    followed : int, 1 or more, smallest number of patients with a time at or after each horizon
        One is enough for an estimate; for cross-validation use the number of folds.

    Returns
    -------
    ndarray, shape = (H,)
        The horizons.

    Raises
    ------
    OutcomeError
        As `check_outcomes`.
    HorizonError
        If they are not finite, positive, ascending and distinct, or one is beyond the follow-up.
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
    """Raise NoEventError unless somebody had the event by the horizon, which may be infinite."""
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


def risk_columns(risk: ArrayLike, n: int, n_horizons: int) -> NDArray[np.float64]:
    """Bring risks (n, H) or (n,) into one row per horizon, (H, n); OutcomeError for another shape or a missing risk."""
    r = np.asarray(risk, dtype=np.float64)
    columns = np.broadcast_to(r, (n_horizons, n)) if r.shape == (n,) else r.T
    if columns.shape != (n_horizons, n):
        msg = f"risks of {n:,} patients at {n_horizons} horizons are needed: got shape {r.shape}"
        raise OutcomeError(msg)
    missing = int(np.isnan(r).sum())
    if missing:
        msg = f"{missing:,} of {r.size:,} risks are missing"
        raise OutcomeError(msg)
    return columns


def check_probabilities(risk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the risks, none missing; OutcomeError if one is below 0 or above 1."""
    outside = int(((risk < 0) | (risk > 1)).sum())
    if outside:
        reach = f"from {risk.min():g} to {risk.max():g}"
        msg = f"risks must lie in [0, 1]: {outside:,} of {risk.size:,} do not, they reach {reach}"
        raise OutcomeError(msg)
    return risk
