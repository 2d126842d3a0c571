"""Read workbooks and files of Stata, SPSS and SAS in a child process, under limits of time and memory.

Their readers are large, and one is C code. A hostile file may loop, take all memory or crash: only the child ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from autoprog.cohort.table import Column, Parsed, ReadLimits, Table, name_faults, usable_columns
from autoprog.errors import Fault, TooLargeError, UnsupportedMediaError

FileKind = Literal["xlsx", "dta", "sav", "sas7bdat"]

CPU_S = 60
"""Processor seconds that reading one file may take."""

_CLOCK_S = 180.0
_NAMES: dict[FileKind, str] = {
    "xlsx": "an Excel workbook",
    "dta": "a Stata file",
    "sav": "an SPSS file",
    "sas7bdat": "a SAS file",
}
_SAS = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_MAGIC: dict[bytes, FileKind] = {
    b"PK\x03\x04": "xlsx",
    b"<stata_dta>": "dta",
    b"$FL2": "sav",
    b"$FL3": "sav",
    _SAS: "sas7bdat",
}
_OLD_STATA_VERSIONS = frozenset({105, 108, 110, 111, 112, 113, 114, 115})


def recognise(data: bytes) -> FileKind | None:
    """Tell by its first bytes whether a file is one that this module reads."""
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            return kind
    # Before version 117, a Stata file begins with its version, its byte order, 1 and 0.
    is_stata = len(data) > 4 and data[0] in _OLD_STATA_VERSIONS and data[1] in (1, 2) and data[2:4] == b"\x01\x00"
    return "dta" if is_stata else None


def read_data_file(data: bytes, kind: FileKind, limits: ReadLimits, sheet: str | None) -> Parsed:
    """Read the file; raises TooLargeError, and UnsupportedMediaError if it is damaged or its library is missing."""
    library = "openpyxl" if kind == "xlsx" else "pyreadstat"
    if find_spec(library) is None:
        msg = (
            f"the file is {_NAMES[kind]}, which needs the extra `files`: pip install 'autoprog[files]'; "
            "or save it as CSV in UTF-8"
        )
        raise UnsupportedMediaError(msg)
    with tempfile.TemporaryDirectory(prefix="autoprog-read-") as folder:
        (Path(folder) / "file").write_bytes(data)
        _run_child(Path(folder), {"kind": kind, "limits": asdict(limits), "sheet": sheet}, kind)
        answer: dict[str, Any] = json.loads((Path(folder) / "answer.json").read_text(encoding="utf-8"))
        if "too_large" in answer:
            raise TooLargeError(answer["too_large"])
        if "unsupported" in answer:
            raise UnsupportedMediaError(answer["unsupported"])
        faults = tuple(Fault(place, detail) for place, detail in answer["faults"])
        if not answer["has_table"]:
            return Parsed(tuple(answer["names"]), None, faults, sheets=tuple(answer["sheets"]))
        with pa.OSFile(str(Path(folder) / "table.arrow")) as file:
            content = pa.ipc.open_file(file).read_all()
    return _parsed(answer, content, limits, faults)


def _parsed(answer: dict[str, Any], content: pa.Table, limits: ReadLimits, faults: tuple[Fault, ...]) -> Parsed:
    names = tuple(str(name).strip() for name in answer["names"])
    columns = {name: Column.of(name, content.column(i).combine_chunks()) for name, i in usable_columns(names).items()}
    lines = np.array(answer["lines"], dtype=np.int64) if answer["lines"] else np.arange(1, content.num_rows + 1)
    return Parsed(
        names,
        Table(columns, lines),
        (*faults, *name_faults(names, limits)),
        tuple(answer["warnings"]),
        tuple(answer["sheets"]),
    )


def _run_child(folder: Path, asked: dict[str, Any], kind: FileKind) -> None:
    command = [sys.executable, "-P", "-m", "autoprog.cohort.data_file_child", str(folder), json.dumps(asked)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    slow = (
        f"the file is {_NAMES[kind]} that takes more than {CPU_S} seconds to read; save it as CSV in UTF-8 or Parquet"
    )
    try:
        ended = subprocess.run(  # noqa: S603  our own command
            command, env=environment, timeout=_CLOCK_S, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        raise TooLargeError(slow) from None
    if (folder / "answer.json").exists() and ended.returncode == 0:
        return
    if ended.returncode in {-signal.SIGKILL, -getattr(signal, "SIGXCPU", signal.SIGKILL)}:
        raise TooLargeError(slow)
    raise UnsupportedMediaError(f"the file begins as {_NAMES[kind]} but is damaged or uses what cannot be read")
