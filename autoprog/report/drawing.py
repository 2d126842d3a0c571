"""Where the data of a figure lie on the paper: charts and flows as scenes, with round ticks and a legend."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autoprog.report.chart import Axis, Band, Bars, Chart, Flow, Line, Mark, NumbersAtRisk, Panel, Points, Style
from autoprog.report.scene import Box, Dot, Ink, Path, Place, Scene, Shape, Text
from autoprog.ticks import round_ticks

# Wong 2011, Nature Methods 8:441: told apart without red and green, and in grey by their dashes.
_COLORS: dict[Style, str] = {
    "model": "#0b5cad",
    "simple": "#c05a00",
    "all": "#6b7280",
    "none": "#1b1f24",
    "reference": "#9aa1aa",
    "first": "#b5312c",
    "second": "#c98a00",
    "third": "#0b5cad",
    "fourth": "#4b5563",
}
_DASHES: dict[Style, tuple[float, ...]] = {
    "simple": (6, 3),
    "all": (2, 2),
    "reference": (4, 4),
    "second": (7, 3),
    "third": (2, 2),
}
_FRAME, _GRID, _QUIET = "#8b929b", "#e4e7eb", "#4b5563"

_SIZE, _SMALL = 9.0, 8.0
_WIDE, _NARROW = 330.0, 210.0  # width of the axes of one panel, and of several side by side
_LEFT, _RIGHT, _TOP, _BELOW = 56.0, 14.0, 22.0, 40.0
_LETTER = 0.52  # mean width of a letter, in its size
_TITLE_LINE, _LEGEND_LINE, _RISK_LINE, _CATEGORY = 11.0, 13.0, 12.0, 17.0


def draw(data: Chart | Flow) -> Scene:
    """Lay out the data of a figure on paper."""
    return _draw_flow(data) if isinstance(data, Flow) else _draw_chart(data)


@dataclass(frozen=True, slots=True)
class _Frame:
    """A panel's place and size on the paper."""

    panel: Panel
    left: float  # of the panel, with its labels
    top: float
    head: float  # from there to the axes
    indent: float  # from there to the axes
    width: float  # of the axes
    height: float

    @property
    def box(self) -> Box:
        left, top = self.left + self.indent, self.top + self.head
        return left, top, left + self.width, top + self.height

    @property
    def full_width(self) -> float:
        return self.indent + self.width + _RIGHT

    @property
    def full_height(self) -> float:
        risk = self.panel.at_risk
        below = _BELOW + _beyond_first(self.panel.x.title, self.width)
        return self.head + self.height + below + (0 if risk is None else _RISK_LINE * (len(risk.rows) + 1) + 6)

    def x(self, value: float) -> float:
        axis = self.panel.x
        return self.box[0] + self.width * (value - axis.lower) / (axis.upper - axis.lower)

    def y(self, value: float) -> float:
        axis = self.panel.y
        return self.box[3] - self.height * (value - axis.lower) / (axis.upper - axis.lower)


def _draw_chart(chart: Chart) -> Scene:
    width = _WIDE if chart.across == 1 else _NARROW
    frames: list[_Frame] = []
    top, right = 0.0, 0.0
    for start in range(0, len(chart.panels), chart.across):
        left, row = 0.0, []
        panels = chart.panels[start : start + chart.across]
        head = _TOP + max(_beyond_first(panel.title, width) for panel in panels)
        for panel in panels:
            frame = _Frame(panel, left, top, head, _indent(panel), width, _height(panel, width))
            left += frame.full_width
            row.append(frame)
        frames += row
        right, top = max(right, left), top + max(frame.full_height for frame in row)
    legend, height = _legend(chart, right, top)
    shapes = [shape for frame in frames for shape in _draw_panel(frame)]
    return Scene(right, top + height, (*shapes, *legend))


def _wrapped(title: str, width: float) -> list[str]:
    """A title in lines as wide as the axes."""
    return textwrap.wrap(title, int(width / (_SIZE * _LETTER)))


def _beyond_first(title: str, width: float) -> float:
    """Height of a title's lines but the first, for which there is always room."""
    return _TITLE_LINE * max(0, len(_wrapped(title, width)) - 1)


def _height(panel: Panel, width: float) -> float:
    return _CATEGORY * len(panel.y.categories) + 8 if panel.y.categories else width * panel.height


def _indent(panel: Panel) -> float:
    names = [*panel.y.categories, *(name for name, _ in (panel.at_risk.rows if panel.at_risk else ()))]
    return max([_LEFT, *(_SMALL * _LETTER * len(name) + 24 for name in names)])


