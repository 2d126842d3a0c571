"""Drawings of the pages as points of SVG, on axes with round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 400, 250
LEFT, RIGHT, TOP, BOTTOM = 48, 10, 12, 42

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    place: float
    value: float
    digits: int  # after the point, that the labels of the axis need


@dataclass(frozen=True, slots=True)
class Axes:
    """A pair of axes."""

    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, x: float) -> float:
        """Return the place of a value on the horizontal axis."""
        low, high = self.x
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - low) / (high - low)

    def down(self, y: float) -> float:
        """Return the place of a value on the vertical axis."""
        low, high = self.y
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - min(max(y, low), high)) / (high - low)

    def points(self, x: Iterable[float], y: Iterable[float | None]) -> str:
        """Return the points of a line; unknown places are left out."""
        known = ((a, b) for a, b in zip(x, y, strict=True) if b is not None)
        return " ".join(f"{self.across(a):.1f},{self.down(b):.1f}" for a, b in known)

    def band(self, x: Sequence[float], lower: Sequence[float | None], upper: Sequence[float | None]) -> str:
        """Return the points of the area between two lines."""
        return f"{self.points(x, upper)} {self.points(x[::-1], lower[::-1])}".strip()

    @property
    def x_ticks(self) -> list[Tick]:
        """Round numbers along the horizontal axis."""
        return [Tick(self.across(value), value, digits) for value, digits in round_numbers(*self.x)]

    @property
    def y_ticks(self) -> list[Tick]:
        """Round numbers along the vertical axis."""
        return [Tick(self.down(value), value, digits) for value, digits in round_numbers(*self.y)]


def round_numbers(low: float, high: float, most: int = 6) -> list[tuple[float, int]]:
    """Return round numbers from `low` to `high`, and the digits that they need."""
    rough = (high - low) / (most - 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * s for s in _STEPS if size * s >= rough * (1 - 1e-9))
    digits = next(d for d in range(12) if math.isclose(round(step, d), step, rel_tol=1e-6))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(round(i * step, digits), digits) for i in range(first, last + 1)]


def spread(values: Iterable[float], margin: float = 0.08) -> tuple[float, float]:
    """Return an axis that holds all values with a margin; never of length 0."""
    found = list(values)
    low, high = min(found), max(found)
    gap = (high - low) * margin or max(abs(high), 1.0) * 0.05
    return low - gap, high + gap
