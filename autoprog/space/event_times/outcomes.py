"""Event codes and times as one array that scikit-learn can split and slice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

EVENT_TIMES = np.dtype([("event", np.int8), ("time", np.float64)])
"""Outcome of a learner of event times: `event` is 0 for censored, 1 for the event of interest, 2 and more for competing
causes; `time` is the time of the event or of censoring."""


def event_times(event: ArrayLike, time: ArrayLike) -> NDArray[np.void]:
    """Outcomes of patients with follow-up, as a structured array.

    Parameters
    ----------
    event : array-like, shape = (n_patients,)
        0 for censored, 1 for the event of interest, 2 and more for competing causes.
    time : array-like, shape = (n_patients,)
        Time of the event or of censoring, 0 or more.

    Returns
    -------
    structured ndarray, shape = (n_patients,)
        Outcomes of dtype `EVENT_TIMES`.
    """
    code = np.asarray(event)
    y = np.empty(len(code), dtype=EVENT_TIMES)
    y["event"], y["time"] = code, time
    return y


def of_cause(y: NDArray[np.void], cause: int) -> NDArray[np.void]:
    """Censor all causes but one, in the format of scikit-survival.

    Parameters
    ----------
    y : structured ndarray, shape = (n_patients,)
        Outcomes of dtype `EVENT_TIMES`.
    cause : int
        1 for the event of interest.

    Returns
    -------
    structured ndarray, shape = (n_patients,)
        Whether the cause was observed, as a boolean, and the time.
    """
    single = np.empty(len(y), dtype=[("event", np.bool_), ("time", np.float64)])
    single["event"], single["time"] = y["event"] == cause, y["time"]
    return single


def has_event(y: NDArray[Any]) -> NDArray[np.int8]:
    """Indicator of the event of interest at any time, for supervised feature selection.

    Parameters
    ----------
    y : structured ndarray, shape = (n_patients,)
        Outcomes of dtype `EVENT_TIMES`.

    Returns
    -------
    ndarray of int8, shape = (n_patients,)
        1 if it was observed, else 0.
    """
    # Valid for screening: if censoring does not depend on the columns, a column unrelated to the hazard is unrelated to
    # this too.
    seen: NDArray[np.int8] = (y["event"] == 1).astype(np.int8)
    return seen


def event_strata(event: NDArray[np.integer], folds: int) -> NDArray[np.int64]:
    """Strata of the folds: the event codes, with codes rarer than the number of folds merged into the most frequent.

    Parameters
    ----------
    event : ndarray of int, shape = (n_patients,)
        Event codes.
    folds : int
        Number of folds.

    Returns
    -------
    ndarray of int, shape = (n_patients,)
        Each distinct value has at least `folds` patients, if any code has.
    """
    strata = event.astype(np.int64)
    counts = np.bincount(strata)
    strata[counts[strata] < folds] = counts.argmax()
    return strata
