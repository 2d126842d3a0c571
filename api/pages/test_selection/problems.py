"""Pages of test-selection problems: the list, one problem, and its catalogue of tests."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from api.auth import Principal
from api.computing import Turn
from api.dependencies import Context, ContextDependency, ReadSession
from api.pages.forms import SentForm, receive_form
from api.pages.lists import ITEMS, Asked
from api.pages.rendering import render, translate
from api.pages.sessions import PageReader, PageWriter
from api.pages.test_selection.catalogue import Catalogue, build_request, copy_catalogue, read_catalogue, say_faults
from api.problems import QueueFullError
from api.test_selection.problems import service
from api.test_selection.rounds.service import round_document
from autoprog.errors import InvalidInputError
from autoprog.storage.repositories import CohortRepository, SelectionProblemRepository, SelectionRoundRepository
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter()

LIST = "/test-selection"
_SHOWN = 20  # arms
_COHORTS = 100
_MORE = 5  # lines


async def _receive(request: Request, context: ContextDependency, _principal: PageWriter) -> SentForm:
    return await receive_form(request, context.settings.upload_mb)


_Sent = Annotated[SentForm, Depends(_receive)]


@router.get(LIST)
def list_problems(request: Request, session: ReadSession, principal: PageReader, asked: Asked) -> Response:
    """List problems, newest first, or those whose name contains a text."""
    found = SelectionProblemRepository(session).find(
        principal.owner_id, asked.text, limit=asked.limit, cursor=asked.cursor
    )
    problems = service.problem_summaries(session, found.items)
    return render(request, "test_selection/list.html", problems=problems, asked=asked, next_cursor=found.next_cursor)


@router.get("/test-selection/new")
def show_new(
    request: Request,
    context: ContextDependency,
    principal: PageWriter,
    copied_id: Annotated[str, Query(alias="copy", max_length=64)] = "",
) -> Response:
    """Ask for a catalogue of tests, filled in from another problem if one is named."""
    catalogue = Catalogue()
    if copied_id:
        with context.database.session(read_only=True) as session:
            catalogue = copy_catalogue(SelectionProblemRepository(session).get(principal.owner_id, copied_id))
    return _form(request, context, principal, catalogue)


@router.post("/test-selection/new")
def create_problem(
    request: Request, context: ContextDependency, principal: PageWriter, form: _Sent, _turn: Turn
) -> Response:
    """Make a problem of a catalogue, or show everything that is wrong with it."""
    catalogue = read_catalogue(form)
    if form.get("more"):
        return _form(request, context, principal, catalogue, more=_MORE)
    copied = None
    if catalogue.copied_id:
        with context.database.session(read_only=True) as session:
            copied = SelectionProblemRepository(session).get(principal.owner_id, catalogue.copied_id)
    try:
        asked = build_request(catalogue, copied)
        with context.database.session() as session:
            problem_id = service.create_problem(context, session, principal.owner_id, asked).id
    except InvalidInputError as error:
        return _form(request, context, principal, catalogue, faults=say_faults(error.faults, catalogue))
    except QueueFullError as error:
        return _form(request, context, principal, catalogue, faults=[str(error)])
    return RedirectResponse(f"{LIST}/{problem_id}", status_code=HTTPStatus.SEE_OTHER)


def _form(
    request: Request,
    context: Context,
    principal: Principal,
    catalogue: Catalogue,
    *,
    more: int = 0,
    faults: Sequence[str] = (),
) -> Response:
    with context.database.session(read_only=True) as session:
        cohorts = CohortRepository(session).find(principal.owner_id, "", limit=_COHORTS).items
        names = {row.id: row.name for row in cohorts}
        if catalogue.cohort_id and catalogue.cohort_id not in names:
            names[catalogue.cohort_id] = CohortRepository(session).get(principal.owner_id, catalogue.cohort_id).name
    return render(
        request,
        "test_selection/new.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK,
        catalogue=catalogue,
        lines=catalogue.lines(more),
        cohorts=names,
        faults=faults,
    )


@router.get("/test-selection/{problem_id}")
def show_problem(
    request: Request, problem_id: str, context: ContextDependency, session: ReadSession, principal: PageReader
) -> Response:
    """Show a problem, the evidence so far, and its latest rounds."""
    return problem_page(request, context, session, principal, problem_id)


def problem_page(
    request: Request,
    context: Context,
    session: ReadSession,
    principal: Principal,
    problem_id: str,
    refusal: str | None = None,
) -> Response:
    """Return the page of a problem, with the reason why something was not done."""
    row = SelectionProblemRepository(session).get(principal.owner_id, problem_id)
    arms = context.live_problems.arms(row)
    rounds = SelectionRoundRepository(session).load_page(principal.owner_id, problem_id, limit=ITEMS, newest_first=True)
    return render(
        request,
        "test_selection/problem.html",
        status=HTTPStatus.CONFLICT if refusal else HTTPStatus.OK,
        problem=service.problem_document(context, session, row),
        rounds=[round_document(arms, each) for each in rounds.items],
        refusal=refusal,
        shown=_SHOWN,
        may_write="write" in principal.scopes,
    )


@router.get("/test-selection/{problem_id}/delete")
def ask_to_delete(request: Request, problem_id: str, session: ReadSession, principal: PageWriter) -> Response:
    """Ask whether a problem is to be deleted."""
    row = SelectionProblemRepository(session).get(principal.owner_id, problem_id)
    _ = translate(request)
    return render(
        request,
        "confirm.html",
        title=_("Delete this catalogue of tests?"),
        what=_("“%(name)s” and all its rounds will be deleted. This cannot be undone.") % {"name": row.name},
        choices=[("delete", "yes", _("Delete the catalogue"))],
        back=f"{LIST}/{problem_id}",
    )


@router.post("/test-selection/{problem_id}/delete")
def delete_problem(problem_id: str, context: ContextDependency, principal: PageWriter) -> Response:
    """Delete a problem with its rounds, replays and classifiers."""
    with context.database.session() as session:
        freed = SelectionProblemRepository(session).delete(principal.owner_id, problem_id)
    remove_unreferenced(context.database, context.files, freed)
    return RedirectResponse(LIST, status_code=HTTPStatus.SEE_OTHER)
