"""What the texts of faults have in common: pointers, lists of rows, near names, a bound on their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.canonical import short
from autoprog.errors import Fault

FIRST = 5
"""How many rows, values or names a text lists before it counts the rest."""

MAX_FAULTS = 100
"""How many faults, or warnings, an answer lists before it counts the rest."""

HALF_A_PAIR = "the text holds half of a surrogate pair, which is no character"
"""What is wrong with a text that JSON can spell and nothing can store or answer with; pydantic's own words say less."""


def pointer(*steps: object) -> str:
    """The JSON pointer through these steps.

    Parameters
    ----------
    *steps : object
        Keys and indices, outermost first.

    Returns
    -------
    str
        Escaped by RFC 6901, section 3.
    """
    # A name out of JSON may hold half a surrogate pair, which no answer could be encoded with.
    texts = (str(step).encode("utf-8", "replace").decode("utf-8") for step in steps)
    return "".join("/" + text.replace("~", "~0").replace("/", "~1") for text in texts)


def strip_key_mark(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Where pydantic found something, without its mark `[key]` for a key that is wrong itself."""
    return location[:-1] if location[-1:] == ("[key]",) else location


def column_pointer(name: str) -> str:
    """The place of a column of the file."""
    return pointer("file", "columns", name)


def listed(items: Iterable[str], count: int) -> str:
    """The first few of many items.

    Parameters
    ----------
    items : iterable of str
        Their texts; only the first few are drawn.
    count : int
        How many there are.

    Returns
    -------
    str
        `a, b, c, d, e and 12 more`.
    """
    first = [item for item, _ in zip(items, range(FIRST), strict=False)]
    rest = f" and {count - len(first):,} more" if count > len(first) else ""
    return ", ".join(first) + rest


def rows_text(lines: Sequence[int] | NDArray[np.int64]) -> str:
    """The first few of many row numbers: `row 7`, `rows 7, 9, 12, 15, 20 and 31 more`."""
    return f"row{'s' if len(lines) > 1 else ''} {listed(map(str, lines), len(lines))}"


def count_text(n: int, singular: str, plural: str | None = None) -> str:
    """A count and its noun: `1 row`, `2,000 rows`."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def near_names(name: str, names: Iterable[str]) -> str:
    """A suggestion for a name that is not there.

    Parameters
    ----------
    name : str
        As the client wrote it.
    names : iterable of str
        The names that exist.

    Returns
    -------
    str
        `; did you mean 'age'?`, or nothing where no name is near.
    """
    folded: dict[str, str] = {}
    for known in names:
        folded.setdefault(known.casefold(), known)
    matches = get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(short(folded[m]) for m in matches)}?" if matches else ""


def absent_columns(place: str, wanted: Sequence[tuple[str, str]], names: Sequence[str]) -> list[Fault]:
    """Faults for columns that are named but not there.

    Parameters
    ----------
    place : str
        Pointer to where they are named; the fault that counts the rest points here.
    wanted : sequence of (str, str)
        Pointer and name of each.
    names : sequence of str
        The names that exist.

    Returns
    -------
    list of Fault
        One a name, with a suggestion; beyond `MAX_FAULTS` the rest is counted.
    """
    known = set(names)
    absent = [(at, name) for at, name in wanted if name not in known]
    faults: list[Fault] = []
    for at, name in absent[:MAX_FAULTS]:
        # comparing with every name is slow where there are thousands of both
        suggestion = near_names(name, names) if len(faults) < FIRST or len(names) < 200 else ""
        faults.append(Fault(at, f"the file has no column {short(name, 60)}{suggestion}"))
    if len(absent) > MAX_FAULTS:
        rest = len(absent) - MAX_FAULTS
        faults.append(Fault(place, f"{rest:,} more columns that are named here are not in the file"))
    return faults


def capped_warnings(warnings: Sequence[str]) -> tuple[str, ...]:
    """The first warnings and a count of the rest."""
    rest = len(warnings) - MAX_FAULTS
    more = (f"{count_text(rest, 'more warning')} of these kinds",) if rest > 0 else ()
    return (*warnings[:MAX_FAULTS], *more)


def capped(faults: Sequence[Fault], place: str) -> tuple[Fault, ...]:
    """The first faults and a count of the rest.

    Parameters
    ----------
    faults : sequence of Fault
        All of them.
    place : str
        Where the fault that counts the rest points.

    Returns
    -------
    tuple of Fault
        At most `MAX_FAULTS` and one more.
    """
    if len(faults) <= MAX_FAULTS:
        return tuple(faults)
    rest = len(faults) - MAX_FAULTS
    return (*faults[:MAX_FAULTS], Fault(place, f"{count_text(rest, 'more fault')} of these kinds"))
