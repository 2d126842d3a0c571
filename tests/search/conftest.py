"""Searches take long, and what differs between servers is tested where they are spoken to, in `tests/storage`."""

from __future__ import annotations

import pytest

from tests.conftest import BACKENDS


@pytest.fixture(params=BACKENDS[-1:])
def backend(request: pytest.FixtureRequest) -> str:
    """One kind of server: PostgreSQL where there is one."""
    kind: str = request.param
    return kind
