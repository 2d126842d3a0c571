"""Event codes and times as one array that scikit-learn can split and slice."""

from __future__ import annotations

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
