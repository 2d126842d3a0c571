"""Read a file with a matrix of responses: CSV, Parquet or packed bits, recognised by its content."""

from __future__ import annotations

import csv
import io
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from tokenize import TokenError
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from api.diagnosis.matrix_columns import Matrix, MatrixBuilder
from autoprog.cohort.csv_table import sniff_delimiter
from autoprog.cohort.messages import absent_columns, capped, column_pointer, count_text, rows_text
from autoprog.diagnosis import MAX_CELLS, MAX_QUERIES, Responses
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError

_GZIP, _PARQUET, _NPY = b"\x1f\x8b", b"PAR1", b"\x93NUMPY"
_BLOCK_BYTES = 8 << 20
_BATCH_CELLS = 4 << 20
_HEADER_CHARACTERS = 65_536
_ROLES = ("object", "group", "prior")
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# The header is a literal of Python, and numpy lets some errors of Python's own parser through.
_DAMAGED = (ValueError, TypeError, LookupError, EOFError, OSError, SyntaxError, TokenError, RecursionError, MemoryError)
_ACCEPTED = "send CSV in UTF-8 or Parquet, or packed bits as `numpy.save` writes them; gzipped or not"


@dataclass(frozen=True)
class MatrixLayout:
    """The roles of the file's columns."""

    # Pairs of a role (`object`, `group`, `prior`) and its column. Other roles fall to columns of their own name.
    columns: Sequence[tuple[str, str]] = ()
    queries: Sequence[str] | None = None  # in order; None for all columns without a role


def read_matrix(content: bytes, layout: MatrixLayout, decompressed_bytes: int, faults: list[Fault]) -> Matrix:
    """Read a file and collect its faults; raises TooLargeError, UnsupportedMediaError and InvalidInputError."""
    if content.startswith(_GZIP):
        content = _decompressed(content, decompressed_bytes)
    if content.startswith(_PARQUET):
        return _read_parquet(content, layout, decompressed_bytes, faults)
    if content.startswith(_NPY):
        return _read_bits(content, layout, faults)
    return _read_csv(content, layout, faults)


def _decompressed(content: bytes, limit: int) -> bytes:
    reader = zlib.decompressobj(wbits=31)
    try:
        plain = reader.decompress(content, limit + 1)
    except zlib.error:
        raise InvalidInputError([Fault("/file", "the gzip data is damaged")]) from None
    if len(plain) > limit:
        raise TooLargeError(f"the file has more than {limit:,} bytes once decompressed")
    if not reader.eof:
        raise InvalidInputError([Fault("/file", "the gzip data ends early")])
    return plain


