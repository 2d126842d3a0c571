"""The data of a figure: what is drawn, in the units of its axes. `drawing` decides where on the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Style = Literal["model", "simple", "all", "none", "reference", "first", "second", "third", "fourth"]
"""Who a mark belongs to: the ensemble, the simple model, treating all or nobody, a line of reference, a stratum."""

Values: TypeAlias = tuple[float | None, ...]
"""Numbers along a curve; None leaves a gap."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title, its ends, and how its ticks are written."""

    title: str
    lower: float
    upper: float
    percent: bool = False
    categories: tuple[str, ...] = ()  # names at 0, 1, ..., in place of numbers
    absolute: bool = False  # numbers without their sign, as of bars that hang down


@dataclass(frozen=True, slots=True)
class Line:
    """A curve; the legend names it if it has a label."""

    x: Values
    y: Values
    style: Style = "model"
    label: str | None = None
    stepped: bool = False  # the value holds from each point to the next


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two curves, such as an interval."""

    x: Values
    lower: Values
    upper: Values
    style: Style = "model"
    stepped: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """Places, with intervals along the horizontal axis where `lower` and `upper` are given."""

    x: Values
    y: Values
    lower: Values = ()
    upper: Values = ()
    style: Style = "model"
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Rectangles that stand on 0, from edge to edge; negative heights hang below it."""

    edges: tuple[float, ...]
    heights: tuple[float, ...]
    style: Style = "model"
    label: str | None = None


Mark: TypeAlias = Line | Band | Points | Bars


@dataclass(frozen=True, slots=True)
class NumbersAtRisk:
    """Counts below a curve of events: one row a group, one column a time."""

    times: tuple[float, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with what is drawn in it."""

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: str = ""
    height: float = 1.0  # relative to its width
    at_risk: NumbersAtRisk | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels, side by side and in rows of `across`."""

    panels: tuple[Panel, ...]
    across: int = 1


@dataclass(frozen=True, slots=True)
class FlowStep:
    """A box of a participant flow, and what is left out after it."""

    text: str
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """A participant flow, from the first box down."""

    steps: tuple[FlowStep, ...]


def values(numbers: Sequence[float | None]) -> Values:
    """Return numbers of a stored document as a curve's."""
    return tuple(None if number is None else float(number) for number in numbers)
