"""Times and what happened at them, as one array that scikit-learn's splitting and slicing take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

EVENT_TIMES = np.dtype([("event", np.int8), ("time", np.float64)])
"""What a learner of event times is fitted to: `event` 0 for censored, 1 for the event of interest, 2 and more for the
causes that compete with it; `time` from the origin to whichever came first."""


def event_times(event: ArrayLike, time: ArrayLike) -> NDArray[np.void]:
    """Outcomes of patients who were followed up.

    Parameters
    ----------
    event : array-like, shape = (n_patients,)
        0 for censored, 1 for the event of interest, 2 and more for competing causes.
    time : array-like, shape = (n_patients,)
        Time of the event or of the censoring, 0 or more.

    Returns
    -------
    structured ndarray, shape = (n_patients,)
        Of dtype `EVENT_TIMES`.
    """
    code = np.asarray(event)
    y = np.empty(len(code), dtype=EVENT_TIMES)
    y["event"], y["time"] = code, time
    return y


def of_cause(y: NDArray[np.void], cause: int) -> NDArray[np.void]:
    """The outcomes with all other causes censored, as scikit-survival takes them.

    Parameters
    ----------
    y : structured ndarray, shape = (n_patients,)
        Of dtype `EVENT_TIMES`.
    cause : int
        1 for the event of interest.

    Returns
    -------
    structured ndarray, shape = (n_patients,)
        Whether the cause was seen, as a boolean, and the time.
    """
    single = np.empty(len(y), dtype=[("event", np.bool_), ("time", np.float64)])
    single["event"], single["time"] = y["event"] == cause, y["time"]
    return single


def has_event(y: NDArray[Any]) -> NDArray[np.int8]:
    """In whom the event of interest was seen, at whatever time; what supervised stages select by.

    Selecting columns by it is a screening: with censoring that does not depend on them, a column that says nothing of
    the hazard says nothing of this either.

    Parameters
    ----------
    y : structured ndarray, shape = (n_patients,)
        Of dtype `EVENT_TIMES`.

    Returns
    -------
    ndarray of int8, shape = (n_patients,)
        1 where it was seen, else 0.
    """
    seen: NDArray[np.int8] = (y["event"] == 1).astype(np.int8)
    return seen


def event_strata(event: NDArray[np.integer], folds: int) -> NDArray[np.int64]:
    """What folds are stratified by: the event codes, those that fewer patients have than there are folds as one.

    Parameters
    ----------
    event : ndarray of int, shape = (n_patients,)
        Codes.
    folds : int
        Number of folds.

    Returns
    -------
    ndarray of int, shape = (n_patients,)
        Each distinct value has `folds` patients or more, if any code has.
    """
    strata = event.astype(np.int64)
    counts = np.bincount(strata)
    strata[counts[strata] < folds] = counts.argmax()
    return strata
