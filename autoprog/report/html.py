"""A report as one HTML page that loads nothing: no script, no font, no picture from elsewhere; it prints as a paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autoprog.report.document import Block, Column, Figure, ItemList, Notice, Paragraph, Report, Table
from autoprog.report.drawing import draw
from autoprog.report.numbering import number_blocks
from autoprog.report.svg import write_svg

_WIDE_TABLE = 7  # columns
_WIDE_SCENE = 360.0  # points


@dataclass(frozen=True)
class _Shown:
    """A block with what the template needs beside it."""

    kind: str
    block: Block
    number: str
    svg: Markup
    is_wide: bool  # a table in smaller print, a drawing that a phone scrolls


def write_html(report: Report, figures_at: str | None = None) -> str:
    """Write a report as a self-contained page.

    Parameters
    ----------
    report : Report
        The report.
    figures_at : str or None
        Address of the folder that has each figure as `NAME.svg` and `NAME.png`, for links to them; None for no links.

    Returns
    -------
    str
        The page, with print styles.
    """
    numbers = number_blocks(report)
    shown = [(section, [_show(block, numbers) for block in section.blocks]) for section in report.sections]
    return _environment().get_template("report.html").render(report=report, sections=shown, figures_at=figures_at)


def _show(block: Block, numbers: dict[str, str]) -> _Shown:
    kinds = {Paragraph: "paragraph", Notice: "notice", ItemList: "list", Table: "table", Figure: "figure"}
    number = numbers[block.name] if isinstance(block, Table | Figure) else ""
    svg, is_wide = Markup(""), isinstance(block, Table) and len(block.columns) >= _WIDE_TABLE
    if isinstance(block, Figure):
        scene = draw(block.data)
        # Every text of the drawing is escaped by `write_svg`.
        svg = Markup(write_svg(scene, block.title, block.alt, f"f-{block.name}"))  # noqa: S704
        is_wide = scene.width > _WIDE_SCENE
    return _Shown(kinds[type(block)], block, number, svg, is_wide)


def _has_head(columns: tuple[Column, ...]) -> bool:
    return any(column.title for column in columns)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autoprog.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["headed"] = _has_head
    return environment
