"""Probability that each pipeline gave, out of fold, to each patient's outcome.

p        out-of-fold risks of the pipelines                                                         (t, n) or (t, n, T)
q        probability of each patient's outcome, by each pipeline                                    (t, n)
l        log q                                                                                      (t, n)

With event times q is the probability of the event of interest in the interval in which it came, or of none until the
end of follow-up. A patient who had another event first is known never to have it.

References
----------
Good (1952), J. R. Stat. Soc. B 14:107; of censored times: Yanagisawa (2023), ICML (proper scores of intervals).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A pipeline that is certain and wrong about one patient must not be ruled out by him alone.
_LEAST = 1e-4

_Floats = NDArray[np.float64]


def count_rarer(y: NDArray[Any]) -> int:
    """Count the patients with the rarer outcome, or with the event of interest if y has times; at least 1."""
    has_times = y.dtype.names is not None
    events = int(np.count_nonzero((y["event"] if has_times else y) == 1))
    return max(1, events if has_times else min(events, len(y) - events))


def probabilities_of_outcome(p: NDArray[np.floating[Any]], y: NDArray[Any], times: tuple[float, ...] = ()) -> _Floats:
    """q, in [1e-4, 1], from risks and outcomes; `times` are ascending, and empty if the outcome has no time."""
    risks = np.asarray(p, dtype=np.float64)
    if not times:
        return np.clip(np.where(y == 1, risks, 1.0 - risks), _LEAST, 1.0)
    t, T = np.array(times), len(times)
    patients = np.arange(len(y))
    F = np.concatenate([np.zeros((*risks.shape[:2], 1)), risks], axis=2)
    interval = np.searchsorted(t, y["time"])  # T: beyond the last time
    seen = (y["event"] == 1) & (interval < T)
    at = np.minimum(interval, T - 1)
    happened = F[:, patients, at + 1] - F[:, patients, at]
    # The last time at which a patient was known to be event-free: after another event, the last of all.
    followed = np.where(y["event"] > 1, T, interval)
    free = 1.0 - F[:, patients, np.minimum(followed, T)]
    return np.clip(np.where(seen, happened, free), _LEAST, 1.0)
