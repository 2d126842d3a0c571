"""Damage workbooks and files of Stata, SPSS and SAS at random, and read them as uploads.

    python -m tests.drills.damaged [--inputs 2000] [--seed 1]

A file may be read or refused with an answer that can be sent; anything else is a fault, and the file is kept in
`build/damaged`. The readers are others' and run in a child process (`autoprog.cohort.data_file`), which may crash. Here
it is forked, as the start of a Python for every file would take most of the time.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from autoprog.cohort import data_file, data_file_child, parse_spec, read_cohort
from tests.cohort.test_files import WRITERS, write_old_sheets
from tests.drills.readers import describe, refused

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "damaged"
KINDS = ("xlsx", "dta", "dta 114", "dta with labels", "sav")
SPEC = parse_spec({"name": "damaged", "outcome": {"column": "died", "positive": 1}})
_IN_WORKBOOKS = 0.7  # share of workbooks whose parts are damaged, and the archive is not
_WORDS = (b"\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"1e999", b"NaN", b"-1", b"&#0;", b"&x;", b"\xed\xa0\x80")


def seeds() -> dict[str, bytes]:
    """A whole file of every kind."""
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            WRITERS[kind](Path(folder) / "file")
            (file,) = Path(folder).iterdir()
            made[kind] = file.read_bytes()
            file.unlink()
        write_old_sheets(Path(folder) / "sheets.xlsx")
        made["xlsx of two sheets"] = (Path(folder) / "sheets.xlsx").read_bytes()
    made["sas7bdat"] = gzip.decompress((ROOT / "tests" / "data" / "iris.sas7bdat.gz").read_bytes())
    return made


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage a file, of a workbook mostly some of its parts."""
    if not content.startswith(b"PK") or rng.random() > _IN_WORKBOOKS:
        return _change(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name in rng.choice(sorted(parts), rng.integers(1, 4)):
        parts[str(name)] = _change(parts[str(name)], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def _change(content: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(content)
    # The magic number stays, so that the file still comes to its reader.
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(min(32, len(data) - 1), len(data)))
        length = int(rng.integers(1, 64))
        way = rng.integers(4)
        if way == 0:
            data[at] = int(rng.integers(256))
        elif way == 1 and len(data) > at + length + 64:
            del data[at : at + length]
        elif way == 2:
            data[at:at] = data[at : at + length]
        else:
            word = _WORDS[rng.integers(len(_WORDS))]
            data[at : at + len(word)] = word
    return bytes(data)


@contextmanager
def forked_children() -> Iterator[None]:
    """The reader's child is forked from this process, which has imported everything."""

    def run(command: Sequence[str], *, timeout: float, **_: Any) -> subprocess.CompletedProcess[bytes]:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                data_file_child.main(Path(command[-2]), json.loads(command[-1]))
            except BaseException:  # noqa: BLE001  as Python would
                os._exit(1)
            os._exit(0)
        end = time.monotonic() + timeout
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status))
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise subprocess.TimeoutExpired(command, timeout)
            time.sleep(0.002)

    import openpyxl  # noqa: F401, PLC0415
    import pyreadstat  # noqa: F401, PLC0415

    with mock.patch.object(data_file.subprocess, "run", run):
        yield


def read(content: bytes) -> str:
    """Read a file as an upload is: what became of it. Raises whatever is no refusal."""
    describe(content)
    return "refused" if refused(lambda: read_cohort(content, SPEC)) else "read"


def drill(inputs: int, seed: int, fault: Callable[[str, bytes], None]) -> dict[str, Counter[str]]:
    """Damage and read so many files, of every kind in turn; `fault` gets those that are neither read nor refused."""
    rng = np.random.default_rng(seed)
    whole = list(seeds().items())
    ends: dict[str, Counter[str]] = {kind: Counter() for kind, _ in whole}
    with forked_children():
        for number in range(inputs):
            kind, content = whole[number % len(whole)]
            damaged = damage(content, rng)
            try:
                ends[kind][read(damaged)] += 1
            except Exception:  # noqa: BLE001  this is what is looked for
                ends[kind]["fault"] += 1
                fault(traceback.format_exc(limit=-4), damaged)
    return ends


def main() -> None:
    """Print what became of the files; ends with 1 if one was a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found: list[str] = []

    def keep(told: str, content: bytes) -> None:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
        found.append(told)
        print(told, file=sys.stderr, flush=True)

    began = time.monotonic()
    ends = drill(asked.inputs, asked.seed, keep)
    for kind, counts in ends.items():
        print(f"{kind}: {', '.join(f'{n} {end}' for end, n in sorted(counts.items()))}")
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
