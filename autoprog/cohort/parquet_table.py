"""Read a client's Parquet file as a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from autoprog.cohort.messages import column_pointer
from autoprog.cohort.table import Column, Parsed, ReadLimits, Table, name_faults, too_many_columns, usable_columns
from autoprog.errors import Fault, TooLargeError, UnsupportedMediaError


def parse_parquet(data: bytes, limits: ReadLimits) -> Parsed:
    """Read a Parquet file; raises TooLargeError beyond a limit and UnsupportedMediaError if it is damaged."""
    try:
        return _parse(data, limits)
    except (pa.ArrowException, OSError) as error:
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
