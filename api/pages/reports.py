"""Reports for people in a browser, whose session the REST API does not know."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api.computing import Turn
from api.dependencies import ContextDependency
from api.models.report import validation_report
from api.pages.sessions import PageReader
from api.reports import AskedForm, choose_format, respond_with_figure, respond_with_report
from api.searches.report import search_report

router = APIRouter()

_VALIDATION = "/models/{model_id}/validations/{validation_id}"


@router.get("/searches/{search_id}/report")
def show_report(
    request: Request,
    search_id: str,
    context: ContextDependency,
    principal: PageReader,
    _turn: Turn,
    form: AskedForm = None,
) -> Response:
    """Show the report of a search, or download it in another form."""
    with context.database.session(read_only=True) as session:
        report = search_report(context, session, principal.owner_id, search_id)
    return respond_with_report(report, choose_format(form, request.headers.get("accept", "")), "figures")


@router.get("/searches/{search_id}/figures/{name}")
def get_figure(search_id: str, name: str, context: ContextDependency, principal: PageReader, _turn: Turn) -> Response:
    """Return a figure of a search's report."""
    with context.database.session(read_only=True) as session:
        report = search_report(context, session, principal.owner_id, search_id)
    return respond_with_figure(report, name)


@router.get(_VALIDATION + "/report")
def show_validation_report(
    request: Request,
    model_id: str,
    validation_id: str,
    context: ContextDependency,
    principal: PageReader,
    _turn: Turn,
    form: AskedForm = None,
) -> Response:
    """Show the report of a validation, or download it in another form."""
    with context.database.session(read_only=True) as session:
        report = validation_report(context, session, principal.owner_id, model_id, validation_id)
    return respond_with_report(report, choose_format(form, request.headers.get("accept", "")), "figures")


@router.get(_VALIDATION + "/figures/{name}")
def get_validation_figure(
    model_id: str, validation_id: str, name: str, context: ContextDependency, principal: PageReader, _turn: Turn
) -> Response:
    """Return a figure of a validation's report."""
    with context.database.session(read_only=True) as session:
        report = validation_report(context, session, principal.owner_id, model_id, validation_id)
    return respond_with_figure(report, name)
