"""Numbers as spreadsheets and laboratories write them: decimal commas, thousands separators, limits of detection.

A column is read in one style. `1,234` alone is ambiguous: other cells of the column decide, then the file's delimiter.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from autoprog.cohort.canonical import parse_number, parse_numbers

Style = Literal["decimal commas", "thousands separators"]

_CANDIDATE = "^(?:[<>≤≥]=?\\s*)?[+-]?[0-9.,'’ \u00a0\u202f]*[0-9](?:[eE][+-]?[0-9]+)?$"
_LIMIT = re.compile(r"[<>≤≥]=?\s*")
_SPACED = re.compile(r"[+-]?\d{1,3}(?:['’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_COMMA_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_POINT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_SEPARATORS = str.maketrans("", "", "'’ \u00a0\u202f")


@dataclass(frozen=True, eq=False)
class NumberTexts:
    """Texts read as numbers; every array has shape = (n_texts,)."""

    plain: NDArray[np.float64]  # without commas, separators and limits; NaN for any other text
    numbers: NDArray[np.float64]  # NaN for a word
    at_limit: NDArray[np.bool_]  # texts such as `<0.5`, read as 0.5
    style: Style | None  # how commas and separators were read; None if there are none


def read_number_texts(texts: pa.Array, *, decimal_comma: bool) -> NumberTexts:
    """Read trimmed texts as numbers; `decimal_comma` decides what `1,234` is where the other texts do not."""
    plain = parse_numbers(texts)
    matches = np.asarray(pc.match_substring_regex(texts, _CANDIDATE), dtype=np.bool_)
    odd = np.flatnonzero(matches & np.isnan(plain))
    at_limit = np.zeros(len(texts), dtype=np.bool_)
    if not len(odd):
        return NumberTexts(plain, plain, at_limit, None)
    originals = [texts[int(i)].as_py() for i in odd]
    bodies = [_LIMIT.sub("", text, count=1) if text[0] in "<>≤≥" else text for text in originals]
    at_limit[odd] = [body != text for body, text in zip(bodies, originals, strict=True)]
    spaced = [_SPACED.fullmatch(body) is not None for body in bodies]
    bodies = [
        body.translate(_SEPARATORS) if is_spaced else body for body, is_spaced in zip(bodies, spaced, strict=True)
    ]
    points = [text for text, n in zip(texts.to_pylist(), plain, strict=True) if np.isfinite(n) and "." in text]
    style = _choose([*bodies, *points], decimal_comma=decimal_comma)
    numbers = plain.copy()
    numbers[odd] = [_parse(body, style) for body in bodies]
    at_limit &= np.isfinite(numbers)
    if any(_kind(body) == "decimal comma with points" for body in bodies) and style == "decimal commas":
        for i, text in enumerate(texts.to_pylist()):
            if _POINT_GROUPS.fullmatch(text):  # 1.234 beside 2.345,6
                numbers[i] = _parse(text, style)
    used = any("," in body or body.count(".") > 1 for body in bodies)
    return NumberTexts(plain, numbers, at_limit, style if used else "thousands separators" if any(spaced) else None)


def _choose(bodies: list[str], *, decimal_comma: bool) -> Style | None:
    """Choose the style that all texts allow; None if they contradict each other."""
    kinds = Counter(map(_kind, bodies))
    if kinds["decimal comma with points"]:  # then a single point may separate thousands too
        kinds["decimal point"] -= sum(_kind(b) == "decimal point" and bool(_POINT_GROUPS.fullmatch(b)) for b in bodies)
    has_points = kinds["thousands"] + kinds["decimal point"] > 0
    if kinds["decimal comma"] + kinds["decimal comma with points"]:
        return None if has_points else "decimal commas"
    if kinds["either"] and not has_points:
        return "decimal commas" if decimal_comma else "thousands separators"
    return "thousands separators" if has_points else None


def _kind(body: str) -> str:
    if "," not in body and body.count(".") <= 1:
        return "decimal point" if "." in body else "whole"
    if _COMMA_GROUPS.fullmatch(body):
        return "either" if _DECIMAL_COMMA.fullmatch(body) else "thousands"
    if _POINT_GROUPS.fullmatch(body):
        return "decimal comma with points"
    return "decimal comma" if _DECIMAL_COMMA.fullmatch(body) else "word"


def _parse(body: str, style: Style | None) -> float:
    if style == "decimal commas":
        groups = _POINT_GROUPS.fullmatch(body)
        return parse_number((body.replace(".", "") if groups else body).replace(",", "."))
    if style == "thousands separators" and _COMMA_GROUPS.fullmatch(body):
        return parse_number(body.replace(",", ""))
    return parse_number(body)
