"""Risk strata: bands of predicted risk, given by thresholds or by thirds of the out-of-fold risks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import Fault, InvalidInputError
from autoprog.interpreter.cuts import cuts_near
from autoprog.interpreter.rules import Stratum

# By number of strata: tied risks may leave fewer than three.
_NAMES = {1: ("all",), 2: ("high", "low"), 3: ("high", "medium", "low")}

_TOLERANCE = 0.005  # of a share of patients, for a threshold that is easier to read


def make_strata(
    risks: NDArray[np.floating], *, high: float | None = None, medium: float | None = None
) -> tuple[Stratum, ...]:
    """Bands of risk, from the highest to the lowest.

    Parameters
    ----------
    risks : ndarray, shape = (n_patients,)
        Out-of-fold risks in [0, 1].
    high, medium : float or None
        Risks at or above `high` are high, those below `medium` low, 0 < medium < high < 1. Both or neither; without
        them the risks are cut into thirds. Equal risks stay together, so that thirds may be uneven; where fewer than
        three distinct risks exist there are two strata, or one named "all".

    Returns
    -------
    tuple of Stratum
        Covers [0, 1] without gaps.

    Raises
    ------
    InvalidInputError
        If the thresholds are not in order.
    """
    risks = np.asarray(risks, dtype=np.float64)
    if high is None or medium is None:
        thresholds = cuts_near(risks, (1 / 3, 2 / 3), _TOLERANCE)
    elif 0 < medium < high < 1:
        thresholds = [medium, high]
    else:
        detail = f"medium ({medium:g}) must be below high ({high:g}), both between 0 and 1"
        raise InvalidInputError([Fault("/strata", detail)])
    bounds = [0.0, *thresholds, 1.0]
    band = np.searchsorted(thresholds, risks, side="right")
    names = _NAMES[len(bounds) - 1]
    return tuple(
        Stratum(name, bounds[k], bounds[k + 1], float(np.mean(band == k)))
        for name, k in zip(names, reversed(range(len(names))), strict=True)
    )


def stratum_indices(strata: Sequence[Stratum], risks: NDArray[np.floating]) -> NDArray[np.int64]:
    """The stratum of each risk.

    Parameters
    ----------
    strata : sequence of Stratum
        From the highest to the lowest.
    risks : ndarray, shape = (n_patients,)
        In [0, 1].

    Returns
    -------
    ndarray, shape = (n_patients,)
        Index into `strata`.
    """
    thresholds = [stratum.lower for stratum in reversed(strata[:-1])]
    return len(strata) - 1 - np.searchsorted(thresholds, np.asarray(risks, dtype=np.float64), side="right")
