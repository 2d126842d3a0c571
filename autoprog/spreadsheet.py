"""CSV that people open in a spreadsheet, which takes some texts for formulas and runs them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import TextIO

_FORMULA = ("=", "+", "-", "@")


def write_rows(file: TextIO, rows: Iterable[Sequence[object]]) -> None:
    """Write rows, each text that would be a formula behind an apostrophe, and on one line; numbers stay as they are.

    Parameters
    ----------
    file : text file
        Opened with `newline=""`, or standard output.
    rows : iterable of sequence
        Header and cells.
    """
    csv.writer(file, lineterminator="\n").writerows([_harmless(cell) for cell in row] for row in rows)


def _harmless(cell: object) -> object:
    if not isinstance(cell, str) or _is_number(cell):
        return cell
    text = cell.replace("\r", " ")  # which the writer leaves bare
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
