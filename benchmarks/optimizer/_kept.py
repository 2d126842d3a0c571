"""What takes minutes to make is kept under `build/optimizer`, by a fingerprint of all that it comes from."""

from __future__ import annotations

import hashlib
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
    """Digest of files of the package `autoprog`, whose proposals and lessons change with them."""
    digest = hashlib.sha256()
    for file in sorted(Path(autoprog.__file__).parent.glob(pattern)):
        digest.update(file.read_bytes())
    return digest.digest()
