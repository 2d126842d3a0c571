"""The drawings of a search: its progress, and the calibration and decision curves of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from api.pages.plots import Axes, Tick, spread
from api.searches.score_schemas import NetBenefitDocument
from api.searches.schemas import CalibrationCurveDocument
from api.searches.event_schemas import HorizonCurveDocument
from autoprog.storage.repositories import Trace

_BELOW_ZERO = 0.2  # share of the decision curve's height below 0: treating all falls without end


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing; a line that there is not is an empty text."""

    x_ticks: list[Tick]
    y_ticks: list[Tick]
    model: str = ""
    baseline: str = ""
    band: str = ""
    ideal: str = ""
    other: str = ""
    dots: tuple[tuple[float, float], ...] = ()


def draw_progress(traces: Sequence[Trace], baseline: float | None, *, greater_is_better: bool) -> Plot | None:
    """Draw the score of each pipeline and the best so far; None before the first score."""
    scored = [(trace.number, trace.score) for trace in traces if trace.score is not None]
    if not scored:
        return None
    best: list[float] = []
    for _, score in scored:
        better = max if greater_is_better else min
        best.append(score if not best else better(best[-1], score))
    # Poor pipelines would press all others to the edge.
    worst = sorted((score for _, score in scored), reverse=greater_is_better)[int(0.8 * (len(scored) - 1))]
    shown = [*best, worst, *([] if baseline is None else [baseline])]
    axes = Axes((0.5, max(scored[-1][0] + 1, 8) + 0.5), spread(shown))
    # A step at each pipeline: the best so far holds until the next one.
    x = [n + 1 + shift for n, _ in scored for shift in (0, 1)][:-1]
    y = [score for score in best for _ in (0, 1)][:-1]
    low, high = axes.y
    return Plot(
        x_ticks=[tick for tick in axes.x_ticks if tick.digits == 0],
        y_ticks=axes.y_ticks,
        model=axes.points([*x, axes.x[1]], [*y, y[-1]]),
        baseline="" if baseline is None else axes.points(axes.x, (baseline, baseline)),
        dots=tuple((round(axes.across(n + 1), 1), round(axes.down(s), 1)) for n, s in scored if low <= s <= high),
    )


def draw_calibration(curve: CalibrationCurveDocument | HorizonCurveDocument) -> Plot:
    """Draw the observed frequency of the outcome by predicted risk."""
    risks = curve.risks if isinstance(curve, CalibrationCurveDocument) else curve.risk
    end = min(1.0, 1.05 * max(*risks, *curve.observed, 0.05))
    axes = Axes((0.0, end), (0.0, end))
    return Plot(
        x_ticks=axes.x_ticks,
        y_ticks=axes.y_ticks,
        model=axes.points(risks, curve.observed),
        band=axes.band(risks, curve.lower, curve.upper),
        ideal=axes.points((0.0, end), (0.0, end)),
    )


def draw_decisions(curve: NetBenefitDocument) -> Plot:
    """Draw the net benefit by threshold: the model, the simple model, and treating everybody."""
    end = curve.range[1]
    t = [x for x in curve.thresholds if x <= end]
    n = len(t)
    lines = [curve.model[:n], curve.treat_all[:n], (curve.baseline or [])[:n]]
    top = max([0.01, *(value for line in lines for value in line if value is not None)])
    axes = Axes((0.0, max(end, 0.01)), (-_BELOW_ZERO * top, 1.05 * top))
    ends = curve.model_interval
    return Plot(
        x_ticks=axes.x_ticks,
        y_ticks=axes.y_ticks,
        model=axes.points(t, lines[0]),
        baseline=axes.points(t, lines[2]) if lines[2] else "",
        band="" if ends is None else _band(axes, t, ends.lower[:n], ends.upper[:n]),
        other=axes.points(t, lines[1]),
        ideal=axes.points(axes.x, (0.0, 0.0)),
    )


def _band(axes: Axes, t: Sequence[float], lower: Sequence[float | None], upper: Sequence[float | None]) -> str:
    known = [i for i in range(len(t)) if lower[i] is not None and upper[i] is not None]
    return axes.band([t[i] for i in known], [lower[i] for i in known], [upper[i] for i in known])
