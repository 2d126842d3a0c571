"""Risk strata: bands of predicted risk, by thresholds or by thirds of the out-of-fold risks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.errors import Fault, InvalidInputError
from autoprog.interpreter.conditions import cuts_near
from autoprog.interpreter.rules import Stratum

STRATUM_NAMES = ("high", "medium", "low")

# Names by the number of strata; tied risks may leave fewer than three.
_NAMES = {1: ("all",), 2: ("high", "low"), 3: STRATUM_NAMES}

_TOLERANCE = 0.005  # allowed deviation of a share of patients, for a more readable threshold


def make_strata(
    risks: NDArray[np.floating], *, high: float | None = None, medium: float | None = None
) -> tuple[Stratum, ...]:
    """Make bands of risk, from the highest to the lowest.

    Parameters
    ----------
    risks : ndarray, shape = (n_patients,)
        Out-of-fold risks in [0, 1].
    high, medium : float or None
        Lower bounds of the high and medium strata, 0 < medium < high < 1; both or neither. Without them the risks are
        cut into thirds, with equal risks together; fewer than three distinct risks make two strata, or one, "all".

    Returns
    -------
    tuple of Stratum
        Cover [0, 1] without gaps.

    Raises
    ------
    InvalidInputError
        If the thresholds are not in order; lists every fault.
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
    """Check the lower bounds of the high and medium strata, 0 < medium < high < 1, and list every fault."""
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
    """Warn of each stratum without patients."""
    return [
        f"no patient's out-of-fold risk lies in the stratum {stratum.name}, {stratum.lower:g} to {stratum.upper:g}: "
        "it is empty, and no rule describes it"
        for stratum in strata
        if stratum.fraction == 0
    ]


def stratum_indices(strata: Sequence[Stratum], risks: NDArray[np.floating]) -> NDArray[np.int64]:
    """Index of each risk's stratum in `strata`, which run from the highest to the lowest."""
    thresholds = [stratum.lower for stratum in reversed(strata[:-1])]
    return len(strata) - 1 - np.searchsorted(thresholds, np.asarray(risks, dtype=np.float64), side="right")
