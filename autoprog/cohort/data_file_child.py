"""The child process of `data_file`: reads one file, writes its cells as texts, and says what is wrong with it."""

from __future__ import annotations

import json
import math
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from autoprog.cohort.canonical import canonical_text, short
from autoprog.cohort.data_file import CPU_S
from autoprog.cohort.messages import TITLE_ADVICE, count_text, listed, near_names, rows_text
from autoprog.cohort.table import ReadLimits, too_many_columns

if TYPE_CHECKING:
    from openpyxl import Workbook

_MEMORY_BYTES = 4 * 2**30
_MAX_PARTS = 5_000
_ROWS_AT_ONCE = 10_000
_EXCEL_ERRORS = frozenset({"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"})

Answer = dict[str, Any]


class RefusedError(Exception):
    """The file is refused: `key` is the kind of error."""

    def __init__(self, key: str, detail: str) -> None:
        super().__init__(detail)
        self.answer: Answer = {key: detail}


def main(folder: Path, asked: Mapping[str, Any]) -> None:
    """Read `folder/file`, and write `answer.json` and `table.arrow` beside it."""
    _limit_resources()
    limits = ReadLimits(**asked["limits"])
    try:
        answer, columns = (
            read_workbook(folder / "file", limits, asked["sheet"])
            if asked["kind"] == "xlsx"
            else read_statistics_file(folder / "file", asked["kind"], limits, asked["sheet"])
        )
        if columns is not None:
            table = pa.table({str(i): column for i, column in enumerate(columns)})
            with pa.OSFile(str(folder / "table.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    except RefusedError as error:
        answer = error.answer
    except MemoryError:
        answer = {"too_large": "the file takes too much memory to read; save it as CSV in UTF-8 or Parquet"}
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


def _limit_resources() -> None:
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _answer(names: Sequence[str], faults: Sequence[tuple[str, str]] = (), **more: object) -> Answer:
    empty = {"warnings": [], "lines": [], "sheets": [], "has_table": False}
    return {"names": list(names), "faults": list(faults), **empty} | more


# Workbooks


def read_workbook(path: Path, limits: ReadLimits, sheet: str | None) -> tuple[Answer, list[pa.Array] | None]:
    """Read one sheet of an Excel workbook; its first row that is not blank is the header."""
    import openpyxl  # noqa: PLC0415

    _check_archive(path, limits)
    with path.open("rb") as file:  # a path would have to end in .xlsx
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        return _read_sheet(workbook, limits, sheet)


def _read_sheet(workbook: Workbook, limits: ReadLimits, sheet: str | None) -> tuple[Answer, list[pa.Array] | None]:
    sheets = [worksheet.title for worksheet in workbook.worksheets]
    if not sheets:
        return _answer([], [("/file", "the workbook has no sheet with cells")]), None
    if sheet is not None and sheet not in sheets:
        known = f"it has {listed(map(short, sheets), len(sheets))}{near_names(sheet, sheets)}"
        fault = ("/spec/sheet", f"the workbook has no sheet {short(sheet, 60)}; {known}")
        return _answer([], [fault], sheets=sheets), None
    chosen = workbook[sheet or sheets[0]]
    warnings: list[str] = []
    others = [name for name in sheets if name != chosen.title]
    if sheet is None and others:
        warnings.append(
            f"the workbook has {count_text(len(sheets), 'sheet')}: the first, {short(sheets[0], 60)}, was read; "
            f"the others are {listed((short(name, 60) for name in others), len(others))}: choose one with `sheet`"
        )
    chosen.reset_dimensions()  # what the file claims
    rows = _Rows(limits)
    for number, row in enumerate(chosen.iter_rows(values_only=True), 1):
        rows.add(number, row)
    answer, columns = rows.answer(warnings)
    return answer | {"sheets": sheets}, columns


class _Rows:
    """The rows of a sheet as columns of texts."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._header: list[str] | None = None
        self._lines: list[int] = []
        self._chunk: list[list[str]] = []
        self._parts: list[list[pa.Array]] = []
        self._wide: list[int] = []
        self._errors: Counter[str] = Counter()

    def add(self, number: int, row: Sequence[object]) -> None:
        if number > self._limits.rows:
            raise RefusedError("too_large", f"the sheet has more rows than {self._limits.rows:,}")
        width = next((i for i in range(len(row), 0, -1) if row[i - 1] is not None), 0)
        if not width:
            return
        if self._header is None:
            self._header = [cell_text(cell).strip() for cell in row[:width]]
            self._parts = [[] for _ in self._header]
            return
        n = len(self._header)
        if width > n:
            self._wide.append(number)
        texts = [cell_text(cell) for cell in row[:n]]
        self._errors.update(text for text in texts if text in _EXCEL_ERRORS)
        self._chunk.append(["" if text in _EXCEL_ERRORS else text for text in texts] + [""] * (n - len(texts)))
        self._lines.append(number)
        if len(self._lines) * n > self._limits.cells:
            raise RefusedError("too_large", f"the sheet has more than {self._limits.cells:,} cells")
        if len(self._chunk) == _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        for part, cells in zip(self._parts, zip(*self._chunk, strict=True), strict=False):
            part.append(pa.array(cells, pa.large_string()))
        self._chunk.clear()

    def answer(self, warnings: list[str]) -> tuple[Answer, list[pa.Array] | None]:
        self._flush()
        if self._header is None:
            return _answer([], [("/file", "the sheet is empty")]), None
        if len(self._header) > self._limits.columns:
            return _answer(self._header, [("/file", too_many_columns(len(self._header), self._limits).detail)]), None
        if not self._lines:
            return _answer(self._header, [("/file", "the sheet has a header but no rows")]), None
        if self._errors:
            kinds = listed((f"{text} ({n:,})" for text, n in self._errors.items()), len(self._errors))
            warnings.append(f"errors of formulas were read as missing: {kinds}")
        faults = []
        if self._wide:
            rows, places = count_text(len(self._wide), "row has cells", "rows have cells"), rows_text(self._wide)
            advice = TITLE_ADVICE if 2 * len(self._wide) > len(self._lines) else ""
            faults.append(("/file", f"{rows} to the right of the header: {places}{advice}"))
        columns = [pa.chunked_array(part).combine_chunks() for part in self._parts]
        kept = [i for i, name in enumerate(self._header) if name or any(columns[i].unique().to_pylist())]
        names = [self._header[i] for i in kept]
        answer = _answer(names, faults, warnings=warnings, lines=self._lines, has_table=True)
        return answer, [columns[i] for i in kept]


def cell_text(cell: object) -> str:
    """Write a cell of a workbook or of a statistics package as a CSV file would."""
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return canonical_text(cell.total_seconds() / 86_400)
    if isinstance(cell, float | np.floating) and math.isnan(cell):
        return ""
    return canonical_text(cell) if isinstance(cell, bool | int | float | np.number | np.bool_) else str(cell)


def _check_archive(path: Path, limits: ReadLimits) -> None:
    """Refuse archives that are no workbook, unpack to too much or declare XML entities."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        if "xl/workbook.xml" not in {part.filename for part in parts}:
            raise RefusedError(
                "unsupported", "the file is a ZIP archive but no Excel workbook (.xlsx); unpack it first"
            )
        n_bytes = sum(part.file_size for part in parts)  # no part is unpacked beyond its declared size
        if n_bytes > limits.decompressed_bytes or len(parts) > _MAX_PARTS:
            most = f"at most {limits.decompressed_bytes:,} bytes in {_MAX_PARTS:,} parts are read"
            raise RefusedError("too_large", f"the workbook has {n_bytes:,} bytes in {len(parts):,} parts; {most}")
        for part in parts:
            if part.filename.endswith((".xml", ".rels", ".vml")):
                with archive.open(part) as content:
                    _refuse_declarations(iter(lambda: content.read(65_536), b""))


class _RootReachedError(Exception):
    """The document's root begins: no document type can follow."""


def _refuse_declarations(chunks: Iterator[bytes]) -> None:
    def refuse(*_: object) -> None:
        raise RefusedError("unsupported", "the workbook declares XML entities, which no spreadsheet program writes")

    def stop(*_: object) -> None:
        raise _RootReachedError

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)  # noqa: FBT003
    except _RootReachedError:
        return


# Files of statistics packages


def read_statistics_file(
    path: Path, kind: str, limits: ReadLimits, sheet: str | None
) -> tuple[Answer, list[pa.Array] | None]:
    """Read a file of Stata, SPSS or SAS: labelled values by their labels, values declared missing as missing."""
    import pyreadstat  # noqa: PLC0415

    if sheet is not None:
        return _answer([], [("/spec/sheet", "only an Excel workbook has sheets")]), None
    read: Callable[..., tuple[dict[str, Any], Any]] = getattr(pyreadstat, f"read_{kind}")
    _, about = read(str(path), metadataonly=True)
    n_columns, n_rows = len(about.column_names), about.number_rows or 0
    if n_columns > limits.columns:
        return _answer([], [("/file", too_many_columns(n_columns, limits).detail)]), None
    if n_rows > limits.rows or n_rows * n_columns > limits.cells:
        most = f"at most {limits.rows:,} rows and {limits.cells:,} cells are read"
        raise RefusedError("too_large", f"the file has {n_rows:,} rows of {n_columns:,} columns; {most}")
    content, about = read(str(path), output_format="dict", row_limit=limits.rows)
    names = list(about.column_names)
    warnings: list[str] = []
    columns = []
    for name in names:
        is_single = about.readstat_variable_types.get(name) == "float"
        labels = about.variable_value_labels.get(name) or {}
        columns.append(_texts(name, content[name], labels, warnings, is_single=is_single))
    if not columns or not len(columns[0]):
        return _answer(names, [("/file", "the file has columns but no rows" if names else "the file is empty")]), None
    return _answer(names, warnings=warnings, has_table=True), columns


def _texts(
    name: str, values: Iterable[Any], labels: Mapping[Any, str], warnings: list[str], *, is_single: bool
) -> pa.Array:
    """Write a column as texts; labels replace values if each value has its own."""
    texts: dict[object, str] = {}
    cells = list(values)
    for value in cells:
        if value not in texts:
            # the shortest text of a number in single precision: 0.1, not 0.10000000149011612
            texts[value] = cell_text(float(str(np.float32(value))) if is_single and value is not None else value)
    by_text = {cell_text(value): label for value, label in labels.items()}
    observed = {text for text in texts.values() if text}
    unlabelled = observed - by_text.keys()
    if observed and not unlabelled and len({by_text[text] for text in observed}) == len(observed):
        texts = {value: by_text.get(text, "") for value, text in texts.items()}
    elif labels and observed & by_text.keys():
        why = f"{count_text(len(unlabelled), 'value has', 'values have')} no label" if unlabelled else "labels repeat"
        warnings.append(f"column {short(name, 60)}: {why}, so its codes were kept and its labels were not used")
    return pa.array([texts[value] for value in cells], pa.large_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
