"""The list of test catalogues, a new one, one, and deleting it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from api.catalogues import service
from api.catalogues.schemas import CatalogueRequest
from api.dependencies import ReadSession, WriteSession
from api.pages.forms import Sent
from api.pages.lists import Asked
from api.pages.numbers import TypedNumbers, typed_numbers
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from api.pages.test_lines import MORE_LINES, TestLine, read_lines, say_faults, with_blanks
from api.problems import faults_of_validation
from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.repositories import CatalogueRepository
from autoprog.storage.test_selection_tables import CatalogueRow

router = APIRouter()

_LIST = "/test-catalogues"


@dataclass(frozen=True, slots=True)
class _CatalogueForm:
    """Values of the form."""

    name: str = ""
    tests: tuple[TestLine, ...] = ()
    copied_id: str = ""
    replaces: bool = False  # the catalogue that was copied is deleted


@router.get(_LIST)
def list_catalogues(request: Request, principal: PageReader, session: ReadSession, asked: Asked) -> Response:
    """List catalogues, newest first, or those whose name contains a text."""
    found = asked.find(CatalogueRepository(session), principal.owner_id)
    catalogues = [service.catalogue_document(row) for row in found.items]
    return render(request, "catalogues/list.html", catalogues=catalogues, asked=asked, next_cursor=found.next_cursor)


@router.get("/test-catalogues/new")
def show_new(
    request: Request,
    principal: PageWriter,
    session: ReadSession,
    copied_id: Annotated[str, Query(alias="copy", max_length=64)] = "",
) -> Response:
    """Ask for tests, filled in from another catalogue if one is named."""
    shown = _CatalogueForm()
    if copied_id:
        shown = _copy(CatalogueRepository(session).get(principal.owner_id, copied_id), typed_numbers(request))
    return _form(request, shown)


def _copy(row: CatalogueRow, numbers: TypedNumbers) -> _CatalogueForm:
    tests = tuple(TestLine.from_document(test, numbers) for test in row.document["tests"])
    return _CatalogueForm(row.name, tests, row.id)


@router.post("/test-catalogues/new")
def create_catalogue(request: Request, principal: PageWriter, form: Sent, session: WriteSession) -> Response:
    """Make a catalogue, or show everything that is wrong with it."""
    sent = _CatalogueForm(form.get("name"), read_lines(form), form.get("copied_id"), bool(form.get("replaces")))
    if form.get("more"):
        return _form(request, sent, more=MORE_LINES)
    if sent.copied_id:
        CatalogueRepository(session).get(principal.owner_id, sent.copied_id)
    try:
        row = service.create_catalogue(session, principal.owner_id, _build_request(sent, typed_numbers(request)))
    except InvalidInputError as error:
        return _form(request, sent, faults=say_faults(error.faults, sent.tests, translate(request)))
    if sent.copied_id and sent.replaces:
        CatalogueRepository(session).delete(principal.owner_id, sent.copied_id)
    return redirect(f"{_LIST}/{row.id}")


def _build_request(sent: _CatalogueForm, numbers: TypedNumbers) -> CatalogueRequest:
    faults: list[Fault] = []
    fields = {"name": sent.name, "tests": [line.to_document(k, numbers, faults) for k, line in enumerate(sent.tests)]}
    try:
        return CatalogueRequest.model_validate(fields).beside(faults)
    except ValidationError as error:
        raise InvalidInputError([*faults, *faults_of_validation(error.errors(include_input=False))]) from None


def _form(request: Request, shown: _CatalogueForm, *, more: int = 0, faults: Sequence[str] = ()) -> Response:
    return render(
        request,
        "catalogues/new.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK,
        form=shown,
        lines=with_blanks(shown.tests, more),
        faults=faults,
    )


@router.get("/test-catalogues/{catalogue_id}")
def show_catalogue(request: Request, catalogue_id: str, principal: PageReader, session: ReadSession) -> Response:
    """Show the tests of a catalogue."""
    row = CatalogueRepository(session).get(principal.owner_id, catalogue_id)
    catalogue = service.catalogue_document(row)
    return render(request, "catalogues/one.html", catalogue=catalogue)


@router.get("/test-catalogues/{catalogue_id}/delete")
def ask_to_delete(request: Request, catalogue_id: str, principal: PageWriter, session: ReadSession) -> Response:
    """Ask whether a catalogue is to be deleted."""
    row = CatalogueRepository(session).get(principal.owner_id, catalogue_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete this test catalogue?"),
        _("“%(name)s” will be deleted; what was made with its tests stays. This cannot be undone.")
        % {"name": row.name},
        f"{_LIST}/{catalogue_id}",
        ("delete", "yes", _("Delete the catalogue")),
    )


@router.post("/test-catalogues/{catalogue_id}/delete")
def delete_catalogue(catalogue_id: str, principal: PageWriter, session: WriteSession) -> Response:
    """Delete a catalogue."""
    CatalogueRepository(session).delete(principal.owner_id, catalogue_id)
    return redirect(_LIST)
