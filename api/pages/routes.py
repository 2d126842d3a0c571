"""All pages, their static files, and the choice of a language."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import Response

from api.body_limit import SMALL_FORM
from api.pages.catalogues.routes import router as catalogues
from api.pages.cohorts.routes import router as cohorts
from api.pages.diagnosis.models import router as diagnosis_models
from api.pages.diagnosis.sessions import router as diagnosis_sessions
from api.pages.languages import COOKIE, LANGUAGES
from api.pages.login.routes import router as login
from api.pages.models.routes import router as models
from api.pages.rendering import redirect
from api.pages.reports import router as reports
from api.pages.searches.explanation import router as explanation
from api.pages.searches.lists import router as searches
from api.pages.searches.one import router as search
from api.pages.sessions import check_request, local_path
from api.pages.settings.routes import router as settings
from api.pages.start.routes import router as start
from api.pages.test_selection.problems import router as test_selection
from api.pages.test_selection.rounds import router as rounds
from autoprog.errors import Fault, InvalidInputError, NotFoundError

router = APIRouter(include_in_schema=False, dependencies=[Depends(check_request)])
for part in (
    start, searches, search, explanation, reports, cohorts, models, diagnosis_models, diagnosis_sessions,
    test_selection, rounds, catalogues, login, settings,
):  # fmt: skip
    router.include_router(part)

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain"}
_YEAR_S = 365 * 24 * 3600


@router.get("/static/{name}")
def get_static(name: str) -> Response:
    """Return a static file of the pages."""
    suffix = name[name.rfind(".") :]
    file = files("api.pages").joinpath("static", name)
    if suffix not in _TYPES or "/" in name or not file.is_file():
        raise NotFoundError("there is no such file")
    return Response(file.read_bytes(), media_type=_TYPES[suffix], headers={"Cache-Control": "max-age=3600"})


@router.post("/language", max_body_size=SMALL_FORM)
def choose(request: Request, language: Annotated[str, Form()], back: Annotated[str, Form()] = "/") -> Response:
    """Remember a language, and return to the page that asked."""
    if language not in LANGUAGES:
        raise InvalidInputError([Fault("/language", f"must be one of {', '.join(LANGUAGES)}")])
    response = redirect(local_path(back))
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, language, max_age=_YEAR_S, httponly=True, samesite="strict", secure=secure)
    return response
