"""Pages of a session: one question, big answers, and a way back."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from api.auth import Principal
from api.body_limit import SMALL_FORM
from api.catalogues.schemas import PricesRequest
from api.computing import Turn
from api.dependencies import Context, ContextDependency, ReadSession, WriteSession
from api.diagnosis.sessions import service
from api.diagnosis.sessions.schemas import AnswerRequest, SessionDocument, SessionRequest
from api.pages.diagnosis.models import NewSession, model_page
from api.pages.numbers import TypedNumbers, typed_numbers
from api.pages.once import make_once
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from autoprog.diagnosis import Answer, AnswerEffect, predict_answers
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.storage.repositories import DiagnosisModelRepository, DiagnosisSessionRepository

router = APIRouter()

_SHOWN = 5  # candidates
_MAX_FINDINGS = 300  # offered as suggestions

Said = Literal["yes", "no", "unknown"]
_ANSWERS: dict[Said, bool | None] = {"yes": True, "no": False, "unknown": None}


class _Given(BaseModel):
    """An answer as the form sends it."""

    query: str = Field(max_length=1000)
    answer: Said
    number: int = Field(ge=1)  # of this answer, from 1
    volunteered: bool = False


@dataclass(frozen=True, slots=True)
class _View:
    """Everything that the page of a session shows."""

    document: SessionDocument
    model_name: str
    effects: tuple[AnswerEffect, AnswerEffect] | None
    is_noisy: bool
    open_findings: list[str]


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why an answer was not taken."""

    status: HTTPStatus
    text: str


class _Sent(NewSession):
    """The form of a new session, as it was shown once."""

    once: str = Field("", max_length=64)


def _build_request(said: NewSession, numbers: TypedNumbers) -> SessionRequest:
    """Build the request; the service reports what is no number. Raises InvalidInputError for grouped numbers."""
    if not said.catalogue:
        return SessionRequest()
    faults: list[Fault] = []
    prices = PricesRequest(
        minute=numbers.read(said.minute.strip() or "0", "/prices/minute", faults),
        harm=numbers.read(said.harm.strip() or "0", "/prices/harm", faults),
    )
    if faults:
        raise InvalidInputError(faults)
    return SessionRequest(catalogue_id=said.catalogue, prices=prices)


@router.post("/diagnosis/{model_id}/sessions", max_body_size=SMALL_FORM)
def open_session(
    request: Request,
    model_id: str,
    context: ContextDependency,
    principal: PageWriter,
    _turn: Turn,
    said: Annotated[_Sent, Form()],
) -> Response:
    """Open a session, or show what is wrong with its prices.

    A second press leads to the session of the first, unless that has an answer: then it is another patient's.
    """
    owner_id, text = principal.owner_id, translate(request)
    try:
        asked = _build_request(said, typed_numbers(request))
        made = make_once(
            request,
            context,
            owner_id,
            said.once,
            asked.model_dump(mode="json"),
            lambda session: service.open_session(context, session, owner_id, model_id, asked)[0].id,
        )
    except InvalidInputError as error:
        words = {"/prices/minute": text("Minute"), "/prices/harm": text("Harm"), "/catalogue_id": text("Tests")}
        faults = [f"{words.get(fault.pointer, '')}: {text(fault.detail)}" for fault in error.faults]
        with context.database.session(read_only=True) as session:
            return model_page(request, session, principal, model_id, said=said, faults=faults)
    if made.is_repeated and service.resume_session(context, owner_id, made.id)[0].state["answers"]:
        late = text("This form has opened a session already, which has answers. Press again for another patient.")
        with context.database.session(read_only=True) as session:
            return model_page(
                request, session, principal, model_id, said=said, faults=[late], refusal=HTTPStatus.CONFLICT
            )
    return _go(made.id)


@router.get("/diagnosis/sessions/{session_id}")
def show_session(
    request: Request, session_id: str, context: ContextDependency, principal: PageReader, _turn: Turn
) -> Response:
    """Show the question of a session, or its result."""
    return _page(request, context, principal, session_id)


