"""Whether a model knows more than the average: if not, its strata and rules mean nothing and are withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.endpoints import find_area, list_parts
from autoprog.report.digits import decimal

_NO_KNOWLEDGE = 0.5

WITHHELD = "Risk strata and rules are withheld, as the model knows no more than the average."
"""What takes the place of strata and rules that mean nothing."""


def reasons_for_doubt(ensemble: Mapping[str, Any], horizon: float | None = None) -> tuple[str, ...]:
    """Find out whether a model knows nothing.

    Parameters
    ----------
    ensemble : mapping
        The ensemble's document, or an external validation's.
    horizon : float or None
        Horizon of the outcome; None for an outcome without a time.

    Returns
    -------
    tuple of str
        Why the model knows no more than the average: the interval of its area under the curve holds .5 or lies below
        it, or its Brier skill is at most 0. Empty if it knows more, or if the document is too old to tell.
    """
    measured = _measured(ensemble, horizon)
    if measured is None:
        return ()
    reasons = []
    bounds = (measured.get("intervals") or {}).get(find_area(measured))
    if bounds is not None and bounds["lower"] <= _NO_KNOWLEDGE:
        reasons.append(
            f"the 95 % interval of the area under the ROC curve, {decimal(bounds['lower'])} to "
            f"{decimal(bounds['upper'])}, does not lie above 0.5, that of a coin toss"
        )
    skill = measured.get("brier_skill")
    if skill is not None and skill <= 0:
        reasons.append(f"its Brier skill is {decimal(skill)}: giving every patient the average risk does as well")
    return tuple(reasons)


def knows_nothing(ensemble: Mapping[str, Any]) -> bool:
    """Whether there are reasons for doubt at every horizon."""
    return all(reasons_for_doubt(ensemble, horizon) for horizon, _ in list_parts(ensemble))


def keep_known(ensemble: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Keep the strata or rules of the horizons at which the model knows more than the average."""
    return [each for each in found if not reasons_for_doubt(ensemble, each.get("horizon"))]


def _measured(ensemble: Mapping[str, Any], horizon: float | None) -> Mapping[str, Any] | None:
    part = dict(list_parts(ensemble)).get(horizon)
    return None if part is None else part.get("performance")
