"""Fuzz everything that reads what a client sends, guided by coverage, and report a line for each reader.

    python -m tests.drills.fuzz [--inputs 200000] [--reader csv] [--keep]

`atheris` makes inputs from those in `tests/drills/corpus` and `readers.py`, and goes on with those that reach something
new; each run begins from these and the same seed. A reader may refuse an input. It must not raise anything else, take
more than 2 processor seconds, or need more than 1 GiB: such an input is kept in `build/fuzz`, and its reader ends.
`--keep` replaces the corpus by few inputs that reach what this run has reached.
"""

from __future__ import annotations

import argparse
import atexit
import hashlib
import importlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "drills" / "corpus"
WORK = ROOT / "build" / "fuzz"
SEED = 1
Step = tuple[str, int, int]
_INSTRUMENTED = ["autoprog", "api", "python_multipart", "starlette.formparsers"]
_HANGS_S = 120
_COVERAGE = re.compile(r"^#\d+\s.*\bcov: (\d+) ft: (\d+)", re.MULTILINE)


def write_seeds(name: str, folder: Path) -> None:
    """Write the seeds of a reader, each named by its digest."""
    from tests.drills.readers import READERS  # noqa: PLC0415  a child instruments it first

    folder.mkdir(parents=True, exist_ok=True)
    for seed in READERS[name].seeds():
        (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


def write_words(name: str, file: Path) -> None:
    """Write the words of a reader's seeds as a dictionary, from which whole words are put into inputs."""
    from tests.drills.readers import READERS  # noqa: PLC0415

    words = {word for seed in READERS[name].seeds() for word in re.findall(rb'[A-Za-z_][\w-]{2,30}"?(?:: )?', seed)}
    escaped = ("".join(chr(c) if chr(c) not in '"\\' else f"\\{chr(c)}" for c in word) for word in sorted(words))
    file.write_text("".join(f'"{word}"\n' for word in escaped), encoding="utf-8")


def run_child(name: str, arguments: list[str], report: Path) -> None:
    """Fuzz one reader in this process; never returns."""
    atheris = importlib.import_module("atheris")  # which only this drill has
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=_INSTRUMENTED):
        readers = importlib.import_module("tests.drills.readers")
    read: Callable[[bytes], None] = readers.READERS[name].read
    for seed in readers.READERS[name].seeds():  # what is imported or cached at first
        read(seed)
    found: dict[str, Any] = {"inputs": 0, "slowest_s": 0.0, "began": time.monotonic()}

    def finish() -> None:
        found["seconds"] = time.monotonic() - found["began"]
        found["peak_bytes"] = _peak_bytes()
        report.write_text(json.dumps(found), encoding="utf-8")

    def fuzz(data: bytes) -> None:
        found["inputs"] += 1
        try:
            found["slowest_s"] = max(found["slowest_s"], _seconds(read, data, readers.MAX_S))
            assert _peak_bytes() <= readers.MAX_BYTES, "too much memory"
        except BaseException:
            found["wrong"] = traceback.format_exc(limit=-4)
            finish()
            raise

    atexit.register(finish)
    atheris.Setup([sys.argv[0], *arguments], fuzz)
    atheris.Fuzz()