@router.post("/diagnosis/sessions/{session_id}", max_body_size=SMALL_FORM)
def give_answer(
    request: Request,
    session_id: str,
    context: ContextDependency,
    principal: PageWriter,
    _turn: Turn,
    said: Annotated[_Given, Form()],
) -> Response:
    """Add an answer. The page names the answer's number, so that a second press of a button changes nothing."""
    row, _, _ = service.resume_session(context, principal.owner_id, session_id)
    given = [Answer(**each) for each in row.state["answers"]]
    if len(given) >= said.number:
        if (given[said.number - 1].query, given[said.number - 1].answer) == (said.query, _ANSWERS[said.answer]):
            return _go(session_id)
        text = translate(request)
        late = text("The session went on in the meantime, so this answer was not taken. Look again.")
        return _page(request, context, principal, session_id, _Refusal(HTTPStatus.CONFLICT, late))
    asked = AnswerRequest(query=said.query, answer=_ANSWERS[said.answer], volunteered=said.volunteered)
    try:
        with context.database.session() as session:
            service.give_answer(context, session, principal.owner_id, session_id, asked)
    except ConflictError as error:
        return _page(request, context, principal, session_id, _Refusal(HTTPStatus.CONFLICT, str(error)))
    except InvalidInputError as error:
        faults = " ".join(f"{said.query}: {fault.detail}." for fault in error.faults)
        return _page(request, context, principal, session_id, _Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, faults))
    return _go(session_id)


@router.post("/diagnosis/sessions/{session_id}/undo", max_body_size=SMALL_FORM)
def undo_answer(
    session_id: str,
    context: ContextDependency,
    _turn: Turn,
    principal: PageWriter,
    session: WriteSession,
    number: Annotated[int, Form(ge=1)],
) -> Response:
    """Take the last answer back. A second press of the button changes nothing."""
    row, _, _ = service.resume_session(context, principal.owner_id, session_id)
    if len(row.state["answers"]) >= number:
        service.undo_answer(context, session, principal.owner_id, session_id, number)
    return _go(session_id)


@router.get("/diagnosis/sessions/{session_id}/delete")
def ask_to_delete(request: Request, session_id: str, principal: PageWriter, session: ReadSession) -> Response:
    """Ask whether a session is to be deleted."""
    DiagnosisSessionRepository(session).get(principal.owner_id, session_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete this session?"),
        _("All its answers will be deleted. This cannot be undone."),
        f"/diagnosis/sessions/{session_id}",
        ("delete", "yes", _("Delete the session")),
    )


@router.post("/diagnosis/sessions/{session_id}/delete")
def delete_session(session_id: str, principal: PageWriter, session: WriteSession) -> Response:
    """Delete a session and its answers."""
    sessions = DiagnosisSessionRepository(session)
    model_id = sessions.get(principal.owner_id, session_id).model_id
    sessions.delete(principal.owner_id, session_id)
    return redirect(f"/diagnosis/{model_id}")


def _page(
    request: Request, context: Context, principal: Principal, session_id: str, refusal: _Refusal | None = None
) -> Response:
    view = _view(context, principal.owner_id, session_id)
    return render(
        request,
        "diagnosis/session.html",
        status=refusal.status if refusal else HTTPStatus.OK,
        view=view,
        session=view.document,
        refusal=refusal.text if refusal else None,
        shown=_SHOWN,
    )


def _view(context: Context, owner_id: str, session_id: str) -> _View:
    row, sessions, stands = service.resume_session(context, owner_id, session_id)
    with context.database.session(read_only=True) as session:
        name = DiagnosisModelRepository(session).get(owner_id, row.model_id).name
    given = {answer.query for answer in stands.answers}
    return _View(
        service.session_document(row, stands, _SHOWN),
        name,
        predict_answers(stands),
        sessions.model.is_noisy,
        [query for query in sessions.model.queries if query not in given][:_MAX_FINDINGS],
    )


def _go(session_id: str) -> Response:
    return redirect(f"/diagnosis/sessions/{session_id}")
