"""TRIPOD+AI filled in from a run: each element of each item with its answer, or with what the author must write.

References
----------
Collins GS, Moons KGM, Dhiman P, et al. TRIPOD+AI statement: updated guidance for reporting clinical prediction models
that use regression or machine learning methods. BMJ 2024;385:e078378.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from autoprog.report.document import Column, Paragraph, Section, Table
from autoprog.report.references import TRIPOD, without_citations
from autoprog.report.run import ReportedRun
from autoprog.report.tripod_answers import RULES, NotApplicable
from autoprog.report.tripod_items import ITEMS, Element, Item

OFFICIAL_ELEMENTS = 136
"""Elements of the official adherence form; those here are another division of the same items."""


class Status(StrEnum):
    """Who answers an element."""

    ANSWERED = "answered"
    AUTHOR = "author"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True)
class AnsweredElement:
    """An element of an item and its answer.

    Attributes
    ----------
    element : Element
        What is asked.
    status : Status
        Who answers it.
    text : str
        The answer, what the author must write, or why it does not apply.
    anchor : str or None
        Section of the report in which the answer is found; None unless answered there.
    """

    element: Element
    status: Status
    text: str
    anchor: str | None


@dataclass(frozen=True)
class AnsweredItem:
    """An item of the statement with the answers to its elements."""

    item: Item
    elements: tuple[AnsweredElement, ...]

    def count(self, status: Status) -> int:
        """Count the elements of a status."""
        return sum(each.status is status for each in self.elements)


@dataclass(frozen=True)
class TripodChecklist:
    """TRIPOD+AI for one run.

    Attributes
    ----------
    items : tuple of AnsweredItem
        All 52 subitems.
    """

    items: tuple[AnsweredItem, ...]

    def count(self, status: Status) -> int:
        """Count the elements of a status over all items."""
        return sum(item.count(status) for item in self.items)

    @property
    def n_elements(self) -> int:
        """Number of elements."""
        return sum(len(item.elements) for item in self.items)

    @property
    def summary(self) -> str:
        """How many elements the run answers, and of which list."""
        return (
            f"The run answers {self.count(Status.ANSWERED)} of {self.n_elements} elements; "
            f"{self.count(Status.AUTHOR)} are the author's to write and {self.count(Status.NOT_APPLICABLE)} do not "
            "apply. The elements are this program's division of the 27 items (52 with subitems) of TRIPOD+AI. They "
            f"are not those of the official adherence form, which counts {OFFICIAL_ELEMENTS}."
        )


def fill_tripod(run: ReportedRun, sections: Collection[str] = ()) -> TripodChecklist:
    """Fill in TRIPOD+AI.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.
    sections : collection of str
        Anchors of the sections that the report has. Answers that consist of a table or a diagram need theirs, and
        others are linked only if the section is there.

    Returns
    -------
    TripodChecklist
        All items, each element answered, left to the author, or not applicable.
    """
    return TripodChecklist(
        tuple(
            AnsweredItem(item, tuple(_answered(element, run, sections) for element in item.elements)) for item in ITEMS
        )
    )


def _answered(element: Element, run: ReportedRun, sections: Collection[str]) -> AnsweredElement:
    rule = RULES.get(element.number)
    if rule is None or (rule.needs_section and rule.anchor not in sections):
        return AnsweredElement(element, Status.AUTHOR, element.advice, None)
    found = rule.answer(run)
    if isinstance(found, NotApplicable):
        return AnsweredElement(element, Status.NOT_APPLICABLE, found.reason, None)
    if found is None:
        return AnsweredElement(element, Status.AUTHOR, element.advice, None)
    anchor = rule.anchor if rule.anchor in sections else None
    return AnsweredElement(element, Status.ANSWERED, without_citations(found), anchor)


_STATUS = {Status.ANSWERED: "answered", Status.AUTHOR: "for the author", Status.NOT_APPLICABLE: "does not apply"}

_COLUMNS = tuple(map(Column, ("Item", "What to report", "Status", "Answer, or what to write", "Found in")))


def tripod_section(run: ReportedRun, sections: Mapping[str, str]) -> Section:
    """Write the section on TRIPOD+AI, with a table for each section of the statement.

    Parameters
    ----------
    run : ReportedRun
        Documents of a finished search.
    sections : mapping of str to str
        Titles of the report's sections by their names; `tripod_answers.ANCHORS` has the names that answers refer to.

    Returns
    -------
    Section
        Its name is `tripod`.
    """
    checklist = fill_tripod(run, sections)
    tables = [
        _table(name, tuple(items), sections)
        for name, items in groupby(checklist.items, key=lambda each: each.item.section)
    ]
    return Section("tripod", "TRIPOD+AI", (Paragraph(f"{checklist.summary} The statement: {TRIPOD}."), *tables))


def _table(name: str, items: tuple[AnsweredItem, ...], sections: Mapping[str, str]) -> Table:
    rows = tuple(
        (
            each.element.number,
            f"{item.item.topic}: {each.element.asked}",
            _STATUS[each.status],
            each.text,
            None if each.anchor is None else sections[each.anchor],
        )
        for item in items
        for each in item.elements
    )
    return Table(f"tripod-{name.lower().replace(' ', '-')}", f"TRIPOD+AI: {name}", _COLUMNS, rows)
