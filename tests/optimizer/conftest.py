"""The optimizer's mathematics runs on one thread, as in a search."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autoprog.optimizer.threads import one_thread


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield
