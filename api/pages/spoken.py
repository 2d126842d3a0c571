"""What the services say, in the language of a page.

Services speak English, to programs and to people, and much of what they say is stored. A sentence is translated when a
page shows it: its template is found among those of the catalogue `services.po`, which `tools/service_texts.py` lists
from the source, and what stands in its placeholders is translated in the same way.

A reading of a text is complete if nothing of it stays English. An example by hand, with the sentence
`the file has no column 'agee'; did you mean 'age'?`:

1. `_solidify` replaces each quoted text, and each count with its noun such as `3 rows`, by one character: `the file has
   no column A; did you mean B?`. Only without a complete reading, the counts are read word by word: some templates say
   the noun themselves, `the file has more than %(cells)s cells`.
2. `sentence` asks `_read` for a template that fits: `the file has no column %(name)s%(suggestion)s`. `_divide` lists
   what its two placeholders may hold: nothing and `A; did you mean B?`, then `A` and `; did you mean B?`, and so on.
3. `_read_part` is to read `A; did you mean B?`, which is no word and no number. `_read_phrase` asks `_read` for it, in
   vain, and then for what `; ` divides. No template says `did you mean B?`: this reading is not complete.
4. `_read_part` is to read `; did you mean B?` of the second division. The template `; did you mean %(join)s?` fits, and
   `B` has no word to translate: this reading is complete. A name stays as it is, so the sentence's is complete, too.
5. `_translate` puts the quoted texts back: `die Datei hat keine Spalte 'agee'; meinten Sie 'age'?`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from babel.core import Locale
from babel.messages.catalog import Catalog
from babel.numbers import format_decimal

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_NAME = re.compile(r"(?:name|feature|key)\d*")  # placeholders of what somebody has named
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""
_MINUS_SIGN = "\N{MINUS SIGN}"
_NUMBER = re.compile(rf"[-{_MINUS_SIGN}]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?")
_JOINTS = ("; ", ", ", " and ", " or ")
_COUNT = "%(num)s "  # of a message that counts
_FIRST_TOKEN = 0xE000  # of the code points for private use
_MAX_MATCHES = 40


class _Template:
    """A sentence with placeholders, and its translation."""

    def __init__(self, message: str, translation: str) -> None:
        parts = _PLACEHOLDER.split(message)
        self.names: Sequence[str] = parts[1::2]
        self.literals: Sequence[str] = [part.replace("%%", "%") for part in parts[::2]]
        self.size = sum(map(len, self.literals))
        # A link such as `%(a)s to %(b)s` is no sentence by itself.
        self.is_link = bool(self.names) and len(" ".join(self.literals).split()) < 2
        self.translation = translation

    def matches(self, text: str) -> Iterator[tuple[str, ...]]:
        """List what may stand in the placeholders; nothing for another sentence."""
        first, last = self.literals[0], self.literals[-1]
        if not self.names:
            if text == first:
                yield ()
        elif text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last):
            yield from _divide(text[len(first) : len(text) - len(last)], self.literals[1:-1])


def _divide(text: str, literals: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """List the ways to divide a text at literals, those with the shortest first part first."""
    if not literals:
        yield (text,)
        return
    first, *others = literals
    # Of two placeholders side by side the second holds a part of a sentence, ` in every row` or `; did you mean`.
    places = re.finditer(re.escape(first) or r"^|(?=; )|(?=(?<!;) )|$", text)
    for place in places:
        for rest in _divide(text[place.end() :], others):
            yield text[: place.start()], *rest


class SpokenTexts:
    """The services' sentences in a language.

    Parameters
    ----------
    catalog : babel.messages.Catalog
        Translations of the services' templates.
    """

    def __init__(self, catalog: Catalog) -> None:
        messages = [each for each in catalog if each.id]
        plural = [each for each in messages if not isinstance(each.id, str)]
        counts = [pair for each in plural for pair in zip(each.id, each.string or (), strict=True)]
        nouns = {said.removeprefix(_COUNT): translation.removeprefix(_COUNT) for said, translation in counts}
        longest_first = "|".join(map(re.escape, sorted(nouns, key=len, reverse=True))) or "(?!)"
        self._solid = re.compile(
            rf"{_QUOTED}|(?<![\w.,-])(?P<n>\d{{1,3}}(?:,\d{{3}})+|\d+) (?P<noun>{longest_first})\b"
        )
        self._nouns = nouns
        self._fixed: dict[str, str] = {}
        single = [(m.id, str(m.string)) for m in messages if isinstance(m.id, str)]
        found = [_Template(self._solidify(said, self._fixed), translation) for said, translation in [*single, *counts]]
        # The longest literal text is the most specific sentence.
        self._templates = sorted(found, key=attrgetter("size"), reverse=True)
        self._words = {said: translation for said, translation in single if " " not in said}
        self._locale: Locale = catalog.locale or Locale("en")
        self.translate = lru_cache(maxsize=4096)(self._translate)

    def _translate(self, text: str) -> str | None:
        """Return a sentence in this language; None for one that no service says."""
        tokens = dict(self._fixed)
        best = self._sentence(self._solidify(text, tokens))
        if best is None or not best.is_complete:
            divided = self._sentence(self._solidify(text, tokens, with_counts=False))
            best = divided if best is None or (divided is not None and divided.is_complete) else best
        if best is None:
            return None
        said = best.text
        for content, token in tokens.items():
            if token in said:
                said = said.replace(token, self._content(content))
        return said

    def _sentence(self, solid: str) -> _Reading | None:
        return _Reader(self._templates, {**self._words, **self._nouns}, self._number).sentence(solid)

    def _solidify(self, text: str, tokens: dict[str, str], *, with_counts: bool = True) -> str:
        """Replace quoted texts and counts with their noun by single characters, so that nothing divides them."""

        def token(found: re.Match[str]) -> str:
            if found["noun"] and not with_counts and found[0] not in self._fixed:
                return found[0]
            return tokens.setdefault(found[0], chr(_FIRST_TOKEN + len(tokens)))

        return self._solid.sub(token, text)

    def _content(self, content: str) -> str:
        found = self._solid.fullmatch(content)
        if found is None or found["noun"] is None:
            return content
        return f"{self._number(found['n'])} {self._nouns[found['noun']]}"

    def _number(self, text: str) -> str:
        digits = len(text.partition(".")[2])
        pattern = ("#,##0" if "," in text else "0") + ("." + "0" * digits if digits else "")
        return format_decimal(text.replace(",", "").replace(_MINUS_SIGN, "-"), format=pattern, locale=self._locale)


class _Reading(NamedTuple):
    """A text in this language."""

    text: str
    is_complete: bool  # nothing of it stayed English


class _Reader:
    """Reads one text; each part of it is read once."""

    def __init__(self, templates: Sequence[_Template], words: Mapping[str, str], number: Callable[[str], str]) -> None:
        self._templates = templates
        self._words = words
        self._number = number
        self._phrases: dict[str, str | None] = {}  # translations of parts of several words

    def sentence(self, text: str) -> _Reading | None:
        """Translate a whole text: a sentence, several of them, or one that begins with the name of a field."""
        best = self._read(text, whole=True)
        if best is not None and best.is_complete:
            return best
        if self._is_solid(text):
            return _Reading(text, is_complete=True)
        for joint in _JOINTS[:2]:
            parts = [self._read(part, whole=True) for part in text.split(joint)]
            complete = [part.text for part in parts if part is not None and part.is_complete]
            if 1 < len(parts) == len(complete):
                return _Reading(joint.join(complete), is_complete=True)
        head, colon, tail = text.partition(": ")
        inner = self.sentence(tail) if colon else None
        if inner is not None:
            field = self._read_part(head)
            is_complete = inner.is_complete and (field.is_complete or " " not in head)
            return _Reading(f"{field.text}: {inner.text}", is_complete)
        return best

    def _read(self, text: str, *, whole: bool = False) -> _Reading | None:
        """Read a text by the first template that gives a complete reading, else by the first that fits."""
        first: _Reading | None = None
        for template in self._templates:
            for values in islice(template.matches(text), _MAX_MATCHES):
                parts = {
                    name: _Reading(value, is_complete=True) if _NAME.fullmatch(name) else self._read_part(value)
                    for name, value in zip(template.names, values, strict=True)
                }
                is_complete = all(part.is_complete for part in parts.values())
                if is_complete or (first is None and not (whole and template.is_link)):
                    said = template.translation % {name: part.text for name, part in parts.items()}
                    first = _Reading(said, is_complete)
                if is_complete:
                    return first
        return first

    def _read_part(self, text: str) -> _Reading:
        """Read what stands in a placeholder; what is not understood stays."""
        if text in self._words:
            return _Reading(self._words[text], is_complete=True)
        if text.endswith("%") and _NUMBER.fullmatch(text[:-1]):
            return _Reading(self._number(text[:-1]) + "\N{NO-BREAK SPACE}%", is_complete=True)
        if _NUMBER.fullmatch(text):
            return _Reading(self._number(text), is_complete=True)
        if self._is_solid(text):
            return _Reading(text, is_complete=True)
        if " " in text and text not in self._phrases:
            self._phrases[text] = None  # a phrase that holds itself is not understood
            self._phrases[text] = self._read_phrase(text)
        said = self._phrases.get(text)
        return _Reading(text, is_complete=False) if said is None else _Reading(said, is_complete=True)

    def _read_phrase(self, text: str) -> str | None:
        """Read a part of several words by a template, or by its own parts; None unless the reading is complete."""
        found = self._read(text)
        if found is not None and found.is_complete:
            return found.text
        for joint in _JOINTS:
            parts = [self._read_part(part) for part in text.split(joint)] if joint in text else []
            if parts and all(part.is_complete for part in parts):
                word = joint.strip()
                return joint.replace(word, self._words.get(word, word)).join(part.text for part in parts)
        return None

    @staticmethod
    def _is_solid(text: str) -> bool:
        """Check whether a text has no word that could need a translation."""
        return not re.search(r"[A-Za-z]", text)
