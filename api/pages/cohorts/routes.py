"""The list of cohorts, one cohort, another search on it, and deleting it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import get_args

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.cohorts.service import cohort_document
from api.computing import Turn
from api.dependencies import Context, ContextDependency, ReadSession
from api.pages.forms import Sent, SentForm
from api.pages.lists import Asked
from api.pages.numbers import GroupedNumberError, typed_numbers
from api.pages.once import FIELD, make_once
from api.pages.rendering import confirm, redirect, render, translate
from api.pages.sessions import PageReader, PageWriter
from api.pages.start.draft import MAX_EVALUATIONS, MINUTES, Errors
from api.searches.service import search_documents, start_search
from api.uploads import Upload
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.report.kinds import read_words
from autoprog.search.settings import MetricName
from autoprog.storage.repositories import CohortRepository, SearchRepository
from autoprog.storage.stored_files import remove_unreferenced

router = APIRouter(include_in_schema=False)

_SEARCHES_SHOWN = 20


@router.get("/cohorts")
def list_cohorts(request: Request, principal: PageReader, session: ReadSession, asked: Asked) -> Response:
    """List cohorts, newest first, or those whose name contains a text."""
    found = asked.find(CohortRepository(session), principal.owner_id)
    documents = [cohort_document(row) for row in found.items]
    return render(request, "cohorts/list.html", cohorts=documents, asked=asked, next_cursor=found.next_cursor)


@router.get("/cohorts/{cohort_id}")
def show_cohort(request: Request, cohort_id: str, principal: PageReader, session: ReadSession) -> Response:
    """Show a cohort, its searches, and the form for another one."""
    return _cohort_page(request, session, principal.owner_id, cohort_id, SentForm())


@router.post("/cohorts/{cohort_id}/searches")
def search_again(
    request: Request, cohort_id: str, context: ContextDependency, principal: PageWriter, form: Sent, _turn: Turn
) -> Response:
    """Start another search on a cohort, or show the faults of the form."""
    try:
        search_id = _start(request, context, principal.owner_id, cohort_id, form)
    except InvalidInputError as error:
        with context.database.session(read_only=True) as session:
            return _cohort_page(request, session, principal.owner_id, cohort_id, form, error.faults)
    return redirect(f"/searches/{search_id}")


def _start(request: Request, context: Context, owner_id: str, cohort_id: str, form: SentForm) -> str:
    _ = translate(request)
    try:
        minutes = typed_numbers(request).parse(form.get("minutes"))
        seed = int(form.get("seed", "0") or 0)
    except GroupedNumberError as error:
        raise InvalidInputError([Fault("/budget/time_s", str(error))]) from None
    except ValueError:
        raise InvalidInputError(
            [Fault("/budget/time_s", _("give a number of minutes, and a whole number as seed"))]
        ) from None
    settings = {
        "cohort_id": cohort_id,
        "budget": {"time_s": 60 * minutes, "evaluations": MAX_EVALUATIONS},
        "seed": seed,
    }
    if metric := form.get("metric"):
        settings["metric"] = metric
    upload = Upload({}, json=json.dumps(settings).encode())
    return make_once(
        request,
        context,
        owner_id,
        form.get(FIELD),
        settings,
        lambda session: start_search(context, session, owner_id, upload).id,
    ).id


def _cohort_page(
    request: Request,
    session: Session,
    owner_id: str,
    cohort_id: str,
    form: SentForm,
    faults: Sequence[Fault] = (),
    *,
    refusal: str | None = None,
) -> Response:
    cohort = cohort_document(CohortRepository(session).get(owner_id, cohort_id))
    rows = SearchRepository(session).find(owner_id, cohort_id=cohort_id, limit=_SEARCHES_SHOWN).items
    kind, _ = read_words(cohort.outcome.model_dump())
    metrics = [name for name in get_args(MetricName) if name in kind.metrics]
    errors = Errors()
    for fault in faults:
        key = {"/budget/time_s": "minutes", "/metric": "metric", "/seed": "seed"}.get(fault.pointer, "top")
        errors.setdefault(key, []).append(fault.detail)
    return render(
        request,
        "cohorts/one.html",
        status=HTTPStatus.CONFLICT if refusal else HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK,
        refusal=refusal,
        cohort=cohort,
        searches=search_documents(session, rows),
        metrics=metrics,
        minutes=MINUTES,
        form=form,
        errors=errors,
    )


@router.get("/cohorts/{cohort_id}/delete")
def ask_to_delete(request: Request, cohort_id: str, principal: PageWriter, session: ReadSession) -> Response:
    """Ask whether a cohort is to be deleted, with or without its models."""
    row = CohortRepository(session).get(principal.owner_id, cohort_id)
    _ = translate(request)
    return confirm(
        request,
        _("Delete this cohort?"),
        _(
            "The patients of “%(name)s” and all searches on them will be deleted. This cannot be undone. Models that "
            "are kept lose their score and report."
        )
        % {"name": row.name},
        f"/cohorts/{cohort_id}",
        ("models", "keep", _("Delete, but keep the models")),
        ("models", "delete", _("Delete with all its models")),
    )


@router.post("/cohorts/{cohort_id}/delete")
def delete_cohort(
    request: Request, cohort_id: str, context: ContextDependency, principal: PageWriter, form: Sent
) -> Response:
    """Delete a cohort."""
    models = form.get("models")
    if models not in {"keep", "delete"}:
        _ = translate(request)
        raise InvalidInputError([Fault("/models", _("Choose whether the models are kept."))])
    try:
        with context.database.session() as session:
            freed = CohortRepository(session).delete(
                principal.owner_id, cohort_id, models="keep" if models == "keep" else "delete"
            )
    except ConflictError as error:  # the page lists the searches that are to end first
        with context.database.session(read_only=True) as session:
            return _cohort_page(request, session, principal.owner_id, cohort_id, SentForm(), refusal=str(error))
    remove_unreferenced(context.database, context.files, freed)
    return redirect("/cohorts")
