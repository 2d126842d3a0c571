"""Functions that tests send to child processes: a few that behave, and every way not to."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_info

from autoprog.cohort import from_parquet
from autoprog.search import tasks
from tests.hostile import sleep_holding_the_lock


def add(a: int, b: int) -> int:
    return a + b


def process() -> int:
    return os.getpid()


def compute_now_and_then(seconds: float, share: float) -> float:
    """Compute for a share of the clock's seconds, as on a busy machine; the seconds computed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.process_time()
        while time.process_time() - start < 0.05 * share:
            pass
        time.sleep(0.05 * (1 - share))
    return time.process_time()


def scratch() -> str:
    return str(tasks._scratch[-1])


def megabytes(n: int) -> bytes:
    return bytes(range(256)) * (n << 12)


def threads() -> dict[str, Any]:
    import torch  # noqa: PLC0415  (the parent need not load it)

    pools = sorted({pool["num_threads"] for pool in threadpool_info()})
    return {"pools": pools, "torch": torch.get_num_threads(), "omp": os.environ["OMP_NUM_THREADS"]}


def loaded() -> list[str]:
    return [name for name in ("xgboost", "lightgbm", "torch", "tests.hostile") if name in sys.modules]


def raise_error(kind: str, text: str) -> None:
    raise {"ValueError": ValueError, "RuntimeError": RuntimeError, "SystemExit": SystemExit}[kind](text)


def raise_from_memory_error() -> None:
    raise ValueError("all fits failed") from MemoryError()


def no_data() -> Any:
    return threading.Lock()


def another_type() -> int:
    return "3"  # type: ignore[return-value]


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def interval(seconds: float) -> tuple[float, float]:
    start = time.monotonic()
    time.sleep(seconds)
    return start, time.monotonic()


def touch(path: str) -> None:
    Path(path).touch()


def begin_and_hang(marker: str) -> None:
    Path(marker).write_text(str(os.getpid()))
    sleep_holding_the_lock()


def allocate_bytearrays() -> None:
    taken = []
    while True:
        taken.append(bytearray(16 << 20))


def allocate_torch() -> None:
    import torch  # noqa: PLC0415

    torch.empty(1 << 36, dtype=torch.uint8)


def allocate_shared() -> None:
    taken = []
    while True:
        area = mmap.mmap(-1, 16 << 20)
        area.write(b"x" * (16 << 20))
        taken.append(area)


def abort_when_nearly_full() -> None:
    taken = np.ones(235 << 17)
    time.sleep(0.3)
    if taken.all():
        os.abort()


def allocate(mebibytes: int) -> int:
    return int(np.ones(mebibytes << 17).sum())


def end(code: int) -> None:
    os._exit(code)


def abort() -> None:
    os.abort()


def read_null() -> None:
    ctypes.string_at(0)


def hang_under(worker: int, marker: str) -> str:
    """Hang where this worker is an ancestor; elsewhere return after a moment."""
    time.sleep(0.3)
    if worker not in {p.pid for p in psutil.Process().parents()}:
        return "elsewhere"
    begin_and_hang(marker)
    return "never"


def hang_the_first_time(marker: str) -> str:
    if Path(marker).exists():
        return "again"
    begin_and_hang(marker)
    return "never"


def read_and_multiply(content: bytes) -> float:
    assert from_parquet(content).n_patients
    ones = np.ones((500, 500))
    return float(dgemm(1.0, ones, np.eye(500)).max() * (ones @ ones).max())


def is_loaded(module: str) -> bool:
    return module in sys.modules
