"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

from autoprog.report.document import Block, Figure, ItemList, Notice, Paragraph, Report, Table
from autoprog.report.numbering import number_blocks


def write_markdown(report: Report, figure_url: Callable[[Figure], str] | None = None) -> str:
    """Write a report as Markdown (CommonMark with tables).

    Parameters
    ----------
    report : Report
        The report.
    figure_url : callable or None
        Address of a figure's picture; without it a figure is its title, its caption and its description.

    Returns
    -------
    str
        The text.
    """
    numbers = number_blocks(report)
    parts = [f"# {_escape(report.title)}", _escape(report.subtitle)]
    for section in report.sections:
        parts.append(f"## {_escape(section.title)}")
        if section.left_out is not None:
            parts.append(f"*{_escape(section.left_out)}*")
        parts += [_block(block, numbers, figure_url) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, numbers: dict[str, str], figure_url: Callable[[Figure], str] | None) -> str:
    if isinstance(block, Paragraph):
        return _escape(block.text)
    if isinstance(block, Notice):
        return f"> **{'Warning' if block.level == 'warning' else 'Note'}.** {_escape(block.text)}"
    if isinstance(block, ItemList):
        marks = (f"{k}." if block.numbered else "-" for k in range(1, len(block.items) + 1))
        return "\n".join(f"{mark} {_escape(item)}" for mark, item in zip(marks, block.items, strict=True))
    if isinstance(block, Table):
        return _table(block, numbers[block.name])
    picture = f"![{_escape(block.alt)}]({figure_url(block)})" if figure_url else f"*{_escape(block.alt)}*"
    return f"{picture}\n\n**{numbers[block.name]}. {_escape(block.title)}.** {_escape(block.caption)}"


def _table(table: Table, number: str) -> str:
    rows = [
        "| " + " | ".join(_escape(column.title) for column in table.columns) + " |",
        "| " + " | ".join("---:" if column.kind == "number" else "---" for column in table.columns) + " |",
        *("| " + " | ".join(_escape(cell or "") for cell in row) + " |" for row in table.rows),
    ]
    notes = "".join(f"\n\n{_escape(note)}" for note in table.notes)
    return f"**{number}. {_escape(table.title)}**\n\n" + "\n".join(rows) + notes


_MARKS = re.compile(r"([\\`*_\[\]<>|#])")


def _escape(text: str) -> str:
    """Text that means itself, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
