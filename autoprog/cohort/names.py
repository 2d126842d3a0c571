"""What a name may not hold: characters that are not seen, or that turn the text around them."""

from __future__ import annotations

import unicodedata

HIDDEN = "holds control or bidirectional characters, which are not seen where the name is shown"
"""What is wrong with such a name."""

_CATEGORIES = frozenset({"Cc", "Zl", "Zp"})
_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_hidden(text: str) -> bool:
    """Whether a text holds control characters, line breaks among them, or marks of direction."""
    return any(letter in _BIDIRECTIONAL or unicodedata.category(letter) in _CATEGORIES for letter in text)


def plain(name: str) -> str:
    """The name as it is; for validators. Raises ValueError where it holds such characters."""
    if is_hidden(name):
        raise ValueError(HIDDEN)
    return name
