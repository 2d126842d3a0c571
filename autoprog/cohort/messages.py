"""Shared parts of fault texts: pointers, lists of rows, similar names, and a limit on their number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.errors import Fault

FIRST = 5
"""Number of rows, values or names that a text lists before it counts the rest."""

MAX_FAULTS = 100
"""Number of faults or warnings that an answer lists before it counts the rest."""

TITLE_ADVICE = "; the names of the columns must stand in the first row: delete titles above them"
"""Advice where most rows or columns do not fit the first row."""

HALF_A_PAIR = "the text holds half of a surrogate pair, which is no character"
"""Fault of a text that JSON can spell but nothing can store or send; pydantic's own message says less."""


def pointer(*steps: object) -> str:
    """Join keys and indices, outermost first, into a JSON pointer, escaped as in RFC 6901, section 3."""
    # A name from JSON may hold half a surrogate pair, which no answer can encode.
    texts = (str(step).encode("utf-8", "replace").decode("utf-8") for step in steps)
    return "".join("/" + text.replace("~", "~0").replace("/", "~1") for text in texts)


def split_pointer(text: str) -> list[str]:
    """Split a JSON pointer into the names and indices that `pointer` has joined."""
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def strip_key_mark(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Remove pydantic's mark `[key]`, which it adds to the location of an invalid key."""
    return location[:-1] if location[-1:] == ("[key]",) else location


def column_pointer(name: str) -> str:
    """JSON pointer to a column of the file."""
    return pointer("file", "columns", name)


def listed(items: Iterable[str], count: int) -> str:
    """List the first few of `count` items: `a, b, c, d, e and 12 more`."""
    first = [item for item, _ in zip(items, range(FIRST), strict=False)]
    names, rest = ", ".join(first), count - len(first)
    return f"{names} and {rest:,} more" if rest > 0 else names


def rows_text(lines: Sequence[int] | NDArray[np.int64]) -> str:
    """List the first few row numbers: `row 7`, `rows 7, 9, 12, 15, 20 and 31 more`."""
    numbers = listed(map(str, lines), len(lines))
    return f"rows {numbers}" if len(lines) > 1 else f"row {numbers}"


def examples(values: Iterable[str]) -> tuple[str, ...]:
    """First few values, quoted, for the answer to the file's owner."""
    return tuple(short(value) for value, _ in zip(values, range(FIRST), strict=False))


def count_text(n: int, singular: str, plural: str | None = None) -> str:
    """Count with its noun: `1 row`, `2,000 rows`."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def near_names(name: str, names: Iterable[str]) -> str:
    """Suggest similar names: `; did you mean 'age'?`, or an empty text."""
    folded: dict[str, str] = {}
    for known in names:
        folded.setdefault(known.casefold(), known)
    matches = get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(short(folded[m]) for m in matches)}?" if matches else ""


def make_suggester(names: Collection[str]) -> Callable[[str], str]:
    """Make a `near_names` for many unknown names: beyond the first it suggests nothing, as every comparison is slow."""
    left = MAX_FAULTS if len(names) < 200 else FIRST

    def suggest(name: str) -> str:
        nonlocal left
        left -= 1
        return near_names(name, names) if left >= 0 else ""

    return suggest


def absent_columns(place: str, wanted: Sequence[tuple[str, str]], names: Sequence[str]) -> list[Fault]:
    """List a fault for each wanted (pointer, name) not in `names`; beyond `MAX_FAULTS`, count the rest at `place`."""
    known = set(names)
    absent = [(at, name) for at, name in wanted if name not in known]
    suggest = make_suggester(names)
    faults: list[Fault] = []
    for at, name in absent[:MAX_FAULTS]:
        suggestion = suggest(name)
        faults.append(Fault(at, f"the file has no column {short(name, 60)}{suggestion}"))
    if len(absent) > MAX_FAULTS:
        rest = len(absent) - MAX_FAULTS
        faults.append(Fault(place, f"{rest:,} more columns that are named here are not in the file"))
    return faults


def capped_warnings(warnings: Sequence[str]) -> tuple[str, ...]:
    """First `MAX_FAULTS` warnings and a count of the rest."""
    rest = len(warnings) - MAX_FAULTS
    more = (f"{count_text(rest, 'more warning')} of these kinds",) if rest > 0 else ()
    return (*warnings[:MAX_FAULTS], *more)


def capped(faults: Sequence[Fault], place: str) -> tuple[Fault, ...]:
    """First `MAX_FAULTS` faults and one at `place` that counts the rest."""
    if len(faults) <= MAX_FAULTS:
        return tuple(faults)
    rest = len(faults) - MAX_FAULTS
    return (*faults[:MAX_FAULTS], Fault(place, f"{count_text(rest, 'more fault')} of these kinds"))
