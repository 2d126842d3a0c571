"""What libraries say of errors and warnings, without patients' values."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"(?<!\w)(['\"]).*?(?:\1(?!\w)|\Z)", re.DOTALL)
_BRACKETED = re.compile(r"\[.*\]|\[.*", re.DOTALL)
_NUMBER = re.compile(r"-?[\d.,]*\.\d+(?:e[+-]?\d+)?|\b\d+e[+-]?\d+\b", re.IGNORECASE)
# Enough for what is shown, and little enough for patterns that look for a closing mark.
_MAX_READ = 5_000


def without_values(text: str) -> str:
    """Leave out of a text what may be a patient's value: what is quoted or bracketed, closed or not, and decimals.

    Parameters
    ----------
    text : str
        As an exception or a warning says it, of any number of lines.

    Returns
    -------
    str
        With dots in their places. Whole numbers stay, since most are counts.
    """
    text = _BRACKETED.sub("[...]", _QUOTED.sub("'...'", text[:_MAX_READ]))
    return _NUMBER.sub("...", text)
