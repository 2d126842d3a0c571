"""Who asks for a page."""

from __future__ import annotations

from fastapi import Request

from api.auth import Predictor, Reader, Writer

PageReader = Reader
PageWriter = Writer
PagePredictor = Predictor


def csrf_token(request: Request) -> str | None:
    """Return the token that forms of this session must send; None without a session."""
    found: str | None = getattr(request.state, "csrf_token", None)
    return found
