"""Round numbers for axes and tables: 1, 2, 2.5 or 5 times a power of ten apart."""

from __future__ import annotations

import math

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def round_ticks(lower: float, upper: float, most: int = 6) -> list[float]:
    """Round numbers from `lower` to `upper`, both included where they are round, at most so many; needs 2 or more."""
    if not upper > lower:
        return [lower]
    raw = (upper - lower) / (most - 1)
    scale = 10.0 ** math.floor(math.log10(raw))
    for step in (scale * factor for factor in _STEPS):
        first, last = math.ceil(lower / step - 1e-9), math.floor(upper / step + 1e-9)
        if last - first + 1 <= most:
            return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]
    return [lower, upper]
