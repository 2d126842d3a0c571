"""Numbers out of JSON, taken as they come so that one answer names all faults."""

from __future__ import annotations

import math

MAX_SEED = 2**63
"""Seeds are below it."""


def parse_number(value: object) -> float | None:
    """A number out of JSON, which may be infinite or none; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_integer(value: object, low: int, high: int) -> bool:
    """Whether something out of JSON is a whole number within bounds."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
