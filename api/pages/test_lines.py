"""Lines of a form that each describe a test: name, cost, minutes, harm, and what it reveals."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from api.pages.advice import put_plainly
from api.pages.forms import SentForm
from api.pages.numbers import TypedNumbers
from autoprog.errors import Fault

BLANK_LINES = 3
"""Blank lines below those that are filled in."""

MORE_LINES = 5
"""Blank lines that a press of “More lines” adds."""

_NAMESAKE = re.compile(r"(?<=is the name of test )\d+(?= already$)")
_AMOUNTS = ("cost", "minutes", "harm")


@dataclass(frozen=True, slots=True)
class TestLine:
    """A line, as text."""

    name: str = ""
    cost: str = ""
    minutes: str = ""
    harm: str = ""
    features: str = ""

    @classmethod
    def from_document(cls, test: Mapping[str, Any], numbers: TypedNumbers) -> Self:
        """Write out a test of a problem or catalogue; amounts of 0 that may be left out are blank."""
        amounts = {kind: numbers.write(test.get(kind, 0)) for kind in _AMOUNTS}
        free = {kind: "" for kind in _AMOUNTS[1:] if amounts[kind] == "0"}
        return cls(name=test["name"], **(amounts | free), features=", ".join(map(_quote, test.get("features", ()))))

    def to_document(self, number: int, numbers: TypedNumbers, faults: list[Fault]) -> dict[str, Any]:
        """Return the test as a request has it, without what was left blank; what cannot be sent becomes a fault."""
        amounts = {kind: text for kind in _AMOUNTS if (text := getattr(self, kind)) or kind == "cost"}
        test: dict[str, Any] = {"name": self.name}
        test |= {kind: numbers.read(text, f"/tests/{number}/{kind}", faults) for kind, text in amounts.items()}
        if self.features:
            try:
                names = next(csv.reader([self.features], skipinitialspace=True), [])
            except csv.Error as error:
                faults.append(Fault(f"/tests/{number}/features", str(error)))
                names = []
            test["features"] = [name.strip() for name in names if name.strip()]
        return test


def _quote(name: str) -> str:
    """Return a name as a list by commas has it: one with a comma or quotation mark stands in quotation marks."""
    return '"{}"'.format(name.replace('"', '""')) if "," in name or '"' in name else name


def read_lines(form: SentForm) -> tuple[TestLine, ...]:
    """Return the lines of a form as they were sent, without the blank ones."""
    columns = [[text.strip() for text in form.all(name)] for name in ("test", *_AMOUNTS, "features")]
    n_lines = max(map(len, columns))
    padded = [column + [""] * (n_lines - len(column)) for column in columns]
    return tuple(TestLine(*cells) for cells in zip(*padded, strict=True) if any(cells))


def with_blanks(lines: Sequence[TestLine], more: int = 0) -> list[TestLine]:
    """Return the lines that a form shows."""
    return [*lines, *[TestLine()] * (BLANK_LINES + more)]


def say_faults(faults: Sequence[Fault], lines: Sequence[TestLine], text: Callable[[str], str]) -> list[str]:
    """Return faults by test and field of the form, without pointers into a document that nobody here has written."""
    words = {
        "name": text("Name"), "cost": text("Cost"), "minutes": text("Minutes"), "harm": text("Harm"),
        "tests": text("Tests"), "test_names": text("Tests"), "trade_off": text("Worth of cost"),
        "cohort_id": text("Patients to learn from"), "catalogue_id": text("Tests"),
        "minute": text("A minute is worth"), "harm of prices": text("A unit of harm is worth"),
        "features": text("Reveals"),
    }  # fmt: skip
    said = [put_plainly(_say(fault, lines, words)) for fault in faults]
    # Programs count tests from 0, the form's lines from 1.
    return list(dict.fromkeys(_NAMESAKE.sub(lambda found: str(int(found[0]) + 1), text) for text in said))


def _say(fault: Fault, lines: Sequence[TestLine], words: Mapping[str, str]) -> str:
    _, first, *rest = [*fault.pointer.split("/"), ""]
    if first == "tests" and rest and rest[0].isdecimal() and int(rest[0]) < len(lines):
        number = int(rest[0])
        name = lines[number].name or f"{words['tests']} {number + 1}"
        kind = words.get(rest[1]) if len(rest) > 1 and rest[1] != "name" else None
        return f"{name}, {kind}: {fault.detail}" if kind else f"{name}: {fault.detail}"
    if first == "prices":
        first = "harm of prices" if rest[0] == "harm" else rest[0]
    return f"{words.get(first, first)}: {fault.detail}" if first else fault.detail
