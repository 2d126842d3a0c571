"""Pages of test selections, which are problems of the REST API: the list, a new one, one."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from api.auth import Principal
from api.computing import Turn
from api.dependencies import Context, ContextDependency, ReadSession
from api.pages.forms import Sent
from api.pages.lists import ITEMS, Asked
from api.pages.numbers import typed_numbers
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from api.pages.test_lines import MORE_LINES, say_faults, with_blanks
from api.pages.test_selection.problem_form import (
    ProblemForm,
    build_request,
    copy_problem,
    read_problem,
    take_catalogue,
)
from api.problems import QueueFullError
from api.test_selection.problems import service
from api.test_selection.rounds.service import round_document
from autoprog.errors import InvalidInputError
from autoprog.storage.repositories import (
    CatalogueRepository,
    CohortRepository,
    SelectionProblemRepository,
    SelectionRoundRepository,
)
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter()

LIST = "/test-selection"
_SHOWN = 20  # arms
_COHORTS = 100
_CATALOGUES = 100


@router.get(LIST)
def list_problems(request: Request, principal: PageReader, session: ReadSession, asked: Asked) -> Response:
    """List problems, newest first, or those whose name contains a text."""
    found = asked.find(SelectionProblemRepository(session), principal.owner_id)
    problems = service.problem_summaries(session, found.items)
    return render(request, "test_selection/list.html", problems=problems, asked=asked, next_cursor=found.next_cursor)


@router.get("/test-selection/new")
def show_new(
    request: Request,
    context: ContextDependency,
    principal: PageWriter,
    copied_id: Annotated[str, Query(alias="copy", max_length=64)] = "",
    catalogue_id: Annotated[str, Query(alias="catalogue", max_length=64)] = "",
) -> Response:
    """Ask for the tests, filled in from another problem or a catalogue if one is named."""
    shown = ProblemForm()
    with context.database.session(read_only=True) as session:
        if copied_id:
            shown = copy_problem(
                SelectionProblemRepository(session).get(principal.owner_id, copied_id), typed_numbers(request)
            )
        elif catalogue_id:
            shown = take_catalogue(CatalogueRepository(session).get(principal.owner_id, catalogue_id))
    return _form(request, context, principal, shown)


@router.post("/test-selection/new")
def create_problem(
    request: Request, context: ContextDependency, principal: PageWriter, form: Sent, _turn: Turn
) -> Response:
    """Make a problem of its tests, or show everything that is wrong with them."""
    sent = read_problem(form)
    if form.get("more"):
        return _form(request, context, principal, sent, more=MORE_LINES)
    copied, catalogue = None, None
    with context.database.session(read_only=True) as session:
        if sent.copied_id:
            copied = SelectionProblemRepository(session).get(principal.owner_id, sent.copied_id)
        if sent.catalogue_id:
            catalogue = CatalogueRepository(session).get(principal.owner_id, sent.catalogue_id)
    try:
        asked = build_request(sent, copied, catalogue, typed_numbers(request))
        with context.database.session() as session:
            problem_id = service.create_problem(context, session, principal.owner_id, asked).id
    except InvalidInputError as error:
        faults = say_faults(error.faults, sent.tests, translate(request))
        return _form(request, context, principal, sent, faults=faults)
    except QueueFullError as error:
        return _form(request, context, principal, sent, faults=[str(error)])
    return redirect(f"{LIST}/{problem_id}")


def _form(
    request: Request,
    context: Context,
    principal: Principal,
    shown: ProblemForm,
    *,
    more: int = 0,
    faults: Sequence[str] = (),
) -> Response:
    with context.database.session(read_only=True) as session:
        cohorts = CohortRepository(session).find(principal.owner_id, "", limit=_COHORTS).items
        names = {row.id: row.name for row in cohorts}
        if shown.cohort_id and shown.cohort_id not in names:
            names[shown.cohort_id] = CohortRepository(session).get(principal.owner_id, shown.cohort_id).name
        catalogues = CatalogueRepository(session)
        listed = catalogues.find(principal.owner_id, "", limit=_CATALOGUES).items
        chosen = catalogues.get(principal.owner_id, shown.catalogue_id) if shown.catalogue_id else None
    return render(
        request,
        "test_selection/new.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK,
        form=shown,
        lines=with_blanks(shown.tests, more),
        cohorts=names,
        catalogues={row.id: row.name for row in listed},
        catalogue=chosen,
        faults=faults,
    )


@router.get("/test-selection/{problem_id}")
def show_problem(
    request: Request, problem_id: str, context: ContextDependency, principal: PageReader, session: ReadSession
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
    )


@router.get("/test-selection/{problem_id}/delete")
def ask_to_delete(request: Request, problem_id: str, principal: PageWriter, session: ReadSession) -> Response:
    """Ask whether a problem is to be deleted."""
    row = SelectionProblemRepository(session).get(principal.owner_id, problem_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete this test selection?"),
        _("“%(name)s” and all its rounds will be deleted. This cannot be undone.") % {"name": row.name},
        f"{LIST}/{problem_id}",
        ("delete", "yes", _("Delete the test selection")),
    )


@router.post("/test-selection/{problem_id}/delete")
def delete_problem(problem_id: str, context: ContextDependency, principal: PageWriter) -> Response:
    """Delete a problem with its rounds, replays and classifiers."""
    with context.database.session() as session:
        freed = SelectionProblemRepository(session).delete(principal.owner_id, problem_id)
    remove_unreferenced(context.database, context.files, freed)
    return redirect(LIST)
