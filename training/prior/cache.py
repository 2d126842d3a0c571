"""What takes minutes to make is kept under `build/optimizer`, by a fingerprint of all that it comes from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import joblib

import autoprog

CACHE = Path(__file__).parents[2] / "build" / "optimizer"

T = TypeVar("T")


def kept(name: str, make: Callable[[], T]) -> T:
    """What was made under this name before, or make it; a name holds its fingerprint."""
    path = CACHE / f"{name}.joblib"
    if path.exists():
        found: T = joblib.load(path)
        return found
    made = make()
    CACHE.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{uuid4().hex}")  # another process may be at it
    joblib.dump(made, part)
    part.replace(path)
    return made


@cache
def source(pattern: str) -> bytes:
    """Files of the package `autoprog`, one after the other: what is proposed and learnt changes with them."""
    return b"".join(file.read_bytes() for file in sorted(Path(autoprog.__file__).parent.glob(pattern)))
