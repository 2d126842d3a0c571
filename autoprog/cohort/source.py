"""Read a plain or gzipped file, CSV or Parquet, detected by its content."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from autoprog.cohort.csv_table import parse_csv
from autoprog.cohort.table import Parsed, ReadLimits, parse_parquet
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_OTHERS = {
    b"PK\x03\x04": "an Excel workbook or a ZIP archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF",
    b"$FL2": "an SPSS file",
    b"$FL3": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"ARROW1": "an Arrow file",
    b"BZh91AY": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"\x89HDF": "an HDF5 file",
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_SAMPLE_BYTES = 65_536
_MAX_CONTROLS = 0.1


def read_table(source: Path | bytes, limits: ReadLimits) -> Parsed:
    """Read a CSV, gzipped CSV or Parquet file as a table of texts; decompression stops at the limit."""
    data = _read_bytes(source, limits)
    if data.startswith(_GZIP):
        data = _decompressed(data, limits)
    if data.startswith(_PARQUET):
        return parse_parquet(data, limits)
    _refuse_other_content(data)
    return parse_csv(data, limits)


def _read_bytes(source: Path | bytes, limits: ReadLimits) -> bytes:
    if isinstance(source, bytes):
        data = source
    else:
        with source.open("rb") as file:
            data = file.read(limits.decompressed_bytes + 1)
    if len(data) > limits.decompressed_bytes:
        msg = f"the file has more than {limits.decompressed_bytes:,} bytes"
        raise TooLargeError(msg)
    return data


def _decompressed(data: bytes, limits: ReadLimits) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(limits.decompressed_bytes + 1)
    except (OSError, EOFError, zlib.error):
        raise InvalidInputError([Fault("/file", "the gzip data is damaged or ends early")]) from None
    if len(content) > limits.decompressed_bytes:
        msg = f"the file has more than {limits.decompressed_bytes:,} bytes once decompressed"
        raise TooLargeError(msg)
    return content


def _refuse_other_content(data: bytes) -> None:
    if data.startswith(_UTF_16):
        raise InvalidInputError([Fault("/file", "the file is UTF-16 (byte offset 0, row 1); save it as UTF-8")])
    accepted = "send CSV in UTF-8, gzipped CSV or Parquet"
    for magic, what in _OTHERS.items():
        if data.startswith(magic):
            msg = f"the file is {what}; {accepted}"
            raise UnsupportedMediaError(msg)
    sample = data[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if data.startswith(_GZIP) or controls > _MAX_CONTROLS * len(sample):
        msg = f"the file is no text; {accepted}"
        raise UnsupportedMediaError(msg)
