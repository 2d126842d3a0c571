"""Threads of a fit: one, unless the caller lends more to learners whose result does not depend on their number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_lent: ContextVar[int] = ContextVar("lent", default=1)


@contextmanager
def lend_threads(number: int) -> Iterator[None]:
    """Let fits in this block use so many threads, at least 1."""
    token = _lent.set(max(1, number))
    try:
        yield
    finally:
        _lent.reset(token)


def lent_threads() -> int:
    """Return the number of threads that a fit may use."""
    return _lent.get()
