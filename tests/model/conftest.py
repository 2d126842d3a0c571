"""Fits run on one thread, as in the engine's children."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """The tables are small: a second thread of BLAS mostly waits, on shared cores many times as long as it works."""
    with threadpool_limits(1):
        yield
