"""Opaque identifiers of resources."""

from __future__ import annotations

import re
import secrets
import time

_ID = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """Make an identifier: 12 hexadecimal digits of milliseconds, so that they sort by age, and 20 random ones."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def is_id(text: str) -> bool:
    """Whether a text from outside can be an identifier; PostgreSQL does not even take every text as a parameter."""
    return _ID.fullmatch(text) is not None
