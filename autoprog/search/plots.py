"""The calibration and instability plots of the report, as the points of SVG drawings.

p        a risk, on the horizontal axis
f        what is shown at it, on the vertical one: an observed frequency, or a refit's risk
end      largest of all that is shown, at most 1: both axes go from 0 to it
u, v     places on the drawing: u = SIDE p / end to the right, v = SIDE (1 - f / end) downwards
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.search.curve import Tick, polyline

SIDE = 320
"""Of the plots themselves, in the drawings' units."""

BARS = 60
"""Height of the histograms below a calibration plot."""

_TICKS = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """Patients of one bin and outcome: a rectangle.

    Attributes
    ----------
    left, width, height : float
        Of those with the outcome it stands on the histograms' middle line, of the others it hangs from it.
    has_outcome : bool
        Of which patients.
    """

    left: float
    width: float
    height: float
    has_outcome: bool


@dataclass(frozen=True, slots=True)
class CalibrationDrawing:
    """What the template draws of calibration.

    Attributes
    ----------
    curve, band : str
        Points of the curve, and of the area of its interval.
    bars : tuple of Bar
        Histograms of the risks.
    ticks : tuple of Tick
        The same on both axes; places count from the left, or from below.
    """

    curve: str
    band: str
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class InstabilityDrawing:
    """What the template draws of instability.

    Attributes
    ----------
    points : tuple of (float, float)
        u and v: the model's risk and a refit's.
    curves : tuple of str
        Points of each refit's calibration curve.
    ticks : tuple of Tick
        As of `CalibrationDrawing`.
    """

    points: tuple[tuple[float, float], ...]
    curves: tuple[str, ...]
    ticks: tuple[Tick, ...]


def draw_calibration(curve: Mapping[str, Any], distribution: Mapping[str, Any]) -> CalibrationDrawing:
    """Place a smooth calibration curve and the distribution of the risks on a drawing.

    Parameters
    ----------
    curve : mapping
        `calibration_curve` of the ensemble's document.
    distribution : mapping
        `risk_distribution` of it.

    Returns
    -------
    CalibrationDrawing
        Up to the largest risk or end of an interval that is told.
    """
    p, f, lower, upper = (np.array(curve[name]) for name in ("risks", "observed", "lower", "upper"))
    end = max(float(p.max()), float(f.max()), float(upper.max()))
    u = SIDE * p / end
    band = polyline(np.concatenate([u, u[::-1]]), _down(np.concatenate([upper, lower[::-1]]), end))
    return CalibrationDrawing(polyline(u, _down(f, end)), band, _bars(distribution, end), _ticks(end))


def draw_instability(instability: Mapping[str, Any]) -> InstabilityDrawing:
    """Place the risks of refits, and their calibration curves, on two drawings of one scale.

    Parameters
    ----------
    instability : mapping
        `instability` of the ensemble's document.

    Returns
    -------
    InstabilityDrawing
        Up to the largest risk or frequency.
    """
    points = np.array(instability["points"]).reshape(-1, 2)
    curves: Sequence[Sequence[float]] = instability["curves"]
    p = np.array(instability["risks"])
    end = max(float(points.max()), float(p.max()), *(max(curve) for curve in curves))
    places = zip((SIDE * points[:, 0] / end).tolist(), _down(points[:, 1], end).tolist(), strict=True)
    lines = tuple(polyline(SIDE * p / end, _down(np.array(curve), end)) for curve in curves)
    return InstabilityDrawing(tuple(places), lines, _ticks(end))


def _down(f: NDArray[np.float64], end: float) -> NDArray[np.float64]:
    return SIDE * (1 - f / end)


def _ticks(end: float) -> tuple[Tick, ...]:
    return tuple(Tick(SIDE * x / end, f"{100 * x:.3g} %") for x in np.linspace(0, end, _TICKS))


def _bars(distribution: Mapping[str, Any], end: float) -> tuple[Bar, ...]:
    edges = np.array(distribution["edges"])
    counts = {True: distribution["with_outcome"], False: distribution["without_outcome"]}
    most = max(*counts[True], *counts[False])
    return tuple(
        Bar(SIDE * float(edges[k]) / end, SIDE * float(edges[k + 1] - edges[k]) / end, BARS / 2 * n / most, has)
        for has, of_bins in counts.items()
        for k, n in enumerate(of_bins)
        if n > 0
    )
