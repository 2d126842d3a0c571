"""The decision curve of the report, as the points of an SVG drawing.

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

_BELOW_ZERO = 0.15  # how far down it goes: treating all falls without end, and nobody acts on it there
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One way to decide.

    Attributes
    ----------
    name : str
        Key of the document of net benefit.
    points : str
        As SVG's `polyline` takes them; the drawing has to cut off what lies outside it.
    """

    name: str
    points: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis.

    Attributes
    ----------
    place : float
        Distance from the left, or from above.
    label : str
        What stands there.
    """

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class CurveDrawing:
    """What the template draws.

    Attributes
    ----------
    lines : tuple of Line
        Nobody, everybody, the simple pipeline where there is one, the model.
    uncertainty : str or None
        The model's interval, as SVG's `polygon` takes it; None in documents from before it was told.
    band : tuple of float
        Left end and width of the thresholds that the search was asked to consider.
    across, down : tuple of Tick
        Thresholds below, net benefits at the left.
    """

    lines: tuple[Line, ...]
    uncertainty: str | None
    band: tuple[float, float]
    across: tuple[Tick, ...]
    down: tuple[Tick, ...]


def draw(curve: Mapping[str, Any]) -> CurveDrawing:
    """Place a decision curve on the drawing.

    Parameters
    ----------
    curve : mapping
        `net_benefit` of the ensemble's document.

    Returns
    -------
    CurveDrawing
        Up to the last threshold at which the model is of use or that was asked for.
    """
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
    """As numbers; NaN where a document has none."""
    return np.array(values, dtype=np.float64)


def polyline(u: NDArray[np.float64], v: NDArray[np.float64]) -> str:
    """Places as the points of SVG's `polyline` and `polygon`.

    Parameters
    ----------
    u, v : ndarray, shape = (n,)
        Distances from the left and from above.

    Returns
    -------
    str
        To a tenth of a unit; without the places that are not known.
    """
    places = zip(u, v, strict=True)
    return " ".join(f"{right:.1f},{below:.1f}" for right, below in places if np.isfinite(below))