def _draw_panel(frame: _Frame) -> Iterator[Shape]:
    left, top, right, bottom = frame.box
    panel = frame.panel
    for k, line in enumerate(reversed(_wrapped(panel.title, frame.width))):
        yield Text((left, top - 8 - _TITLE_LINE * k), line, _SIZE, bold=True)
    yield from _draw_ticks(frame)
    for mark in sorted(panel.marks, key=lambda mark: not isinstance(mark, Band | Bars)):
        yield from _draw_mark(mark, frame)
    yield Path(((left, top), (left, bottom), (right, bottom)), Ink(_FRAME, width=0.8))
    middle = (left + right) / 2
    for k, line in enumerate(_wrapped(panel.x.title, frame.width)):
        yield Text((middle, bottom + 30 + _TITLE_LINE * k), line, _SIZE, "middle")
    if not panel.y.categories:
        yield Text((frame.left + 11, (top + bottom) / 2), panel.y.title, _SIZE, "middle", upright=True)
    if panel.at_risk is not None:
        yield from _draw_at_risk(panel.at_risk, frame)


def _draw_ticks(frame: _Frame) -> Iterator[Shape]:
    left, top, right, bottom = frame.box
    for value, label in tick_labels(frame.panel.x):
        x = frame.x(value)
        yield Path(((x, top), (x, bottom)), Ink(_GRID, width=0.6))
        yield Path(((x, bottom), (x, bottom + 4)), Ink(_FRAME, width=0.8))
        yield Text((x, bottom + 15), label, _SMALL, "middle", _QUIET)
    for value, label in tick_labels(frame.panel.y):
        y = frame.y(value)
        yield Path(((left, y), (right, y)), Ink(_GRID, width=0.6))
        yield Path(((left - 4, y), (left, y)), Ink(_FRAME, width=0.8))
        yield Text((left - 7, y + 3), label, _SMALL, "end", _QUIET)


def tick_labels(axis: Axis) -> list[tuple[float, str]]:
    """Places and labels of an axis's ticks: its categories, or round numbers with the same number of decimals."""
    if axis.categories:
        return [(float(k), name) for k, name in enumerate(axis.categories)]
    scale = 100.0 if axis.percent else 1.0
    ticks = round_ticks(scale * axis.lower, scale * axis.upper)
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    decimals = next((k for k in range(7) if abs(step * 10**k - round(step * 10**k)) < 1e-6), 6)
    unit = " %" if axis.percent else ""
    shown = [abs(tick) if axis.absolute else tick for tick in ticks]
    labels = (f"{value:,.{decimals}f}{unit}".replace("-", "\u2212") for value in shown)
    return [(tick / scale, label) for tick, label in zip(ticks, labels, strict=True)]


def _draw_mark(mark: Mark, frame: _Frame) -> Iterator[Shape]:
    color, dash = _COLORS[mark.style], _DASHES.get(mark.style, ())
    if isinstance(mark, Line):
        width = 0.9 if mark.style in ("reference", "none", "all") else 1.7
        for places in _runs(_places(mark.x, mark.y, frame), stepped=mark.stepped):
            yield Path(places, Ink(color, width=width, dash=dash), clip=frame.box)
    elif isinstance(mark, Band):
        lower, upper = (_runs(_places(mark.x, y, frame), stepped=mark.stepped) for y in (mark.lower, mark.upper))
        for below, above in zip(lower, upper, strict=False):
            yield Path((*above, *reversed(below)), Ink(fill=color, opacity=0.16), closed=True, clip=frame.box)
    elif isinstance(mark, Bars):
        for (a, b), height in zip(pairwise(mark.edges), mark.heights, strict=True):
            corners = ((a, 0.0), (a, height), (b, height), (b, 0.0))
            places = tuple((frame.x(x), frame.y(y)) for x, y in corners)
            yield Path(places, Ink("#ffffff", color, 0.5, opacity=0.75), closed=True, clip=frame.box)
    else:
        yield from _draw_points(mark, frame, color)


def _draw_points(mark: Points, frame: _Frame, color: str) -> Iterator[Shape]:
    radius = 3.0 if len(mark.x) <= 100 else 1.2
    for lower, upper, y in zip(mark.lower, mark.upper, mark.y if mark.lower else (), strict=True):
        if lower is not None and upper is not None and y is not None:
            yield Path(
                ((frame.x(lower), frame.y(y)), (frame.x(upper), frame.y(y))), Ink(color, width=1.2), clip=frame.box
            )
    for place in _places(mark.x, mark.y, frame):
        if place is not None:
            yield Dot(place, radius, Ink(fill=color, opacity=1.0 if radius > 2 else 0.4))


