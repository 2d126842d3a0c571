"""The best score so far, as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from api.pages.searches.plots import HEIGHT, WIDTH, Axis, axis_over, points


@dataclass(frozen=True, slots=True)
class ProgressPlot:
    """The best score after each evaluation on most patients, beside the simple pipeline's."""

    across: Axis
    down: Axis
    best: str  # points of a polyline
    simple: float | None  # score of the simple pipeline, which every search evaluates first
    last: float
    dots: tuple[tuple[float, float], ...]  # places of all scores


def draw_progress(found: Sequence[tuple[int, float]], *, greater_is_better: bool) -> ProgressPlot | None:
    """Draw scores, each with the number of its evaluation, in their order; None without any."""
    if not found:
        return None
    scores = [score for _, score in found]
    simple = next((score for number, score in found if number == 0), None)
    better = max if greater_is_better else min
    best = list(accumulate(scores, better))
    x = [float(number) for number in range(1, len(scores) + 1)]
    # Failures would stretch the axis: it covers the better half of all scores.
    upper = sorted(scores, reverse=greater_is_better)[: max(2, (len(scores) + 1) // 2)]
    down = axis_over([*upper, scores[0]], HEIGHT, downwards=True, margin=0.1)
    across = Axis(0.0, max(2.0, x[-1]), WIDTH)
    dots = [(across.place(a), down.place(b)) for a, b in zip(x, scores, strict=True) if down.low <= b <= down.high]
    return ProgressPlot(across, down, points(x, best, across, down), simple, best[-1], tuple(dots))
