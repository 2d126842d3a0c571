"""Plots of the pages as points of SVG drawings, which the templates draw.

x, y   values on the axes
u, v   places on the drawing: u to the right, v downwards
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoprog.ticks import round_ticks

WIDTH, HEIGHT = 270.0, 190.0
"""Size of a plot within its axes, in the drawing's units: small, so that its letters are large enough on a phone."""

_MAX_DIGITS = 13
_BAR_HEIGHT = 24.0
_BAR_WIDTH = 6.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    place: float
    value: float
    digits: int  # after the decimal point


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis: a value x stands at (x - low) / (high - low) of its length."""

    low: float
    high: float
    length: float
    downwards: bool = False

    def place(self, x: float) -> float:
        """Return where a value stands."""
        share = (x - self.low) / (self.high - self.low)
        return self.length * (1 - share if self.downwards else share)

    def ticks(self, most: int = 6) -> list[Tick]:
        """Return ticks at round numbers, with as many decimal digits as they need."""
        values = round_ticks(self.low, self.high, most)
        digits = next(d for d in range(_MAX_DIGITS) if all(round(value, d) == value for value in values))
        return [Tick(self.place(value), value, digits) for value in values]


def axis_over(values: Sequence[float], length: float, *, downwards: bool = False, margin: float = 0.05) -> Axis:
    """Return an axis that covers values, with a margin."""
    low, high = min(values), max(values)
    spread = (high - low) or abs(high) or 1.0
    return Axis(low - margin * spread, high + margin * spread, length, downwards)


def points(x: Sequence[float | None], y: Sequence[float | None], across: Axis, down: Axis) -> str:
    """Return the points of an SVG polyline; places without a value are left out."""
    pairs = ((a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None)
    return " ".join(f"{across.place(a):.1f},{down.place(b):.1f}" for a, b in pairs)


def band(
    x: Sequence[float], lower: Sequence[float | None], upper: Sequence[float | None], across: Axis, down: Axis
) -> str:
    """Return the points of an SVG polygon between two curves."""
    there = points(x, upper, across, down)
    back = points(list(reversed(x)), list(reversed(lower)), across, down)
    return f"{there} {back}"


def histogram(counts: Sequence[int]) -> list[tuple[float, float, float, float]]:
    """Return x, y, width and height of the bars of a small histogram."""
    largest = max(counts, default=0) or 1
    heights = [max(_BAR_HEIGHT * n / largest, 1.0 if n else 0.0) for n in counts]
    return [(i * _BAR_WIDTH, _BAR_HEIGHT - h, _BAR_WIDTH - 1, h) for i, h in enumerate(heights)]