def _seconds(read: Callable[[bytes], None], data: bytes, most: float) -> float:
    """Processor seconds of a reader; an input that takes too long is read twice, as other causes do not return."""
    for _ in range(2):
        start = time.process_time()
        read(data)
        if (spent := time.process_time() - start) <= most:
            return spent
    raise AssertionError(f"took {spent:.1f} s of a processor")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _start(name: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.drills.fuzz", "--child", name, *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)


def fuzz_reader(name: str, inputs: int, max_bytes: int) -> dict[str, Any]:
    """Fuzz one reader in a process of its own; returns what it reports."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    for made in ("corpus", "wrong"):
        (folder / made).mkdir(parents=True)
    write_seeds(name, folder / "seeds")
    write_words(name, folder / "words")
    known = [str(path) for path in (folder / "seeds", CORPUS / name) if path.exists()]
    options = {
        "atheris_runs": inputs, "seed": SEED, "max_len": max_bytes, "timeout": _HANGS_S,
        "report_slow_units": _HANGS_S, "rss_limit_mb": 2_048,
        "dict": folder / "words",
        "artifact_prefix": f"{folder / 'wrong'}{os.sep}",
    }  # fmt: skip
    ended = _start(name, [*(f"-{key}={value}" for key, value in options.items()), str(folder / "corpus"), *known])
    (folder / "log").write_text(ended.stderr, encoding="utf-8")
    report = folder / "report.json"
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    if kept := sorted((folder / "wrong").iterdir()):
        found["kept"] = str(kept[0].relative_to(ROOT))
    if (ended.returncode or kept or not found) and "wrong" not in found:
        found["wrong"] = f"ended with {ended.returncode}: {ended.stderr[-2_000:]}"
    edges, features = (_COVERAGE.findall(ended.stderr) or [("0", "0")])[-1]
    return found | {"edges": int(edges), "features": int(features)}


def keep(name: str) -> int:
    """Replace the corpus of a reader by small inputs that reach what this run has reached; returns its size in bytes.

    From the smallest on, an input is kept if it takes a way from line to line that none before it takes.
    """
    from tests.drills.readers import READERS  # noqa: PLC0415

    read = READERS[name].read
    inputs = {path.read_bytes() for part in ("seeds", "corpus") for path in (WORK / name / part).iterdir()}
    inputs |= {path.read_bytes() for path in (CORPUS / name).glob("*")}
    for seed in READERS[name].seeds():  # what is imported or cached at first
        read(seed)
    known: set[Step] = set()
    for seed in READERS[name].seeds():
        known |= _steps(read, seed)
    shutil.rmtree(CORPUS / name, ignore_errors=True)
    (CORPUS / name).mkdir(parents=True)
    for content in sorted(inputs, key=lambda content: (len(content), content)):
        if new := _steps(read, content) - known:
            known |= new
            (CORPUS / name / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
    return sum(path.stat().st_size for path in (CORPUS / name).iterdir())


def _steps(read: Callable[[bytes], None], data: bytes) -> set[Step]:
    """Which lines of the instrumented code follow each other while an input is read."""
    found: set[Step] = set()
    spec_files = [importlib.import_module(name).__file__ or "" for name in _INSTRUMENTED]
    roots = tuple(file.removesuffix("__init__.py") for file in spec_files)

    def enter(frame: FrameType, _event: str, _what: object) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        if not file.startswith(roots):
            return None
        last = 0

        def step(frame: FrameType, event: str, _what: object) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                found.add((file, last, frame.f_lineno))
                last = frame.f_lineno
            return step

        return step

    threading.settrace(enter)
    sys.settrace(enter)
    try:
        read(data)
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return found


def main() -> None:
    """Fuzz the readers; exits with 1 if an input broke one."""
    if sys.argv[1:2] == ["--child"]:
        name = sys.argv[2]
        run_child(name, sys.argv[3:], WORK / name / "report.json")
    from tests.drills.readers import READERS  # noqa: PLC0415

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--reader", choices=READERS, action="append")
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    failed = False
    for name in asked.reader or READERS:
        reader = READERS[name]
        found = fuzz_reader(name, asked.inputs * reader.share // 100, reader.max_bytes)
        failed |= "wrong" in found
        print(
            f"{name}: {found.get('inputs', 0):,} inputs in {found.get('seconds', 0):.0f} s, "
            f"slowest {found.get('slowest_s', 0):.2f} s, peak {found.get('peak_bytes', 0) / 2**20:,.0f} MiB, "
            f"{found['edges']:,} edges, {found['features']:,} features",
            flush=True,
        )
        if "wrong" in found:
            print(f"  {found.get('kept', 'no input was kept')}\n{found['wrong']}", flush=True)
        elif asked.keep:
            print(f"  corpus: {keep(name):,} bytes in {len(list((CORPUS / name).iterdir()))} files", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
