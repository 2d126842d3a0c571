"""Decision curve of the report, as points of an SVG drawing.

t    thresholds                                                      (n,)
NB   net benefit of one way to decide, at each threshold             (n,)
u, v places on the drawing: u = WIDTH t / t_end to the right, v = HEIGHT (top - NB) / (top - bottom) downwards
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 640, 320  # of the plot itself, in the drawing's units

_BELOW_ZERO = 0.15  # share of the height shown below 0: treating all falls without end and is of no use there
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """Net benefit of one way to decide."""

    name: str  # key of the document of net benefit
    points: str  # for SVG's `polyline`; the drawing must clip what lies outside it


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    place: float  # distance from the left, or from above
    label: str


@dataclass(frozen=True, slots=True)
class CurveDrawing:
    """Decision curve as the template draws it."""

    lines: tuple[Line, ...]  # treat none, treat all, the simple pipeline if there is one, the model
    uncertainty: str | None  # the model's interval, for SVG's `polygon`; None in older documents
    band: tuple[float, float]  # left end and width of the thresholds that were asked for
    across: tuple[Tick, ...]  # thresholds, below
    down: tuple[Tick, ...]  # net benefits, at the left


def draw(curve: Mapping[str, Any]) -> CurveDrawing:
    """Draw the document's `net_benefit` up to the last threshold that was asked for or where the model is of use."""
    t = np.array(curve["thresholds"])
    low, high = curve["range"]
    of_use = t[_known(curve["model"]) > 0]
    t_end = max(high, of_use.max(initial=0.0))
    names = [name for name in ("treat_none", "treat_all", "baseline", "model") if curve[name] is not None]
    values = {name: _known(curve[name])[t <= t_end] for name in names}
    top = max(float(np.nanmax(NB, initial=0.0)) for NB in values.values()) or 1.0
    bottom = -_BELOW_ZERO * top
    u, v = WIDTH / t_end, HEIGHT / (top - bottom)
    ends = curve.get("model_interval")
    uncertainty = None
    if ends is not None:
        lower, upper = (_known(ends[end])[t <= t_end] for end in ("lower", "upper"))
        around = np.concatenate([t[t <= t_end], t[t <= t_end][::-1]])
        uncertainty = polyline(u * around, v * (top - np.concatenate([upper, lower[::-1]])))
    return CurveDrawing(
        lines=tuple(Line(name, polyline(u * t[t <= t_end], v * (top - NB))) for name, NB in values.items()),
        uncertainty=uncertainty,
        band=(u * low, max(u * (high - low), 1.0)),
        across=tuple(Tick(u * x, f"{100 * x:.3g} %") for x in np.linspace(0, t_end, _TICKS)),
        down=tuple(Tick(v * (top - x), f"{x:.3f}") for x in np.linspace(0, top, _TICKS)),
    )


def _known(values: Sequence[float | None]) -> NDArray[np.float64]:
    """Convert to numbers; NaN for None."""
    return np.array(values, dtype=np.float64)


def polyline(u: NDArray[np.float64], v: NDArray[np.float64]) -> str:
    """Points for SVG's `polyline` and `polygon`, to a tenth of a unit; unknown places are left out."""
    places = zip(u, v, strict=True)
    return " ".join(f"{right:.1f},{below:.1f}" for right, below in places if np.isfinite(below))
