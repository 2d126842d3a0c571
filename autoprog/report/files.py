"""A report as files in a folder."""

from __future__ import annotations

from pathlib import Path

import structlog

from autoprog.errors import MissingExtraError
from autoprog.report.document import Report
from autoprog.report.html import write_html
from autoprog.report.markdown import write_markdown


def write_report(report: Report, folder: Path) -> None:
    """Write `report.html` and `report.md`, and `report.docx` where the extra `report` is installed."""
    (folder / "report.html").write_text(write_html(report), encoding="utf-8")
    (folder / "report.md").write_text(write_markdown(report), encoding="utf-8")
    try:
        from autoprog.report.docx import write_docx  # noqa: PLC0415  an extra

        content = write_docx(report)
    except MissingExtraError as error:
        structlog.get_logger("report").info("report_docx_left_out", reason=str(error))
        return
    (folder / "report.docx").write_bytes(content)
