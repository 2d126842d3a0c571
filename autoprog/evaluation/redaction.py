"""Removal of patients' values from libraries' errors and warnings."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"(?<!\w)(['\"]).*?(?:\1(?!\w)|\Z)", re.DOTALL)
_BRACKETED = re.compile(r"\[.*\]|\[.*", re.DOTALL)
_NUMBER = re.compile(r"-?[\d.,]*\.\d+(?:e[+-]?\d+)?|\b\d+e[+-]?\d+\b", re.IGNORECASE)
# Enough for what is shown, and few enough characters for patterns that search for a closing mark.
_MAX_READ = 5_000


def without_values(text: str) -> str:
    """Replace possible patients' values (quoted, bracketed, decimal) by dots; whole numbers stay, most being counts."""
    text = _BRACKETED.sub("[...]", _QUOTED.sub("'...'", text[:_MAX_READ]))
    return _NUMBER.sub("...", text)
