"""Forms of a report."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path


class ReportFormat(StrEnum):
    """Form of a report; the value is the suffix of its file."""

    HTML = "html"
    MARKDOWN = "md"
    DOCX = "docx"


def find_format(path: str | Path) -> ReportFormat:
    """Return the form that a file's suffix names; raises ValueError."""
    suffix = Path(path).suffix
    form = suffix.lower().removeprefix(".")
    try:
        return ReportFormat("html" if form == "htm" else form)
    except ValueError:
        msg = f"a report is written as .html, .md or .docx, not as {suffix or 'a file without a suffix'}"
        raise ValueError(msg) from None
