"""Recognise a first column of row names, as `write.csv` of R and pandas write it."""

from __future__ import annotations

from dataclasses import replace

from autoprog.cohort.table import Parsed, nameless_fault

_WARNING = "the first column has no name and was left out: it holds row names, as R and pandas write them"


def drop_row_names(parsed: Parsed) -> Parsed:
    """Leave out the first column if it alone has no name."""
    names = parsed.names
    if parsed.table is None or len(names) < 2 or names[0] or not all(names[1:]):
        return parsed
    faults = tuple(fault for fault in parsed.faults if fault != nameless_fault([1], len(parsed.names)))
    return replace(parsed, names=names[1:], faults=faults, warnings=(*parsed.warnings, _WARNING))
