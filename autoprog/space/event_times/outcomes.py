"""Parts of event codes and times: one cause, the event of interest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
