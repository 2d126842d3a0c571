"""Columns of ranges, such as age groups: unlike other words, they say their own order."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from itertools import pairwise

_NUMBER = r"(\d+(?:\.\d+)?)"
_DASH = r"\s*(?:-|–|—|to|,|;|\.\.)\s*"
_BETWEEN = re.compile(rf"[\[(]?\s*{_NUMBER}{_DASH}{_NUMBER}\s*[\])]?")
_BELOW = re.compile(rf"(?:<=?|≤|under|below|up to)\s*{_NUMBER}", re.IGNORECASE)
_ABOVE = re.compile(rf"(?:>=?|≥|over|above)\s*{_NUMBER}|{_NUMBER}\s*(?:\+|and over|or more|and above)", re.IGNORECASE)
_ONE = re.compile(_NUMBER)
# A number that begins with a zero is a code, as of diseases: 001-139.
_CODE = re.compile(r"(?<![\d.])0\d")
# Points between thousands: 500-999, 1.000-1.499.
_THOUSANDS, _HUNDREDS = re.compile(r"\d{1,3}\.\d{3}"), re.compile(r"\d{3,}")
# Fewer values are as well described without an order.
_LEAST, _LEAST_RANGES = 3, 2


def sort_bands(values: Collection[str]) -> tuple[str, ...] | None:
    """Sort texts that are all ranges and do not overlap, the lowest first; None for others.

    Parameters
    ----------
    values : collection of str
        Distinct texts. Ranges are written as 30-39, [30-40), 30 to 39, <18, under 18, 65+, >=65 or over 65; among them
        may stand single numbers, such as 0.

    Returns
    -------
    tuple of str, or None
        None too if there are fewer than three, fewer than two are ranges, a number begins with a zero, as of a code, or
        points may separate thousands.
    """
    numbers = [number for value in values for number in re.findall(_NUMBER, value)]
    if len(values) < _LEAST or all(any(map(form.fullmatch, numbers)) for form in (_THOUSANDS, _HUNDREDS)):
        return None
    found: list[tuple[tuple[float, float], str]] = []
    for value in values:
        ends = _ends(value)
        if ends is None:
            return None
        found.append((ends, value))
    found.sort()
    ranges = [ends for ends, _ in found]
    if sum(low < high for low, high in ranges) < _LEAST_RANGES:
        return None
    if any(before == after or before[1] > after[0] for before, after in pairwise(ranges)):
        return None
    return tuple(value for _, value in found)


def _ends(text: str) -> tuple[float, float] | None:
    """Lower and upper end of a range, equal for a single number; None for other texts."""
    text = text.strip()
    if _CODE.search(text):
        return None
    if match := _BETWEEN.fullmatch(text):
        low, high = map(float, match.groups())
        return (low, high) if low < high else None
    if match := _BELOW.fullmatch(text):
        return -math.inf, float(match.group(1))
    if match := _ABOVE.fullmatch(text):
        return float(match.group(1) or match.group(2)), math.inf
    if match := _ONE.fullmatch(text):
        return float(text), float(text)
    return None
