"""Responses with a report, in the form that the client asks for, and with its figures."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Annotated, Any

from fastapi import Path, Query, Response
from fastapi.responses import HTMLResponse

from autoprog.errors import NotFoundError
from autoprog.report.document import Report
from autoprog.report.drawing import draw
from autoprog.report.forms import ReportFormat

_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


FigureName = Annotated[str, Path(description="Name of a figure with its form, such as `roc.svg` or `roc.png`.")]
"""Path parameter of a figure."""

AskedForm = Annotated[
    ReportFormat | None, Query(alias="format", description="Form of the report. Default: by `Accept`, else HTML.")
]
"""Query parameter of a report's form."""

_TYPES = {ReportFormat.HTML: "text/html", ReportFormat.MARKDOWN: "text/markdown", ReportFormat.DOCX: _DOCX}

REPORT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The report.", "content": {kind: {"schema": {"type": "string"}} for kind in _TYPES.values()}}
}
"""Responses that the routes of reports declare."""

FIGURE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The figure.",
        "content": {kind: {"schema": {"type": "string"}} for kind in ("image/svg+xml", "image/png")},
    }
}
"""Responses that the routes of figures declare."""


class Renderings:
    """The last renderings of this process; a request for one that is under way waits for it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[Hashable, Future[bytes]] = OrderedDict()

    def get(self, what: Hashable, render: Callable[[], bytes]) -> bytes:
        """Return what was rendered before, or render it."""
        with self._lock:
            mine = what not in self._found
            found = self._found.setdefault(what, Future())
            self._found.move_to_end(what)
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        if mine:
            try:
                found.set_result(render())
            except BaseException as error:
                found.set_exception(error)
                with self._lock:
                    if self._found.get(what) is found:
                        del self._found[what]
                raise
        return found.result()


# The key is the whole report: a file that is kept is never older than the stored result.
_documents = Renderings(most=4)
_pictures = Renderings(most=32)


def choose_format(asked: ReportFormat | None, accept: str) -> ReportFormat:
    """Choose the form: what the query asks for, else the first in `Accept` that there is, else HTML."""
    if asked is not None:
        return asked
    by_type = {kind: form for form, kind in _TYPES.items()}
    wanted = [part.split(";")[0].strip().lower() for part in accept.split(",")]
    return next((by_type[kind] for kind in wanted if kind in by_type), ReportFormat.HTML)


def respond_with_report(report: Report, form: ReportFormat, figures_at: str | None) -> Response:
    """Write a report; `figures_at` is the address of its figures. Raises MissingPackageError."""
    headers = {"Vary": "Accept"}
    if form is ReportFormat.HTML:
        from autoprog.report.html import write_html  # noqa: PLC0415  the template engine, for this form alone

        return HTMLResponse(write_html(report, figures_at), headers={**headers, "Content-Security-Policy": _POLICY})
    if form is ReportFormat.MARKDOWN:
        from autoprog.report.markdown import write_markdown  # noqa: PLC0415

        text = write_markdown(report, None if figures_at is None else lambda figure: f"{figures_at}/{figure.name}.svg")
        return Response(text, media_type=_TYPES[form], headers=headers)
    from autoprog.report.docx import write_docx  # noqa: PLC0415  an extra

    disposition = 'attachment; filename="report.docx"'
    content = _documents.get(report, lambda: write_docx(report))
    return Response(content, media_type=_DOCX, headers={**headers, "Content-Disposition": disposition})


def respond_with_figure(report: Report, name: str) -> Response:
    """Draw a figure of a report; raises NotFoundError and MissingPackageError."""
    stem, _, form = name.rpartition(".")
    figure = next((figure for figure in report.figures() if figure.name == stem), None)
    if figure is None or form not in {"svg", "png"}:
        names = ", ".join(figure.name for figure in report.figures())
        raise NotFoundError(f"there is no such figure; the report has, each as .svg and .png, {names}")
    if form == "svg":
        from autoprog.report.svg import write_svg  # noqa: PLC0415

        drawn = write_svg(draw(figure.data), figure.title, figure.alt)
        return Response(drawn, media_type="image/svg+xml", headers={"Content-Security-Policy": "default-src 'none'"})
    from autoprog.report.png import write_png  # noqa: PLC0415  an extra

    picture = _pictures.get(figure.data, lambda: write_png(draw(figure.data)))
    return Response(picture, media_type="image/png")
