"""Small histograms beside the columns of a file."""

from __future__ import annotations

from dataclasses import dataclass

from autoprog.cohort import ColumnDescription

WIDTH, HEIGHT = 120, 36
_GAP = 1.5


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin or level."""

    x: float
    y: float
    width: float
    height: float


def draw_bars(column: ColumnDescription) -> list[Bar]:
    """Draw a column's bins, or its levels; nothing for a column without values."""
    counts = list(column.bins) or [count for _, count in column.levels]
    most = max(counts, default=0)
    if not most:
        return []
    step = WIDTH / len(counts)
    heights = [max(HEIGHT * count / most, 1.0 if count else 0.0) for count in counts]
    return [
        Bar(round(i * step, 1), round(HEIGHT - height, 1), round(step - _GAP, 1), round(height, 1))
        for i, height in enumerate(heights)
    ]
