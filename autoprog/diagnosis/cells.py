"""Reading a matrix of responses, naming every cell that is neither 0 nor 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.messages import count_text
from autoprog.diagnosis.responses import Responses
from autoprog.errors import Fault

# Cells that are checked together, so that a large matrix needs no second copy.
_CHUNK = 1 << 22
MAX_NAMED = 50
"""Largest number of cells or rows that are named one by one before the rest is counted; it leaves room for others."""


def read_cells(responses: object, faults: list[Fault]) -> Responses | None:
    """Pack a matrix of 0, 1, None or NaN, appending a fault for every other cell or odd row; None without a shape."""
    matrix = _as_numbers(responses, faults)
    if matrix is None:
        return None
    M, N = matrix.shape
    rows = np.empty((M, -(-N // 8)), dtype=np.uint8)
    known = np.empty_like(rows)
    has_empty, wrong = False, 0
    step = max(1, _CHUNK // max(N, 1))
    for start in range(0, M, step):
        part = matrix[start : start + step]
        empty = np.isnan(part) if part.dtype.kind == "f" else np.zeros(part.shape, dtype=bool)
        bad = (part != 0) & (part != 1) & ~empty
        for i, q in np.argwhere(bad)[: max(0, MAX_NAMED - wrong)]:
            faults.append(Fault(f"/responses/{start + i}/{q}", "must be 0 or 1"))
        wrong += int(bad.sum())
        rows[start : start + step] = np.packbits(part == 1, axis=1)
        known[start : start + step] = np.packbits(~empty, axis=1)
        has_empty |= bool(empty.any())
    if wrong > MAX_NAMED:
        faults.append(Fault("/responses", f"{count_text(wrong - MAX_NAMED, 'more cell')} that are not 0 or 1"))
    return Responses(rows, N, known if has_empty else None)


def _as_numbers(responses: object, faults: list[Fault]) -> NDArray[Any] | None:
    """Convert to a matrix of numbers, in which NaN is an unknown cell and 2 an invalid one."""
    if isinstance(responses, np.ndarray) and responses.dtype.kind in "biuf":
        if responses.ndim == 2:
            return responses
        faults.append(Fault("/responses", f"must be a matrix, not an array of {responses.ndim} dimensions"))
        return None
    if not isinstance(responses, list | tuple | np.ndarray):
        faults.append(Fault("/responses", "must be a list of rows"))
        return None
    lengths = [len(row) if isinstance(row, list | tuple | np.ndarray) else -1 for row in responses]
    if not lengths:
        return np.empty((0, 0))
    odd = [i for i, length in enumerate(lengths) if length != lengths[0] or length < 0]
    for i in odd[:MAX_NAMED]:
        text = "must be a list" if lengths[i] < 0 else f"has {lengths[i]:,} cells, the first row {lengths[0]:,}"
        faults.append(Fault(f"/responses/{i}", text))
    if len(odd) > MAX_NAMED:
        faults.append(Fault("/responses", f"{count_text(len(odd) - MAX_NAMED, 'more row')} of another length"))
    if odd:
        return None
    return np.array([[_number(cell) for cell in row] for row in responses], dtype=np.float64)


def _number(cell: object) -> float:
    if cell is None:
        return math.nan
    if not isinstance(cell, bool | int | float | np.number | np.bool_):
        return 2.0
    if cell in {0, 1}:
        return float(cell)
    return math.nan if isinstance(cell, float | np.floating) and math.isnan(cell) else 2.0
