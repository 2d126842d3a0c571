"""Shapes on paper, the one drawing that SVG and PNG are written from.

Places are in points (1/72 inch) from the upper left corner, to the right and downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Place: TypeAlias = tuple[float, float]
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Ink:
    """Colours and widths of a shape; None where it has no outline or no filling."""

    stroke: str | None = None
    fill: str | None = None
    width: float = 1.0
    dash: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Path:
    """A line through places, or an area if it is closed; `clip` hides what lies outside."""

    places: tuple[Place, ...]
    ink: Ink
    closed: bool = False
    clip: Box | None = None


@dataclass(frozen=True, slots=True)
class Dot:
    """A circle."""

    place: Place
    radius: float
    ink: Ink


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text on its baseline."""

    place: Place
    text: str
    size: float = 9.0
    anchor: Literal["start", "middle", "end"] = "start"
    color: str = "#1b1f24"
    bold: bool = False
    upright: bool = False  # read from below


Shape: TypeAlias = Path | Dot | Text


@dataclass(frozen=True, slots=True)
class Scene:
    """A drawing."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
