"""CSV that is safe to open in a spreadsheet, which would run some texts as formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import TextIO

_FORMULA = ("=", "+", "-", "@")


def write_rows(file: TextIO, rows: Iterable[Sequence[object]]) -> None:
    """Write rows to `file`; a text that would be a formula gets an apostrophe, and stays on one line."""
    csv.writer(file, lineterminator="\n").writerows([_harmless(cell) for cell in row] for row in rows)


def _harmless(cell: object) -> object:
    if not isinstance(cell, str) or is_number(cell):
        return cell
    text = cell.replace("\r", " ")  # the writer does not quote it
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def is_number(text: str) -> bool:
    """Check whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
