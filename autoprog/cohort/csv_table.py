"""Read a CSV file as a table: encoding, delimiter, header and rows, with every structural fault found."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

import numpy as np
import pyarrow as pa

from autoprog.cohort.messages import TITLE_ADVICE, count_text, rows_text
from autoprog.cohort.table import Column, Parsed, ReadLimits, Table, name_faults, usable_columns
from autoprog.errors import Fault, TooLargeError

DELIMITERS = (",", ";", "\t", "|")

_SAMPLE_CHARACTERS = 65_536
_SAMPLE_ROWS = 100
_MAX_CELL_CHARACTERS = 131_072
_CHUNK_CELLS = 500_000  # Python strings held at once before they go into Arrow's buffers


def parse_csv(data: bytes, limits: ReadLimits) -> Parsed:
    """Read a CSV file in UTF-8; raises TooLargeError beyond the limits of lines or cells."""
    # Count lines before parsing: a small compressed file can hold a hundred million of them.
    lines = data.count(b"\n")
    if lines > limits.rows:
        raise TooLargeError(f"the file has {lines:,} lines; at most {limits.rows:,} are read")
    text, faults = _decode(data)
    if not text.strip():
        return Parsed((), None, (*faults, Fault("/file", "the file is empty")))
    csv.field_size_limit(_MAX_CELL_CHARACTERS)  # global to the process: SciPy's ARFF reader removes it
    delimiter = sniff_delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next((row for row in reader if not _is_blank(row)), None)
    except csv.Error as error:
        return Parsed((), None, (*faults, _quoting_fault(error, 1)))
    if header is None:
        return Parsed((), None, (*faults, Fault("/file", "the file is empty")))
    names = [name.strip() for name in header]
    faults += name_faults(names, limits)
    if len(names) > limits.columns:
        return Parsed(tuple(names), None, tuple(faults))
    rows = _read_rows(reader, names, limits)
    faults += rows.faults
    table = _table(rows, delimiter) if rows.can_be_judged else None
    return Parsed(tuple(names), table, tuple(faults))


def sniff_delimiter(text: str) -> str:
    """Guess a CSV text's delimiter from its beginning; a comma where none splits the header."""
    # The delimiter with which most rows are as wide as the header wins; among equals, the one with the most cells.
    sample = text[:_SAMPLE_CHARACTERS]
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        try:
            rows = islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), _SAMPLE_ROWS)
            widths = [len(row) for row in rows if row]
        except csv.Error:
            continue
        if len(sample) < len(text) and 1 < len(widths) < _SAMPLE_ROWS:
            widths.pop()  # the end of the sample may have cut this row
        if not widths or widths[0] < 2:
            continue
        agreement = float(np.mean([w == widths[0] for w in widths[1:]])) if len(widths) > 1 else 1.0
        best, best_score = max((best, best_score), (delimiter, (agreement, widths[0])), key=lambda pair: pair[1])
    return best


class _Reader(Protocol):
    """Type of `csv.reader`'s result; the standard library has no public name for it."""

    @property
    def line_num(self) -> int: ...

    def __iter__(self) -> Iterator[list[str]]: ...


@dataclass
class _Rows:
    """Rows below the header; `faults` is filled once all are read."""

    columns: dict[str, list[pa.Array]]
    lines: list[int] = field(default_factory=list)
    ragged: list[tuple[int, int]] = field(default_factory=list)  # line and number of cells
    is_complete: bool = True
    faults: list[Fault] = field(default_factory=list)

    @property
    def can_be_judged(self) -> bool:
        """True if the sound rows represent the file."""
        return self.is_complete and bool(self.columns) and len(self.lines) > len(self.ragged)


def _read_rows(reader: _Reader, names: list[str], limits: ReadLimits) -> _Rows:
    usable = usable_columns(names)
    rows = _Rows({name: [] for name in usable})
    chunk: list[list[str]] = []
    chunk_rows = max(1, _CHUNK_CELLS // len(names))

    def flush() -> None:
        cells = list(zip(*chunk, strict=True))
        for name, i in usable.items():
            rows.columns[name].append(pa.array(cells[i] if chunk else [], pa.large_string()))
        chunk.clear()

    for line, row in _numbered(reader, rows):
        if len(row) != len(names):
            rows.ragged.append((line, len(row)))
            continue
        rows.lines.append(line)
        chunk.append(row)
        if len(chunk) == chunk_rows:
            flush()
        if len(rows.lines) * len(names) > limits.cells:
            msg = f"the file has more than {limits.cells:,} cells (rows times columns)"
            raise TooLargeError(msg)
    flush()
    if rows.ragged:
        rows.faults.append(_ragged_fault(rows, len(names)))
    elif rows.is_complete and not rows.lines:
        rows.faults.append(Fault("/file", "the file has a header but no rows"))
    return rows


def _numbered(reader: _Reader, rows: _Rows) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the line on which each starts; broken quoting ends them and becomes a fault."""
    start = reader.line_num + 1
    try:
        for row in reader:
            if row and (len(rows.columns) == 1 or not _is_blank(row)):
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        rows.is_complete = False
        rows.faults.append(_quoting_fault(error, start))


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _quoting_fault(error: csv.Error, line: int) -> Fault:
    reason = str(error)
    if "unexpected end" in reason:
        detail = f"a quoted cell that starts in row {line} is never closed"
    elif "field larger" in reason:
        detail = f"a cell in row {line} has more than {_MAX_CELL_CHARACTERS:,} characters; is a quote not closed?"
    else:
        detail = f"row {line} has text after a closing quote; a quote inside a quoted cell is written twice"
    return Fault("/file", f"{detail}; the rows after it were not read")


def _ragged_fault(read: _Rows, width: int) -> Fault:
    ragged = read.ragged
    widths = sorted({cells for _, cells in ragged})
    some = " or ".join(str(w) for w in widths) if len(widths) <= 3 else f"{widths[0]} to {widths[-1]}"
    found = count_text(widths[0], "cell") if len(widths) == 1 else f"{some} cells"
    verb = "has" if len(ragged) == 1 else "have"
    rows, places = count_text(len(ragged), "row"), rows_text([line for line, _ in ragged])
    advice = TITLE_ADVICE if width < widths[0] and len(ragged) > len(read.lines) else ""
    return Fault("/file", f"{rows} {verb} {found} where the header has {width}: {places}{advice}")


def _table(rows: _Rows, delimiter: str) -> Table:
    columns = {name: Column.of(name, pa.chunked_array(parts).combine_chunks()) for name, parts in rows.columns.items()}
    return Table(columns, np.array(rows.lines, dtype=np.int64), decimal_comma=delimiter != ",")


def _decode(data: bytes) -> tuple[str, list[Fault]]:
    faults: list[Fault] = []
    nul = data.find(b"\0")
    if nul >= 0:
        count = count_text(data.count(b"\0"), "NUL byte")
        faults.append(Fault("/file", f"the file holds {count}, the first in row {_line_at(data, nul)}; text has none"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # utf-8-sig counts from after the byte order mark
        offset = error.start + (len(data) - len(error.object))
        where = f"byte 0x{data[offset]:02x} at offset {offset:,} (row {_line_at(data, offset)})"
        faults.append(Fault("/file", f"the file is not UTF-8: {where}; save it as UTF-8"))
        text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\0", ""), faults


def _line_at(data: bytes, offset: int) -> int:
    before = data[:offset]
    return 1 + before.count(b"\r") + before.count(b"\n") - before.count(b"\r\n")
