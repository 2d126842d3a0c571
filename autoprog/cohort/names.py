"""Reject names with invisible characters or marks of text direction."""

from __future__ import annotations

import unicodedata

HIDDEN = "holds control or bidirectional characters, which are not seen where the name is shown"
"""Fault of such a name."""

_CATEGORIES = frozenset({"Cc", "Zl", "Zp"})
_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_hidden(text: str) -> bool:
    """Check whether a text holds control characters (line breaks included) or marks of direction."""
    return any(letter in _BIDIRECTIONAL or unicodedata.category(letter) in _CATEGORIES for letter in text)


def plain(name: str) -> str:
    """Return the name unchanged, for validators; raises ValueError if `is_hidden`."""
    if is_hidden(name):
        raise ValueError(HIDDEN)
    return name
