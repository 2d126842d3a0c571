"""A report as data: sections of paragraphs, tables and figures, which the renderers write as HTML, Markdown or DOCX.

Tables and figures are numbered in the order of the report when it is rendered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autoprog.report.chart import Chart, Flow

ColumnKind = Literal["text", "number"]
"""How a column is set: text to the left, numbers to the right."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Text that must not be missed."""

    text: str
    level: Literal["info", "warning"] = "warning"


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list."""

    items: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading and kind."""

    title: str
    kind: ColumnKind = "text"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of finished texts; a cell of None is left empty."""

    name: str  # unique in the report, for anchors
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its data, and the words that go with it."""

    name: str  # unique in the report, for anchors and for the names of files
    title: str
    caption: str
    alt: str  # what a reader who cannot see it needs to know
    data: Chart | Flow


Block: TypeAlias = Paragraph | Notice | ItemList | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A section; `left_out` says why one that does not apply has no blocks."""

    name: str  # unique in the report, for anchors
    title: str
    blocks: tuple[Block, ...] = ()
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]

    def figures(self) -> Iterator[Figure]:
        """All figures, in order."""
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, Figure):
                    yield block
