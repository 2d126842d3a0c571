"""Numbers read from text, and one canonical text for each value."""

from __future__ import annotations

import math
import re
from numbers import Real

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
LARGEST = 1e100
"""Numbers of this size are refused: sums of their squares over all patients would be infinite."""

TWINS = {"true": "1", "false": "0", "1": "true", "0": "false"}
"""Canonical texts that mean the same in a binary feature: one file's true and false are another's 1 and 0."""

_EXACT = 2**53  # every whole number below is a float64


def parse_number(text: str) -> float:
    """Parse a trimmed text as a number: infinite for `inf` or beyond float64, NaN for any other word."""
    if _NUMBER.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    return math.nan


def parse_numbers(texts: pa.Array) -> NDArray[np.float64]:
    """Parse trimmed texts (no nulls) as `parse_number` does, into float64, shape = (n,)."""
    try:
        numbers = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None and np.isfinite(numbers).all():
        return np.array(numbers, dtype=np.float64)
    return np.array([parse_number(text) for text in texts.to_pylist()], dtype=np.float64)


def canonical_text(value: object) -> str:
    """Write a value as the one text that all its spellings share, so that they compare equal.

    `1`, `1.0`, `"1"`, `" 1.00 "` and `"1e0"` are `"1"`; `True` and `"TRUE"` are `"true"`. Any other text only loses its
    surrounding blanks; capitals matter.

    Parameters
    ----------
    value : object
        A number, a boolean or a text.

    Returns
    -------
    str
        The canonical text.
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, Real):
        return _text_of_number(float(value))
    return _canonical_of_text(str(value).strip())


def _canonical_of_text(text: str) -> str:
    if text.casefold() in {"true", "false"}:
        return text.casefold()
    number = parse_number(text)
    if not math.isfinite(number):
        return text
    if abs(number) >= _EXACT and _WHOLE_NUMBER.fullmatch(text):
        return text.removeprefix("+")  # as a float64 it would lose its last digits
    return _text_of_number(number)


def _text_of_number(number: float) -> str:
    if number.is_integer() and abs(number) < _EXACT:
        return str(int(number))
    return repr(number)


def short(text: str, length: int = 24) -> str:
    """Quote and truncate a client's text for use in a message."""
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: length + 1])
    return repr(printable if len(text) <= length else printable[:length] + "\N{HORIZONTAL ELLIPSIS}")
