"""Numbers as people type them into forms, in the language of the page.

A point and a comma are both taken as the decimal sign. A number that is grouped as the page's language groups
thousands, `2,616` in English and `2.616` in German, could be read in two ways and is refused.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from babel import Locale
from babel.numbers import get_decimal_symbol, get_group_symbol
from fastapi import Request

from api.pages.languages import choose_language
from autoprog.errors import Fault

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)
_ALWAYS_GROUPS = " '\N{RIGHT SINGLE QUOTATION MARK}\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_MINUS_SIGN = "\N{MINUS SIGN}"


class GroupedNumberError(ValueError):
    """A number with separators of thousands. Its text says how to write the number."""


class TypedNumbers:
    """Reads and writes numbers of forms in a language."""

    def __init__(self, language: str) -> None:
        locale = Locale.parse(language)
        self.decimal_sign = get_decimal_symbol(locale)
        separators = re.escape(get_group_symbol(locale) + _ALWAYS_GROUPS)
        decimal = re.escape(self.decimal_sign)
        self._grouped = re.compile(rf"(?P<whole>[+-]?[1-9]\d{{0,2}}(?:[{separators}]\d{{3}})+)(?P<rest>{decimal}\d*)?")

    def parse(self, text: str) -> float:
        """Return a finite number; raises GroupedNumberError for separators of thousands, ValueError for no number."""
        text = text.strip().replace(_MINUS_SIGN, "-")
        if grouped := self._grouped.fullmatch(text):
            raise GroupedNumberError(self._say_how(grouped["whole"], grouped["rest"] or ""))
        if not _NUMBER.fullmatch(text):
            raise ValueError(text)
        number = float(text.replace(",", "."))
        if not math.isfinite(number):
            raise ValueError(text)
        return number

    def read(self, text: str, pointer: str, faults: list[Fault]) -> float | str:
        """Return a number, or the text of no number, which the service refuses; a grouped one becomes a fault."""
        try:
            return self.parse(text)
        except GroupedNumberError as error:
            faults.append(Fault(pointer, str(error)))
            return 0.0
        except ValueError:
            return text

    def write(self, number: float, digits: int = 15) -> str:
        """Return a number with so many significant digits as `parse` reads it."""
        return f"{float(f'{number:.{digits}g}'):.15g}".replace(".", self.decimal_sign)

    def _say_how(self, whole: str, rest: str) -> str:
        groups = re.split(r"[^\d+-]", whole)
        plain = "".join(groups) + rest
        if rest or len(groups) > 2:
            return f"write {plain!r}, without separators of thousands"
        fraction = self.decimal_sign.join(groups)
        return f"this can be read in two ways: write {plain!r} or {fraction!r}"


@lru_cache
def numbers_of(language: str) -> TypedNumbers:
    """Return the numbers of a language."""
    return TypedNumbers(language)


def typed_numbers(request: Request) -> TypedNumbers:
    """Return the numbers of a request's language."""
    return numbers_of(choose_language(request))
