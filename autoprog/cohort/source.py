"""Read a plain or gzipped file of any format, detected by its content."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import replace
from pathlib import Path

from autoprog.cohort.csv_table import parse_csv
from autoprog.cohort.data_file import read_data_file, recognise
from autoprog.cohort.row_names import drop_row_names
from autoprog.cohort.table import Parsed, ReadLimits, parse_parquet
from autoprog.cohort.text_encoding import UTF_16, to_utf_8
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old or a password-protected Excel workbook; save it as .xlsx without a password, or",
    b"%PDF": "a PDF;",
    b"\x89PNG": "a picture;",
    b"\xff\xd8\xff": "a picture;",
    b"ARROW1": "an Arrow file;",
    b"BZh91AY": "a bzip2 file;",
    b"\xfd7zXZ": "an xz file;",
    b"\x28\xb5\x2f\xfd": "a Zstandard file;",
    b"\x89HDF": "an HDF5 file;",
}
_ACCEPTED = "send CSV, gzipped CSV, Parquet, Excel (.xlsx), Stata (.dta), SPSS (.sav) or SAS (.sas7bdat)"
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_SAMPLE_BYTES = 65_536
_MAX_CONTROLS = 0.1


def read_table(source: Path | bytes, limits: ReadLimits, sheet: str | None = None) -> Parsed:
    """Read a file, plain or gzipped, as a table of texts; decompression stops at the limit."""
    data = _read_bytes(source, limits)
    if data.startswith(_GZIP):
        data = _decompressed(data, limits)
    kind = recognise(data)
    if kind is not None:
        return drop_row_names(read_data_file(data, kind, limits, sheet))
    parsed = _read_plain(data, limits)
    if sheet is None:
        return drop_row_names(parsed)
    return replace(parsed, faults=(*parsed.faults, Fault("/spec/sheet", "only an Excel workbook has sheets")))


def _read_plain(data: bytes, limits: ReadLimits) -> Parsed:
    if data.startswith(_PARQUET):
        return parse_parquet(data, limits)
    if not data.startswith(UTF_16):  # every second byte of which is a control
        _refuse_other_content(data)
    text, warnings = to_utf_8(data)
    parsed = parse_csv(text, limits)
    return replace(parsed, warnings=(*warnings, *parsed.warnings))


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
    for magic, what in _OTHERS.items():
        if data.startswith(magic):
            msg = f"the file is {what} {_ACCEPTED}"
            raise UnsupportedMediaError(msg)
    sample = data[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if data.startswith(_GZIP) or controls > _MAX_CONTROLS * len(sample):
        msg = f"the file is no text; {_ACCEPTED}"
        raise UnsupportedMediaError(msg)
