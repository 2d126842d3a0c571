"""Risk strata: bands of predicted risk, given by thresholds or by thirds of the out-of-fold risks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import Fault, InvalidInputError
from autoprog.interpreter.cuts import cuts_near
from autoprog.interpreter.rules import Stratum

STRATUM_NAMES = ("high", "medium", "low")

# By number of strata: tied risks may leave fewer than three.
_NAMES = {1: ("all",), 2: ("high", "low"), 3: STRATUM_NAMES}

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
        If the thresholds are not in order; names every fault.
    """
    risks = np.asarray(risks, dtype=np.float64)
    if high is None or medium is None:
        thresholds = cuts_near(risks, (1 / 3, 2 / 3), _TOLERANCE)
    elif faults := threshold_faults(high, medium):
        raise InvalidInputError(faults)
    else:
        thresholds = [medium, high]
    bounds = [0.0, *thresholds, 1.0]
    band = np.searchsorted(thresholds, risks, side="right")
    names = _NAMES[len(bounds) - 1]
    return tuple(
        Stratum(name, bounds[k], bounds[k + 1], float(np.mean(band == k)))
        for name, k in zip(names, reversed(range(len(names))), strict=True)
    )


def threshold_faults(high: float, medium: float, pointer: str = "/strata") -> list[Fault]:
    """Whether two thresholds bound three strata.

    Parameters
    ----------
    high, medium : float
        Lower bounds of the strata of these names.
    pointer : str
        JSON pointer to the thresholds.

    Returns
    -------
    list of Fault
        Every fault: a threshold that leaves no risk on one side, thresholds that overlap or that leave nobody between.
    """
    faults = [
        Fault(f"{pointer}/{name}", f"must be between 0 and 1, not {threshold:g}")
        for name, threshold in (("high", high), ("medium", medium))
        if not 0 < threshold < 1
    ]
    if medium == high:
        faults.append(Fault(f"{pointer}/medium", f"must be below high, {high:g}: nobody would be of medium risk"))
    elif not medium < high:
        detail = f"must be below high, {high:g}: from there to {medium:g} the strata would overlap"
        faults.append(Fault(f"{pointer}/medium", detail))
    return faults


def empty_strata(strata: Sequence[Stratum]) -> list[str]:
    """What to warn of where thresholds leave a stratum without patients.

    Parameters
    ----------
    strata : sequence of Stratum
        As `make_strata` made them.

    Returns
    -------
    list of str
        One warning a stratum.
    """
    return [
        f"no patient's out-of-fold risk lies in the stratum {stratum.name}, {stratum.lower:g} to {stratum.upper:g}: "
        "it is empty, and no rule describes it"
        for stratum in strata
        if stratum.fraction == 0
    ]


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
