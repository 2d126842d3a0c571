"""A report as a file, or as all its files in a folder."""

from __future__ import annotations

from pathlib import Path

import structlog

from autoprog.report.document import Report
from autoprog.report.html import write_html
from autoprog.report.markdown import write_markdown

SUFFIXES = (".html", ".md", ".docx")
"""Suffixes of a report's files."""


def write_report(report: Report, path: Path) -> None:
    """Write a report in the form that the suffix names; raises ValueError, and MissingPackageError for DOCX."""
    form = find_form(path)
    if form == ".docx":
        from autoprog.report.docx import write_docx  # noqa: PLC0415  an extra

        path.write_bytes(write_docx(report))
    else:
        path.write_text(write_html(report) if form == ".html" else write_markdown(report), encoding="utf-8")


def find_form(path: Path) -> str:
    """Return the suffix in lower case, `.html` for `.htm`; raises ValueError for one that is no report's."""
    form = ".html" if path.suffix.lower() == ".htm" else path.suffix.lower()
    if form not in SUFFIXES:
        msg = f"a report is written as .html, .md or .docx, not as {path.suffix or 'a file without a suffix'}"
        raise ValueError(msg)
    return form


def write_report_files(report: Report, folder: Path) -> None:
    """Write `report.html` and `report.md`, and `report.docx` where the extra `report` is installed."""
    for suffix in SUFFIXES:
        try:
            write_report(report, folder / f"report{suffix}")
        except ImportError as error:
            structlog.get_logger("report").info("report_docx_left_out", reason=str(error))
