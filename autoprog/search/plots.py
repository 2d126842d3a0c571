"""Calibration and instability plots of the report, as points of SVG drawings.

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
"""Side of the plots themselves, in the drawings' units."""

BARS = 60
"""Height of the histograms below a calibration plot."""

_TICKS = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """Rectangle of one bin and outcome: above the histograms' middle line with the outcome, below it without."""

    left: float
    width: float
    height: float
    has_outcome: bool


@dataclass(frozen=True, slots=True)
class CalibrationDrawing:
    """Calibration as the template draws it."""

    curve: str  # points
    band: str  # points of the area of its interval
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]  # the same on both axes; places count from the left, or from below


@dataclass(frozen=True, slots=True)
class InstabilityDrawing:
    """Instability as the template draws it."""

    points: tuple[tuple[float, float], ...]  # u and v: the model's risk and a refit's
    curves: tuple[str, ...]  # points of each refit's calibration curve
    ticks: tuple[Tick, ...]


def draw_calibration(curve: Mapping[str, Any], distribution: Mapping[str, Any]) -> CalibrationDrawing:
    """Draw the document's `calibration_curve` and `risk_distribution`, up to the largest value shown."""
    p, f, lower, upper = (np.array(curve[name]) for name in ("risks", "observed", "lower", "upper"))
    end = max(float(p.max()), float(f.max()), float(upper.max()))
    u = SIDE * p / end
    band = polyline(np.concatenate([u, u[::-1]]), _down(np.concatenate([upper, lower[::-1]]), end))
    return CalibrationDrawing(polyline(u, _down(f, end)), band, _bars(distribution, end), _ticks(end))


def draw_instability(instability: Mapping[str, Any]) -> InstabilityDrawing:
    """Draw the risks and calibration curves of the document's `instability`, in two drawings on one scale."""
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