def _places(xs: Sequence[float | None], ys: Sequence[float | None], frame: _Frame) -> list[Place | None]:
    return [None if x is None or y is None else (frame.x(x), frame.y(y)) for x, y in zip(xs, ys, strict=True)]


def _runs(places: Sequence[Place | None], *, stepped: bool) -> list[tuple[Place, ...]]:
    """Parts of a curve between its gaps, each of at least two places."""
    runs: list[list[Place]] = [[]]
    for place in places:
        if place is None:
            runs.append([])
        else:
            if stepped and runs[-1]:
                runs[-1].append((place[0], runs[-1][-1][1]))
            runs[-1].append(place)
    return [tuple(run) for run in runs if len(run) > 1]


def _draw_at_risk(counts: NumbersAtRisk, frame: _Frame) -> Iterator[Shape]:
    left, _, _, bottom = frame.box
    y = bottom + _BELOW + 4
    yield Text((left, y), "Number at risk", _SMALL, bold=True)
    for name, row in counts.rows:
        y += _RISK_LINE
        yield Text((left - 20, y), name, _SMALL, "end", _QUIET)
        for time, n in zip(counts.times, row, strict=True):
            yield Text((frame.x(time), y), f"{n:,}", _SMALL, "middle", _QUIET)


def _legend(chart: Chart, width: float, top: float) -> tuple[list[Shape], float]:
    """The labels of all marks, once each, in lines that fit the width; and the height that they take."""
    labels: dict[str, Mark] = {}
    for panel in chart.panels:
        for mark in panel.marks:
            if not isinstance(mark, Band) and mark.label is not None:
                labels.setdefault(mark.label, mark)
    shapes: list[Shape] = []
    x, y = 14.0, top + 6
    for label, mark in labels.items():
        size = 36 + _SIZE * _LETTER * len(label)
        if x > 14 and x + size > width:
            x, y = 14.0, y + _LEGEND_LINE
        color, dash = _COLORS[mark.style], _DASHES.get(mark.style, ())
        if isinstance(mark, Line):
            shapes.append(Path(((x, y), (x + 20, y)), Ink(color, width=1.7, dash=dash)))
        else:
            shapes.append(Dot((x + 10, y), 3.5, Ink(fill=color)))
        shapes.append(Text((x + 25, y + 3), label, _SIZE))
        x += size
    return shapes, y + 12 - top if labels else 4.0


_BOX_WIDTH, _SIDE_WIDTH, _BETWEEN = 220.0, 190.0, 26.0


def _draw_flow(flow: Flow) -> Scene:
    shapes: list[Shape] = []
    y, middle = 6.0, 6 + _BOX_WIDTH / 2
    outline: Callable[[Box], Path] = lambda box: Path(  # noqa: E731
        ((box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])),
        Ink(_FRAME, "#ffffff", 0.9),
        closed=True,
    )
    for k, step in enumerate(flow.steps):
        lines = textwrap.wrap(step.text, 42)
        bottom = y + 14 + 12 * len(lines)
        shapes += [outline((6, y, 6 + _BOX_WIDTH, bottom)), *_write(lines, 6 + _BOX_WIDTH / 2, y, "middle")]
        if k + 1 == len(flow.steps):
            y = bottom
            break
        gap = _BETWEEN
        if step.left_out is not None:
            aside = textwrap.wrap(step.left_out, 36)
            tall = 14 + 12 * len(aside)
            gap = tall + 20
            at = bottom + 10
            x = 6 + _BOX_WIDTH + 30
            shapes += [
                *_arrow((middle, at + tall / 2), (x, at + tall / 2)),
                outline((x, at, x + _SIDE_WIDTH, at + tall)),
            ]
            shapes += _write(aside, x + 8, at, "start")
        shapes += _arrow((middle, bottom), (middle, bottom + gap))
        y = bottom + gap
    has_side = any(step.left_out is not None for step in flow.steps)
    return Scene(12 + _BOX_WIDTH + (30 + _SIDE_WIDTH if has_side else 0), y + 6, tuple(shapes))


def _write(lines: Sequence[str], x: float, top: float, anchor: str) -> list[Shape]:
    return [
        Text((x, top + 16 + 12 * k), line, _SIZE, "middle" if anchor == "middle" else "start")
        for k, line in enumerate(lines)
    ]


def _arrow(start: Place, end: Place) -> list[Shape]:
    (x, y), across = end, start[1] == end[1]
    head = ((x, y), (x - 6, y - 3), (x - 6, y + 3)) if across else ((x, y), (x - 3, y - 6), (x + 3, y - 6))
    return [Path((start, end), Ink(_FRAME, width=0.9)), Path(head, Ink(fill=_FRAME), closed=True)]
