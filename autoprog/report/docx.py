"""A report as a DOCX file that Word and LibreOffice open: styles, captions, repeated heads, figures at 300 dpi."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from autoprog.extras import require
from autoprog.report.document import Block, Figure, ItemList, Notice, Paragraph, Report, Table
from autoprog.report.drawing import draw
from autoprog.report.numbering import number_blocks
from autoprog.report.png import write_png
from autoprog.xml_text import make_writable

if TYPE_CHECKING:
    from docx.document import Document

_FONT = "Calibri"
_WIDTH_PT = 453.0  # of the text on A4 with margins of 2.5 cm


def write_docx(report: Report) -> bytes:
    """Write a report as a DOCX file.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    bytes
        The file.

    Raises
    ------
    MissingPackageError
        Without python-docx or matplotlib.
    """
    for module in ("docx", "matplotlib"):
        require(module, "a report as DOCX")
    from docx import Document as new_document  # noqa: N813, PLC0415  an extra

    document = new_document()
    _set_up(document, report)
    numbers = number_blocks(report)
    document.add_heading(make_writable(report.title), 0)
    document.add_paragraph(make_writable(report.subtitle), style="Subtitle")
    for section in report.sections:
        document.add_heading(make_writable(section.title), 1)
        if section.left_out is not None:
            document.add_paragraph().add_run(make_writable(section.left_out)).italic = True
        for block in section.blocks:
            _add(document, block, numbers)
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def _set_up(document: Document, report: Report) -> None:
    from docx.oxml import OxmlElement  # noqa: PLC0415
    from docx.oxml.ns import qn  # noqa: PLC0415
    from docx.shared import Cm, Pt, RGBColor  # noqa: PLC0415

    page = document.sections[0]
    page.page_width, page.page_height = Cm(21), Cm(29.7)
    page.left_margin = page.right_margin = page.top_margin = page.bottom_margin = Cm(2.5)
    styles: Any = document.styles
    for name, size in (("Normal", 10.5), ("Title", 20), ("Subtitle", 11), ("Heading 1", 14), ("Caption", 9.5)):
        font = styles[name].font
        font.name, font.size, font.color.rgb = _FONT, Pt(size), RGBColor(0x1B, 0x1F, 0x24)
        fonts = styles[name].element.get_or_add_rPr().get_or_add_rFonts()
        for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
            fonts.attrib.pop(qn(f"w:{theme}"), None)
    styles["Subtitle"].font.italic = False
    styles["Caption"].font.bold = False
    document.core_properties.title = make_writable(report.title)[:255]
    document.core_properties.author = ""
    page.header.paragraphs[0].text = make_writable(report.title)
    run: Any = page.footer.paragraphs[0].add_run()
    for kind, text in (("begin", None), (None, "PAGE"), ("end", None)):
        element = OxmlElement("w:fldChar" if kind else "w:instrText")
        if kind:
            element.set(qn("w:fldCharType"), kind)
        else:
            element.text = text
        run._r.append(element)  # noqa: SLF001  python-docx has no page numbers


def _add(document: Document, block: Block, numbers: dict[str, str]) -> None:
    if isinstance(block, Paragraph):
        document.add_paragraph(make_writable(block.text))
    elif isinstance(block, Notice):
        run = document.add_paragraph(style="Intense Quote").add_run(make_writable(block.text))
        run.italic = False
    elif isinstance(block, ItemList):
        _add_list(document, block)
    elif isinstance(block, Table):
        _add_table(document, block, numbers[block.name])
    else:
        _add_figure(document, block, numbers[block.name])


def _add_list(document: Document, block: ItemList) -> None:
    style: Any = document.styles["List Number" if block.numbered else "List Bullet"]
    lines: list[Any] = [document.add_paragraph(make_writable(item), style=style) for item in block.items]
    if not block.numbered:
        return
    # The paragraphs of a style share its numbering, which Word continues from list to list: each list has its own.
    numbering: Any = document.part.numbering_part.element
    of_style = numbering.num_having_numId(style.element.pPr.numPr.numId.val)
    own = numbering.add_num(of_style.abstractNumId.val)
    own.add_lvlOverride(ilvl=0).add_startOverride(1)
    for line in lines:
        numbered = line._p.get_or_add_pPr().get_or_add_numPr()  # noqa: SLF001  python-docx has no restart of lists
        numbered.get_or_add_ilvl().val = 0
        numbered.get_or_add_numId().val = own.numId


def _add_table(document: Document, table: Table, number: str) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH  # noqa: PLC0415
    from docx.oxml import OxmlElement  # noqa: PLC0415

    caption = document.add_paragraph(style="Caption")
    caption.add_run(f"{number}. ").bold = True
    caption.add_run(make_writable(table.title))
    caption.paragraph_format.keep_with_next = True
    grid: Any = document.add_table(len(table.rows) + 1, len(table.columns), style="Light List")
    head = grid.rows[0]._tr.get_or_add_trPr()  # noqa: SLF001  python-docx has no repeated heads
    head.append(OxmlElement("w:tblHeader"))
    titles: Sequence[Sequence[str | None]] = [[column.title for column in table.columns], *table.rows]
    for cells, texts in zip(grid._tbl.tr_lst, titles, strict=True):  # noqa: SLF001  `rows[i].cells` takes the square of the time
        cells.get_or_add_trPr().append(OxmlElement("w:cantSplit"))
        for k, (cell, text) in enumerate(zip(cells.tc_lst, texts, strict=True)):
            from docx.text.paragraph import Paragraph as Line  # noqa: PLC0415

            line = Line(cell.p_lst[0], grid)
            run = line.add_run(make_writable(text or ""))
            run.font.size = _points(9)
            run.bold = cells is grid._tbl.tr_lst[0]  # noqa: SLF001
            line.paragraph_format.space_after = _points(1)
            if table.columns[k].kind == "number":
                line.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    for note in table.notes:
        document.add_paragraph(style="Caption").add_run(make_writable(note))


def _add_figure(document: Document, figure: Figure, number: str) -> None:
    scene = draw(figure.data)
    picture = document.add_picture(BytesIO(write_png(scene)), width=_points(min(scene.width, _WIDTH_PT)))
    properties = picture._inline.docPr  # noqa: SLF001  python-docx has no alternative texts
    properties.set("descr", make_writable(figure.alt))
    document.paragraphs[-1].paragraph_format.keep_with_next = True
    caption = document.add_paragraph(style="Caption")
    caption.add_run(f"{number}. {make_writable(figure.title)}. ").bold = True
    caption.add_run(make_writable(figure.caption))


def _points(size: float) -> Any:  # noqa: ANN401  python-docx is an extra
    from docx.shared import Pt  # noqa: PLC0415

    return Pt(size)
