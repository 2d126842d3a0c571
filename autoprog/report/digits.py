"""Numbers as the tables of the report write them: three significant digits, a minus sign, no power of ten."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

EMPTY = "–"
"""What a cell shows that has no value."""


def significant(value: float | None, digits: int = 3) -> str:
    """A number with at least so many significant digits: `12.0`, `0.00345`, and whole from there on, `1,234`."""
    if value is None or not math.isfinite(value):
        return EMPTY
    if value == 0:
        return "0"
    rounded = round(value, _decimals(value, digits))
    return minus(f"{rounded:,.{_decimals(rounded, digits)}f}")


def _decimals(value: float, digits: int) -> int:
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def decimal(value: float | None, decimals: int = 3) -> str:
    """A number with so many decimals, never `-0.000`."""
    if value is None or not math.isfinite(value):
        return EMPTY
    return minus(f"{round(value, decimals) + 0.0:.{decimals}f}")


def percentage(share: float | None, decimals: int = 1) -> str:
    """A share in per cent; `< 0.1 %` for one that would look like none."""
    least = 10.0**-decimals
    if share is not None and 0 < 100 * share < least / 2:
        return f"< {least:.{decimals}f} %"
    return EMPTY if share is None else f"{decimal(100 * share, decimals)} %"


def bounded(found: Mapping[str, Any] | None, *, percent: bool = False, decimals: int = 3) -> str:
    """An estimate with its interval in brackets: `0.905 (0.866 to 0.934)`."""
    if found is None or found.get("estimate") is None:
        return EMPTY
    values = [found["estimate"], found.get("lower"), found.get("upper")]
    estimate, lower, upper = (
        decimal(None if value is None else 100 * value, 1) if percent else decimal(value, decimals) for value in values
    )
    return estimate if EMPTY in (lower, upper) else f"{estimate} ({lower} to {upper})"


def measured(document: Mapping[str, Any], name: str) -> str:
    """A measure of a performance document, with its interval if it has one."""
    value = document.get(name)
    if isinstance(value, Mapping):
        return bounded(value)
    return bounded({"estimate": value, **((document.get("intervals") or {}).get(name) or {})})


def count_share(n: int, total: int) -> str:
    """A count with its share: `139 (45.9 %)`."""
    return f"{n:,} ({percentage(n / total)})" if total else f"{n:,}"


def minus(text: str) -> str:
    """The text with minus signs for its hyphens."""
    return text.replace("-", "\u2212")
