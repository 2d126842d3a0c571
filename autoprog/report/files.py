"""A report as a file, or as all its files in a folder."""

from __future__ import annotations

from pathlib import Path

import structlog

from autoprog.report.document import Report
from autoprog.report.forms import ReportFormat, find_format
from autoprog.report.html import write_html
from autoprog.report.markdown import write_markdown


def write_report(report: Report, path: Path) -> None:
    """Write a report in the form that the suffix names; raises ValueError, and MissingPackageError for DOCX."""
    form = find_format(path)
    if form is ReportFormat.DOCX:
        from autoprog.report.docx import write_docx  # noqa: PLC0415  an extra

        path.write_bytes(write_docx(report))
    else:
        text = write_html(report) if form is ReportFormat.HTML else write_markdown(report)
        path.write_text(text, encoding="utf-8")


def write_report_files(report: Report, folder: Path) -> None:
    """Write `report.html` and `report.md`, and `report.docx` where the extra `report` is installed."""
    for form in ReportFormat:
        try:
            write_report(report, folder / f"report.{form}")
        except ImportError as error:
            structlog.get_logger("report").info("report_docx_left_out", reason=str(error))