def _read_bits(content: bytes, layout: MatrixLayout, faults: list[Fault]) -> Matrix:
    array = _read_array(content)
    if array.dtype == np.bool_:
        return Matrix(Responses.pack(array))
    if layout.queries is None:
        detail = "packed bits do not tell how many queries they hold: name the queries, in their order"
        raise InvalidInputError([Fault("/spec/queries", detail)])
    n_queries = len(layout.queries)
    if array.shape[1] != (width := -(-n_queries // 8)):
        detail = (
            f"a row has {count_text(array.shape[1], 'byte')}; {count_text(n_queries, 'query', 'queries')} take {width}"
        )
        raise InvalidInputError([Fault("/file", detail)])
    beyond = np.uint8((1 << (-n_queries % 8)) - 1)
    if array.size and (array[:, -1] & beyond).any():
        faults.append(Fault("/file", f"bits beyond query {n_queries} are set; were the rows packed by axis=1?"))
    return Matrix(Responses(np.ascontiguousarray(array), n_queries))


def _read_array(content: bytes) -> NDArray[Any]:
    """Read a matrix of bytes or booleans; what the header claims is checked before memory is taken for it."""
    file = io.BytesIO(content)
    try:
        shape, is_fortran, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
    except _DAMAGED as error:
        raise UnsupportedMediaError("the file begins as an array of numpy but is damaged") from error
    if dtype.hasobject:
        raise UnsupportedMediaError("the array holds objects of Python, which are not read")
    if len(shape) != 2 or dtype not in (np.dtype(np.bool_), np.dtype(np.uint8)):
        detail = (
            f"the array is of {dtype.name[:60]} with {count_text(len(shape), 'dimension')}; save "
            "numpy.packbits(B, axis=1), or B itself as booleans"
        )
        raise InvalidInputError([Fault("/file", detail)])
    if min(shape) < 0 or math.prod(shape) > len(content) - file.tell():
        raise UnsupportedMediaError("the file begins as an array of numpy but is damaged or ends early")
    flat = np.frombuffer(content, dtype, math.prod(shape), file.tell())
    return flat.reshape(shape, order="F" if is_fortran else "C")


def _read_csv(content: bytes, layout: MatrixLayout, faults: list[Fault]) -> Matrix:
    names, delimiter = _header(content)
    builder = _builder(names, layout, 2, faults)
    columns = [f"c{i}" for i in range(len(names))]
    texts = pa.dictionary(pa.int32(), pa.string())
    ragged: list[tuple[int, int]] = []

    def on_ragged(row: pacsv.InvalidRow) -> str:
        ragged.append((row.number or 0, row.actual_columns))
        return "skip"

    try:
        reader = pacsv.open_csv(
            # Arrow does not skip a header that nothing ends.
            pa.BufferReader(content if b"\n" in content else content + b"\n"),
            pacsv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES, skip_rows=1, column_names=columns),
            pacsv.ParseOptions(delimiter=delimiter, invalid_row_handler=on_ragged),
            pacsv.ConvertOptions(
                column_types=dict.fromkeys(columns, texts), strings_can_be_null=True, null_values=[""]
            ),
        )
        for batch in reader:
            builder.add(batch)
    except pa.ArrowInvalid as error:
        faults.append(Fault("/file", f"the file cannot be read as CSV in UTF-8: {_first_sentence(error)}"))
    faults += _ragged_faults(ragged, len(names))
    return builder.finish(faults, [row for row, _ in ragged])


def _header(content: bytes) -> tuple[list[str], str]:
    try:
        sample = content[: content.find(b"\n") + 1 + _HEADER_CHARACTERS] if b"\n" in content else content
        text = sample.decode("utf-8-sig", errors="strict" if len(sample) == len(content) else "ignore")
    except UnicodeDecodeError:
        raise UnsupportedMediaError(f"the file is no text in UTF-8; {_ACCEPTED}") from None
    if "\0" in text:
        raise UnsupportedMediaError(f"the file is no text; {_ACCEPTED}")
    if not text.strip():
        raise InvalidInputError([Fault("/file", "the file is empty")])
    delimiter = sniff_delimiter(text)
    try:
        names = next(csv.reader(io.StringIO(text.split("\n", 1)[0]), delimiter=delimiter), [])
    except csv.Error as error:
        raise InvalidInputError([Fault("/file", f"the header cannot be read: {error}")]) from None
    if not names:
        raise InvalidInputError([Fault("/file", "the first line is empty; it must name the columns")])
    return [name.strip() for name in names], delimiter


def _first_sentence(error: Exception) -> str:
    # The rest may quote a row.
    return str(error).split(": Row", 1)[0].split("\n", 1)[0][:200]


def _ragged_faults(ragged: list[tuple[int, int]], width: int) -> list[Fault]:
    if not ragged:
        return []
    verb = "has" if len(ragged) == 1 else "have"
    rows = rows_text([row for row, _ in ragged])
    return [Fault("/file", f"{count_text(len(ragged), 'row')} {verb} not the header's {width:,} cells: {rows}")]


def _read_parquet(content: bytes, layout: MatrixLayout, decompressed_bytes: int, faults: list[Fault]) -> Matrix:
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            names = [name.strip() for name in file.schema_arrow.names]
            metadata = file.metadata
            n_bytes = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            # Before anything is read; the builder counts the cells that are responses.
            if n_bytes > decompressed_bytes or metadata.num_rows * max(len(names) - len(_ROLES), 0) > MAX_CELLS:
                raise TooLargeError(f"the file has more than {MAX_CELLS:,} cells or {decompressed_bytes:,} bytes")
            builder = _builder(names, layout, 1, faults)
            for batch in _batches(file, len(names)):
                builder.add(batch)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # of a column's name
        msg = "the file begins as Parquet but is damaged or uses what cannot be read"
        raise UnsupportedMediaError(msg) from error
    return builder.finish(faults)


def _batches(file: pq.ParquetFile, n_columns: int) -> Iterator[pa.RecordBatch]:
    yield from file.iter_batches(batch_size=max(1, _BATCH_CELLS // max(n_columns, 1)))


def _builder(names: list[str], layout: MatrixLayout, first_row: int, faults: list[Fault]) -> MatrixBuilder:
    """Return the builder of the matrix; raises InvalidInputError if the columns are unclear."""
    wrong = [Fault(column_pointer(name), "two columns have this name") for name in _doubled(names)]
    wrong += [Fault("/file", "a column has no name") for name in names if not name][:1]
    place = {name: i for i, name in enumerate(names)}
    said = dict(layout.columns)
    wrong += absent_columns("/spec", [(f"/spec/{role}_column", name) for role, name in said.items()], names)
    roles = {role: place[name] for role in _ROLES if (name := said.get(role, role)) in place}
    if layout.queries is None:
        queries = [i for i in range(len(names)) if i not in roles.values()]
    else:
        asked = [(f"/spec/queries/{i}/name", name) for i, name in enumerate(layout.queries)]
        wrong += absent_columns("/spec/queries", asked, names)
        queries = [place[name] for name in layout.queries if name in place]
    if len(queries) > MAX_QUERIES:
        wrong.append(Fault("/file", f"{len(queries):,} queries, at most {MAX_QUERIES:,} are allowed"))
    if wrong:
        raise InvalidInputError(capped([*faults, *wrong], "/file"))
    return MatrixBuilder(names, roles, queries, first_row)


def _doubled(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if name and times > 1]
