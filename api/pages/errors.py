"""Problems as pages."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import Response

from api.pages.rendering import render
from api.problems import Problem

_FOR_PROGRAMS = ("/v1", "/livez", "/readyz", "/metrics", "/docs", "/openapi.json", "/problems", "/static")


def is_page(path: str) -> bool:
    """Check whether a path belongs to the pages, not to the REST API or an operator's tools."""
    return not any(path == prefix or path.startswith(f"{prefix}/") for prefix in _FOR_PROGRAMS)


def wants_page(request: Request) -> bool:
    """Check whether a browser asks for a page, and not a program for a document."""
    asks = "text/html" in request.headers.get("accept", "") or "hx-request" in request.headers
    return asks and is_page(request.url.path)


def problem_page(request: Request, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Show a problem as a page, or as a part of one if htmx asks for it."""
    template = "problem_part.html" if "hx-request" in request.headers else "problem.html"
    errors = [fault.detail for fault in problem.errors or ()]
    page = render(request, template, status=problem.status, title=problem.title, detail=problem.detail, errors=errors)
    page.headers.update(headers or {})
    return page
