"""The page of one search: its progress while it runs, then its result."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.body_limit import SMALL_FORM
from api.cohorts.service import cohort_document
from api.dependencies import ContextDependency, ReadSession, WriteSession
from api.pages.once import make_once
from api.pages.rendering import redirect, render
from api.pages.searches.progress import draw_progress
from api.pages.searches.results import choose_rules, find_doubts, list_horizons
from api.pages.sessions import PageReader, PageWriter
from api.pages.start.draft import MINUTES
from api.searches import service
from api.searches.schemas import ContinuationRequest
from autoprog.app.remedies import find_remedies
from autoprog.errors import Fault, InvalidInputError
from autoprog.performance import metric_direction
from autoprog.storage.repositories import CohortRepository, EvaluationRepository, SearchRepository

router = APIRouter()

_EVALUATIONS_A_MINUTE = 100
_SHOWN = 10
_LOWER_IS_BETTER = frozenset({"brier", "log_loss"})  # of the measures of a gain


@router.get("/searches/{search_id}")
def show_search(request: Request, search_id: str, principal: PageReader, session: ReadSession) -> Response:
    """Show a search that runs, or the result of one that has ended."""
    values = _load(session, principal.owner_id, search_id)
    if values["search"].finished_at is None:
        return render(request, "searches/running.html", **values)
    row = SearchRepository(session).get(principal.owner_id, search_id)
    if row.ensemble is None:
        counts = EvaluationRepository(session).count_by_status(principal.owner_id, search_id)
        return render(request, "searches/failed.html", minutes=MINUTES, remedies=find_remedies(counts), **values)
    verdict = find_doubts(row.ensemble)
    best = EvaluationRepository(session).page(principal.owner_id, search_id, sort="score", limit=_SHOWN).items
    return render(
        request,
        "searches/result.html",
        ensemble=row.ensemble,
        horizons=list_horizons(row.ensemble),
        is_better=_is_better,
        verdict=verdict,
        rules=choose_rules(row.rules, verdict),
        best=[service.evaluation_document(each) for each in best],
        minutes=MINUTES,
        **values,
    )


@router.get("/searches/{search_id}/progress")
def show_progress(request: Request, search_id: str, principal: PageReader, session: ReadSession) -> Response:
    """Return the part of the page that changes while a search runs; the browser loads the page anew at its end."""
    values = _load(session, principal.owner_id, search_id)
    response = render(request, "searches/progress.html", **values)
    if values["search"].finished_at is not None:
        response.headers["HX-Refresh"] = "true"
    return response


@router.post("/searches/{search_id}/stop")
def stop_search(search_id: str, principal: PageWriter, session: WriteSession) -> Response:
    """Let a search end now with what it has found."""
    SearchRepository(session).request_cancel(principal.owner_id, search_id)
    return redirect(f"/searches/{search_id}")


@router.post("/searches/{search_id}/continue", max_body_size=SMALL_FORM)
def continue_search(
    request: Request,
    search_id: str,
    context: ContextDependency,
    principal: PageWriter,
    minutes: Annotated[int, Form()],
    once: Annotated[str, Form()] = "",
) -> Response:
    """Go on with an ended search for some more minutes."""
    if minutes not in MINUTES:
        raise InvalidInputError([Fault("/minutes", f"choose one of {', '.join(map(str, MINUTES))} minutes")])
    asked = ContinuationRequest(time_s=60 * minutes, evaluations=_EVALUATIONS_A_MINUTE * minutes)
    owner_id = principal.owner_id
    made = make_once(
        request,
        context,
        owner_id,
        once,
        minutes,
        lambda session: service.continue_search(context, session, owner_id, search_id, asked).id,
    )
    return redirect(f"/searches/{made.id}")


def _load(session: Session, owner_id: str, search_id: str) -> dict[str, Any]:
    """Return what all pages of a search show."""
    row = SearchRepository(session).get(owner_id, search_id)
    (search,) = service.search_documents(session, [row])
    found = EvaluationRepository(session).list_scores(owner_id, search_id)
    metric = str(search.settings.metric)
    return {
        "search": search,
        "cohort": cohort_document(CohortRepository(session).get(owner_id, row.cohort_id)),
        "plot": draw_progress(found, greater_is_better=metric_direction(metric).greater_is_better),
        "metric": metric,
        "is_stopping": row.cancel_requested_at is not None,
    }


def _is_better(gain: dict[str, dict[str, float]]) -> bool:
    """Check whether the model is better than the simple pipeline by one measure at least, and worse by none."""
    better = [x["upper"] < 0 if name in _LOWER_IS_BETTER else x["lower"] > 0 for name, x in gain.items()]
    worse = [x["lower"] > 0 if name in _LOWER_IS_BETTER else x["upper"] < 0 for name, x in gain.items()]
    return any(better) and not any(worse)
