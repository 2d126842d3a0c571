"""What a command of the command line said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


CommandLine = Callable[..., Answer]
