"""Languages of the pages: texts by gettext, numbers and dates by locale."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any

from babel import Locale, negotiate_locale
from babel.dates import format_datetime
from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent
from babel.support import NullTranslations, Translations
from fastapi import Request

from api.pages.spoken import SpokenTexts

SOURCE = "en"
"""Language of the texts in the source, and of everything that the services say."""

LANGUAGES: Mapping[str, str] = {SOURCE: "English", "de": "Deutsch"}
"""Languages by code, each by its own name. All but the source's need a complete catalogue."""

COOKIE = "lang"
_PAGES, _SERVICES = "autoprog", "services"


def choose_language(request: Request) -> str:
    """Return the language of a request: its cookie's, else the first of the browser's that there is, else English."""
    chosen = request.cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    asked = [part.partition(";")[0].strip() for part in request.headers.get("accept-language", "").split(",")]
    return negotiate_locale([code for code in asked if code], list(LANGUAGES), sep="-") or SOURCE


@lru_cache
def load_translations(language: str) -> NullTranslations:
    """Return the texts of a language, compiled from its `.po` file."""
    catalog = _read_catalog(language, _PAGES)
    if catalog is None:
        return NullTranslations()
    compiled = BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return Translations(compiled, domain=_PAGES)


@lru_cache
def load_texts(language: str) -> frozenset[str]:
    """Return the translations into a language, as a page may show them; plural forms are not among them."""
    return frozenset(m.string for m in _read_catalog(language, _PAGES) or () if isinstance(m.string, str))


@lru_cache
def load_services(language: str) -> SpokenTexts:
    """Return what the services say, in a language."""
    return SpokenTexts(_read_catalog(language, _SERVICES) or Catalog())


@lru_cache
def _read_catalog(language: str, domain: str) -> Catalog | None:
    source = files("api.pages").joinpath("locale", language, "LC_MESSAGES", f"{domain}.po")
    if not source.is_file():
        return None
    with source.open("rb") as file:
        return read_po(file, locale=language)


class Formats:
    """Numbers and dates as a language writes them; filters of the templates."""

    def __init__(self, language: str) -> None:
        self._locale = Locale.parse(language)

    def filters(self) -> dict[str, Any]:
        """Return the filters by name."""
        names = ("integer", "decimal", "compact", "percent", "moment")
        return {name: getattr(self, name) for name in names}

    def integer(self, x: float) -> str:
        """Format a whole number, with separators of thousands."""
        return format_decimal(x, format="#,##0", locale=self._locale)

    def decimal(self, x: float | None, digits: int = 3) -> str:
        """Format a number with so many decimal digits; a dash for none."""
        if x is None:
            return "–"
        return format_decimal(x, format="#,##0." + "0" * digits if digits else "#,##0", locale=self._locale)

    def compact(self, x: float | None) -> str:
        """Format a number with four significant digits at most; a dash for none."""
        if x is None:
            return "–"
        return format_decimal(float(f"{x:.4g}"), format="#,##0.######", locale=self._locale)

    def percent(self, x: float | None, digits: int = 0) -> str:
        """Format a share as a percentage; a dash for none."""
        if x is None:
            return "–"
        pattern = ("#,##0." + "0" * digits if digits else "#,##0") + " %"
        return format_percent(x, format=pattern, locale=self._locale)

    def moment(self, moment: datetime | None) -> str:
        """Format a day and time, in UTC; a dash for none."""
        return "–" if moment is None else format_datetime(moment, format="medium", locale=self._locale) + " UTC"
