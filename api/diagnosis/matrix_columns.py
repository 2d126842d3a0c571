"""Read a matrix of responses column by column into packed bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from autoprog.cohort.messages import FIRST, MAX_FAULTS, column_pointer, count_text, listed
from autoprog.diagnosis import MAX_CELLS, Responses
from autoprog.errors import Fault, TooLargeError

_EMPTY, _BAD = 2, 3
_CODES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "": _EMPTY}


@dataclass(frozen=True)
class Matrix:
    """A matrix of responses as read from a file."""

    responses: Responses  # objects by queries
    # None where the file has no such names or column.
    queries: tuple[str, ...] | None = None
    objects: tuple[str, ...] | None = None
    groups: tuple[str | None, ...] | None = None
    prior: tuple[float | str | None, ...] | None = None  # texts that are no numbers stay as written


class MatrixBuilder:
    """Builder of a matrix from the rows of a file, batch by batch."""

    # `roles` maps `object`, `group` and `prior` to the column that holds it; `queries` are columns in model order;
    # `first_row` is the first row's number as a person who reads the file counts.
    def __init__(self, names: Sequence[str], roles: Mapping[str, int], queries: Sequence[int], first_row: int) -> None:
        self._names, self._roles, self._queries = names, roles, queries
        self._first_row = first_row
        self._n_rows = 0
        self._rows: list[NDArray[np.uint8]] = []
        self._known: list[NDArray[np.uint8]] = []
        self._has_empty = False
        self._n_bad = np.zeros(len(queries), dtype=np.int64)  # cells that are no answer, by query
        self._bad_rows: dict[int, list[int]] = {}  # the first rows of those, of the first queries that have any
        self._texts: dict[str, list[Any]] = {role: [] for role in roles}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take some rows; raises TooLargeError if there are more cells than a model may have."""
        n = batch.num_rows
        if (self._n_rows + n) * len(self._queries) > MAX_CELLS:
            raise TooLargeError(f"the file has more than {MAX_CELLS:,} cells")
        codes = np.empty((n, len(self._queries)), dtype=np.uint8)
        for q, column in enumerate(self._queries):
            codes[:, q] = cell_codes(batch.column(column))
        self._count_bad(codes == _BAD)
        self._rows.append(np.packbits(codes == 1, axis=1))
        self._known.append(np.packbits(codes != _EMPTY, axis=1))
        self._has_empty |= bool((codes == _EMPTY).any())
        for role, column in self._roles.items():
            self._texts[role] += _plain(batch.column(column)).to_pylist()
        self._n_rows += n

    def _count_bad(self, bad: NDArray[np.bool_]) -> None:
        counts = bad.sum(axis=0)
        self._n_bad += counts
        for q in np.flatnonzero(self._n_bad)[:MAX_FAULTS].tolist():
            rows = self._bad_rows.setdefault(q, [])
            if counts[q] and len(rows) < FIRST:
                first = np.flatnonzero(bad[:, q])[: FIRST - len(rows)]
                rows += (self._first_row + self._n_rows + first).tolist()

    def finish(self, faults: list[Fault], passed_over: Sequence[int] = ()) -> Matrix:
        """Return the matrix and add the faults of its cells; `passed_over` are numbers of skipped rows, ascending."""
        faults += self._cell_faults(passed_over)
        width = -(-len(self._queries) // 8)
        none = np.empty((0, width), dtype=np.uint8)
        known = np.concatenate([none, *self._known]) if self._has_empty else None
        texts = {role: tuple(_text(cell) for cell in cells) for role, cells in self._texts.items()}
        return Matrix(
            Responses(np.concatenate([none, *self._rows]), len(self._queries), known),
            queries=tuple(self._names[i] for i in self._queries),
            objects=tuple(text or "" for text in texts["object"]) if "object" in texts else None,
            groups=texts.get("group"),
            prior=tuple(_number(text) for text in texts["prior"]) if "prior" in texts else None,
        )

    def _cell_faults(self, passed_over: Sequence[int]) -> list[Fault]:
        faults = []
        columns = np.flatnonzero(self._n_bad)
        for q in columns[:MAX_FAULTS].tolist():
            count = int(self._n_bad[q])
            rows = listed((str(_number_in_file(row, passed_over)) for row in self._bad_rows[q]), count)
            where = f"rows {rows}" if count > 1 else f"row {rows}"
            detail = f"{count_text(count, 'cell')} that {'is' if count == 1 else 'are'} not 0 or 1: {where}"
            faults.append(Fault(column_pointer(self._names[self._queries[q]]), detail))
        if (rest := len(columns) - MAX_FAULTS) > 0:
            faults.append(Fault("/file/columns", f"{count_text(rest, 'more column')} with cells that are not 0 or 1"))
        return faults


def cell_codes(column: pa.Array) -> NDArray[np.uint8]:
    """Return a column's responses: 0, 1, 2 for an empty cell, 3 for anything else."""
    if pa.types.is_dictionary(column.type) or _is_text(column.type):
        return _text_codes(column if pa.types.is_dictionary(column.type) else column.dictionary_encode())
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.full(len(column), _BAD, dtype=np.uint8)
    empty = np.asarray(pc.is_null(column, nan_is_null=True))
    values = np.asarray(pc.fill_null(column, 0))
    codes = np.where(values == 1, np.uint8(1), np.where(values == 0, np.uint8(0), np.uint8(_BAD)))
    codes[empty] = _EMPTY
    return codes.astype(np.uint8)


def _number_in_file(row: int, passed_over: Sequence[int]) -> int:
    for other in passed_over:
        if other <= row:
            row += 1
    return row


def _text_codes(column: pa.Array) -> NDArray[np.uint8]:
    texts = pc.cast(column.dictionary, pa.large_string()).to_pylist()
    codes = [_EMPTY if text is None else _CODES.get(text.strip().lower(), _BAD) for text in texts]
    table = np.array([*codes, _EMPTY], dtype=np.uint8)
    indices = np.asarray(pc.fill_null(pc.cast(column.indices, pa.int64()), len(codes)), dtype=np.int64)
    return np.take(table, indices)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _text(cell: object) -> str | None:
    text = "" if cell is None else str(cell).strip()
    return text or None


def _number(text: str | None) -> float | str | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
