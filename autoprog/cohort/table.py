"""A file's cells before interpretation: each column as its distinct texts and a code per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.cohort.messages import TITLE_ADVICE, column_pointer, count_text, listed
from autoprog.cohort.spec_values import HIDDEN, MAX_COLUMNS, MAX_NAME, is_hidden
from autoprog.errors import Fault, TooLargeError, UnsupportedMediaError


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Maximum size of a file.

    Attributes
    ----------
    decompressed_bytes : int
        Bytes after decompression.
    cells : int
        Rows times columns.
    rows : int
        Lines of a CSV file, rows of a Parquet file.
    columns : int
        Columns.
    """

    decompressed_bytes: int = 512 * 1024 * 1024
    cells: int = 50_000_000
    rows: int = 5_000_000
    columns: int = MAX_COLUMNS


@dataclass(frozen=True, eq=False)
class Column:
    """One column as distinct texts and codes."""

    name: str  # stripped
    texts: pa.Array  # distinct and stripped; an empty text is an empty cell
    codes: NDArray[np.int64]  # index in `texts`, shape = (n_rows,)

    @classmethod
    def of(cls, name: str, cells: pa.Array) -> Column:
        """Encode cells (null is empty) as distinct texts; raises an Arrow error if their type does not cast to text."""
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        texts = pc.fill_null(pc.cast(cells.dictionary, pa.large_string()), "")
        texts = pa.concat_arrays([pc.utf8_trim_whitespace(texts), pa.array([""], pa.large_string())])
        codes = pc.fill_null(pc.cast(cells.indices, pa.int64()), len(texts) - 1)
        return cls(name, texts, np.asarray(codes)).compact()

    def compact(self) -> Column:
        """Drop the texts that no row has."""
        used = np.bincount(self.codes, minlength=len(self.texts)) > 0
        if used.all():
            return self
        new_codes = np.cumsum(used) - 1
        return Column(self.name, self.texts.filter(pa.array(used)), new_codes[self.codes])

    def take(self, rows: NDArray[np.intp]) -> Column:
        """Select rows, in this order."""
        return Column(self.name, self.texts, self.codes[rows]).compact()


@dataclass(frozen=True, eq=False)
class Table:
    """The readable rows of a file."""

    columns: Mapping[str, Column]
    # line where each row of a CSV file starts (the header is line 1); row number from 1 in Parquet
    lines: NDArray[np.int64]
    decimal_comma: bool = False  # whether commas can be decimal, as they do not separate cells

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Select rows, in this order; the table itself if nothing changes."""
        if np.array_equal(rows, np.arange(self.n_rows)):
            return self
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Table(columns, self.lines[rows], self.decimal_comma)


@dataclass(frozen=True, eq=False)
class Parsed:
    """The content of a file and its structural faults."""

    names: tuple[str, ...]  # column names; empty without a readable header
    table: Table | None  # sound rows of uniquely named columns; None if too few to judge
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...] = ()  # of what was converted or left out
    sheets: tuple[str, ...] = ()  # of a workbook


def name_faults(names: Sequence[str], limits: ReadLimits) -> list[Fault]:
    """List a header's faults: too many columns; names that are empty, too long, repeated or have hidden characters."""
    faults: list[Fault] = []
    if len(names) > limits.columns:
        faults.append(too_many_columns(len(names), limits))
    nameless = [i for i, name in enumerate(names, 1) if not name]
    if nameless:
        faults.append(nameless_fault(nameless, len(names)))
    long = [i for i, name in enumerate(names, 1) if len(name) > MAX_NAME]
    if long:
        which = listed((str(i) for i in long), len(long))
        faults.append(Fault("/file", f"columns with a name of more than {MAX_NAME} characters: number {which}"))
    hidden = [i for i, name in enumerate(names, 1) if is_hidden(name)]
    if hidden:
        which = listed((str(i) for i in hidden), len(hidden))
        faults.append(Fault("/file", f"a column's name {HIDDEN}: number {which}"))
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names, 1):
        places.setdefault(name, []).append(i)
    repeated = {name: at for name, at in places.items() if name and len(at) > 1}
    if repeated:
        which = listed((f"{short(n, 60)} ({len(at)} times)" for n, at in repeated.items()), len(repeated))
        faults.append(Fault("/file", f"column names must differ; repeated are {which}"))
    return faults


def nameless_fault(numbers: Sequence[int], n_columns: int) -> Fault:
    """Fault of columns without a name, as below a title."""
    which = listed(map(str, numbers), len(numbers))
    advice = TITLE_ADVICE if 2 * len(numbers) > n_columns else ""
    return Fault("/file", f"{count_text(len(numbers), 'column')} without a name: number {which}{advice}")


def too_many_columns(n: int, limits: ReadLimits) -> Fault:
    """Fault of a file with too many columns."""
    return Fault("/file", f"the file has {n:,} columns; at most {limits.columns:,} are read")


def usable_columns(names: Sequence[str]) -> dict[str, int]:
    """Index of each usable name's first column; empty and long names are left out."""
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name and len(name) <= MAX_NAME:
            first.setdefault(name, i)
    return first


def parse_parquet(data: bytes, limits: ReadLimits) -> Parsed:
    """Read a Parquet file; raises TooLargeError beyond a limit and UnsupportedMediaError if it is damaged."""
    try:
        return _parse(data, limits)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # of a column's name
        msg = "the file begins as Parquet but is damaged or uses what cannot be read"
        raise UnsupportedMediaError(msg) from error


def _parse(data: bytes, limits: ReadLimits) -> Parsed:
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        metadata = file.metadata
        if metadata.num_columns > limits.columns:  # everything else takes time for each column
            return Parsed((), None, (too_many_columns(metadata.num_columns, limits),))
        schema = file.schema_arrow
        n_rows = metadata.num_rows
        n_bytes = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    names = [name.strip() for name in schema.names]
    faults = name_faults(names, limits)
    if n_rows > limits.rows:
        msg = f"the file has {n_rows:,} rows; at most {limits.rows:,} are read"
        raise TooLargeError(msg)
    if n_rows * len(names) > limits.cells:
        msg = f"the file has {n_rows:,} rows of {len(names):,} columns; at most {limits.cells:,} cells are read"
        raise TooLargeError(msg)
    if n_bytes > limits.decompressed_bytes:
        msg = f"the file has {n_bytes:,} bytes uncompressed; at most {limits.decompressed_bytes:,} are read"
        raise TooLargeError(msg)
    if n_rows == 0:
        return Parsed(tuple(names), None, (*faults, Fault("/file", "the file has columns but no rows")))
    columns, column_faults = _columns(data, names, schema)
    table = Table(columns, np.arange(1, n_rows + 1))
    return Parsed(tuple(names), table, (*faults, *column_faults))


def _columns(data: bytes, names: list[str], schema: pa.Schema) -> tuple[dict[str, Column], list[Fault]]:
    # Keep texts in dictionaries: a long text that a file repeats a million times is then held once.
    texts = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    columns: dict[str, Column] = {}
    faults: list[Fault] = []
    with pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts) as file:
        content = file.read()
    for name, i in usable_columns(names).items():
        try:
            columns[name] = Column.of(name, content.column(i).unify_dictionaries().combine_chunks())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            detail = f"cells of type {schema.field(i).type} cannot be read; give numbers, texts or booleans"
            faults.append(Fault(column_pointer(name), detail))
    return columns, faults
