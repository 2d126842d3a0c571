"""Numbers out of JSON, taken as they come so that one response names all faults."""

from __future__ import annotations

import math

MAX_SEED = 2**63
"""Upper bound of seeds, excluded."""


def parse_number(value: object) -> float | None:
    """Return a number out of JSON, which may be infinite or NaN; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_integer(value: object, low: int, high: int) -> bool:
    """Whether a value out of JSON is a whole number within bounds."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
