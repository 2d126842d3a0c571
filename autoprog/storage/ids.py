"""Opaque identifiers of resources."""

from __future__ import annotations

import re
import secrets
import time

_ID = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """Make an identifier of 12 hexadecimal digits of milliseconds, which sort by age, and 20 random ones."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def is_id(text: str) -> bool:
    """Check whether a client's text can be an identifier; PostgreSQL does not accept every text as a parameter."""
    return _ID.fullmatch(text) is not None
