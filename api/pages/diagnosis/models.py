"""Pages of diagnosis models: the list, one model, a new one from a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.auth import Principal
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession
from api.diagnosis.models import service
from api.diagnosis.sessions.service import session_summary
from api.pages.forms import Sent, SentForm
from api.pages.lists import ITEMS, Asked
from api.pages.numbers import GroupedNumberError, typed_numbers
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from api.uploads import Upload
from autoprog.cohort.csv_table import sniff_delimiter
from autoprog.cohort.messages import split_pointer
from autoprog.errors import Fault, InvalidInputError, TooLargeError, UnsupportedMediaError
from autoprog.storage.repositories import CatalogueRepository, DiagnosisModelRepository, DiagnosisSessionRepository
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter()

_ROLES = frozenset({"object", "group", "prior"})
_LIST = "/diagnosis"
_MAX_CATALOGUES = 100  # offered to a new session


class NewSession(BaseModel):
    """The catalogue of a new session and its prices, as the form has them."""

    catalogue: str = Field("", max_length=64)
    minute: str = Field("", max_length=50)
    harm: str = Field("", max_length=50)


_NOTHING_SAID = NewSession()


@router.get(_LIST)
def list_models(request: Request, principal: PageReader, session: ReadSession, asked: Asked) -> Response:
    """List diagnosis models, newest first, or those whose name contains a text."""
    found = asked.find(DiagnosisModelRepository(session), principal.owner_id)
    models = service.model_documents(session, found.items)
    return render(request, "diagnosis/list.html", models=models, asked=asked, next_cursor=found.next_cursor)


@router.get("/diagnosis/new")
def show_new(request: Request, _principal: PageWriter) -> Response:
    """Ask for a table of findings."""
    return render(request, "diagnosis/new.html", form=SentForm(), faults=[])


@router.post("/diagnosis/new")
def create_model(
    request: Request, context: ContextDependency, principal: PageWriter, form: Sent, _turn: Turn
) -> Response:
    """Make a model of a table, or show everything that is wrong with it."""
    try:
        upload = Upload({"spec": json.dumps(_spec(request, form)).encode()}, form.upload)
        with context.database.session() as session:
            model_id = service.create_model(context, session, principal.owner_id, upload).id
    except (InvalidInputError, TooLargeError, UnsupportedMediaError) as error:
        text = translate(request)
        faults = [_say(fault, text) for fault in error.faults] if isinstance(error, InvalidInputError) else [str(error)]
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return render(request, "diagnosis/new.html", status=status, form=form, faults=list(dict.fromkeys(faults)))
    return redirect(f"{_LIST}/{model_id}")


def _spec(request: Request, form: SentForm) -> dict[str, Any]:
    _ = translate(request)
    spec: dict[str, Any] = {"name": form.get("name") or form.file_name.split(".")[0]}
    text = form.get("wrong")
    if not text:
        return spec
    try:
        rate = typed_numbers(request).parse(text) / 100
    except GroupedNumberError as error:
        raise InvalidInputError([Fault("/wrong", str(error))]) from None
    except ValueError:
        fault = _("give the share of wrong answers as a number of percent")
        raise InvalidInputError([Fault("/wrong", fault)]) from None
    if not 0 <= rate < 0.5:
        fault = _("the share of wrong answers must be at least 0 and below 50 percent")
        raise InvalidInputError([Fault("/wrong", fault)])
    if rate:
        rates = {"false_positive_rate": rate, "false_negative_rate": rate}
        spec["queries"] = [{"name": name, **rates} for name in _findings(form.read_file() or b"")]
    return spec


def _findings(content: bytes) -> list[str]:
    """Return the columns of a CSV file that are findings; none of a file that is not CSV, whose reading says why."""
    try:
        head = content.decode("utf-8-sig").split("\n", 1)[0].strip("\r")
    except UnicodeDecodeError:
        raise InvalidInputError([Fault("/file", "with a share of wrong answers, send CSV in UTF-8")]) from None
    try:
        names = next(csv.reader(io.StringIO(head), delimiter=sniff_delimiter(head)), [])
    except csv.Error:
        return []
    return [name.strip() for name in names if name.strip() not in _ROLES]


def _say(fault: Fault, text: Callable[[str], str]) -> str:
    """Return a fault with its place in the table, as nobody here has written the document that pointers lead into."""
    steps = split_pointer(fault.pointer)
    places = {("file",): text("Table"), ("spec", "name"): text("Name")}
    place = places.get(tuple(steps), "")
    if steps[:2] == ["file", "columns"] and len(steps) > 2:
        place = steps[2]
    elif steps[:1] == ["file"] and len(steps) > 2 and steps[2].isdecimal():
        row = text("Row %(number)s") % {"number": int(steps[2]) + 2}  # the header is the first
        place = ", ".join([row, *steps[3:]]) if steps[1] == "objects" else row
    return f"{place}: {fault.detail}" if place else fault.detail


@router.get("/diagnosis/{model_id}")
def show_model(request: Request, model_id: str, principal: PageReader, session: ReadSession) -> Response:
    """Show a model and its sessions."""
    return model_page(request, session, principal, model_id)


def model_page(
    request: Request,
    session: Session,
    principal: Principal,
    model_id: str,
    *,
    said: NewSession = _NOTHING_SAID,
    faults: Sequence[str] = (),
    refusal: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY,
) -> Response:
    """Render a model, its sessions, and the catalogues of tests that a new session may order from."""
    row = DiagnosisModelRepository(session).get(principal.owner_id, model_id)
    (model,) = service.model_documents(session, [row])
    return render(
        request,
        "diagnosis/model.html",
        status=refusal if faults else HTTPStatus.OK,
        model=model,
        said=said,
        sessions=_sessions(session, principal.owner_id, model_id),
        catalogues=CatalogueRepository(session).find(principal.owner_id, "", limit=_MAX_CATALOGUES).items,
        faults=list(dict.fromkeys(faults)),
    )


def _sessions(session: Session, owner_id: str, model_id: str) -> list[Any]:
    found = DiagnosisSessionRepository(session).load_page(owner_id, model_id, limit=ITEMS, newest_first=True)
    return [session_summary(row) for row in found.items]


@router.get("/diagnosis/{model_id}/delete")
def ask_to_delete(request: Request, model_id: str, principal: PageWriter, session: ReadSession) -> Response:
    """Ask whether a model is to be deleted."""
    row = DiagnosisModelRepository(session).get(principal.owner_id, model_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete this diagnosis model?"),
        _("“%(name)s” and all sessions on it will be deleted. This cannot be undone.") % {"name": row.name},
        f"{_LIST}/{model_id}",
        ("delete", "yes", _("Delete the model")),
    )


@router.post("/diagnosis/{model_id}/delete")
def delete_model(model_id: str, context: ContextDependency, principal: PageWriter) -> Response:
    """Delete a model with its tree and sessions."""
    with context.database.session() as session:
        freed = DiagnosisModelRepository(session).delete(principal.owner_id, model_id)
    remove_unreferenced(context.database, context.files, freed)
    return redirect(_LIST)
