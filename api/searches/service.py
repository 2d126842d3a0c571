"""Start, continue and show searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from api.cohorts.service import read_upload, store_cohort
from api.dependencies import Context
from api.problems import problem
from api.queue_room import require_room
from api.searches.schemas import (
    ContinuationRequest,
    EvaluationDocument,
    SearchDocument,
    SearchRequest,
)
from api.uploads import Upload, attempt, parse_json
from autoprog.app import documents
from autoprog.cohort import Cohort, from_parquet
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.search import SearchSettings, plan_search
from autoprog.search.settings import MAX_EVALUATIONS
from autoprog.storage.database import database_now
from autoprog.storage.repositories import CohortRepository, EvaluationRepository, SearchRepository, Tally
from autoprog.storage.tables import EvaluationRow, SearchRow, SearchStatus

FINISHED = frozenset({SearchStatus.SUCCEEDED, SearchStatus.FAILED, SearchStatus.CANCELLED})


# Settings that change the table to learn from, and so which algorithms can be chosen.
_SHAPING = frozenset({"reduction", "window", "missing_indicators"})


def start_search(context: Context, session: Session, owner_id: str, body: Upload) -> SearchRow:
    """Queue a search on a stored cohort or on an upload; raises as those do, and QueueFullError."""
    with context.database.session(read_only=True) as reading:
        require_room(context, reading, owner_id)
    if body.json is None:
        return _start_on_upload(context, session, owner_id, body)
    return _start_on_cohort(context, session, owner_id, body.json, body.faults)


def _start_on_cohort(
    context: Context, session: Session, owner_id: str, text: bytes, found: Sequence[Fault]
) -> SearchRow:
    """Queue a search on a stored cohort; raises NotFoundError and InvalidInputError."""
    faults = list(found)
    request = parse_json(SearchRequest, text, "", faults, _SHAPING)
    if request is None:
        raise InvalidInputError(faults)
    # Read separately: the writing transaction must not stay open for as long as a large file takes.
    with context.database.session(read_only=True) as reading:
        sha256 = CohortRepository(reading).get(owner_id, request.cohort_id).sha256
    cohort = from_parquet(context.files.get("cohorts", sha256))
    planned = attempt(faults, lambda: plan_search(request.settings(), cohort))
    if planned is None or faults:
        raise InvalidInputError(faults)
    return _queue(session, owner_id, request.cohort_id, *planned)


def _start_on_upload(context: Context, session: Session, owner_id: str, upload: Upload) -> SearchRow:
    """Store an uploaded cohort and queue a search on it, both or neither; raises as `create_cohort` does."""
    faults: list[Fault] = []
    asked = parse_json(SearchSettings, upload.parts.get("search", b"{}"), "/search", faults, _SHAPING)
    read = read_upload(context, upload, faults)
    planned = None
    if read is not None and asked is not None:
        planned = attempt(faults, _planning(asked, read[1].cohort), "/search")
    if read is None or planned is None or faults:
        raise InvalidInputError(faults)
    cohort = store_cohort(context, session, owner_id, *read)
    return _queue(session, owner_id, cohort.id, *planned)


def continue_search(
    context: Context, session: Session, owner_id: str, search_id: str, request: ContinuationRequest
) -> SearchRow:
    """Queue a continuation of an ended search; raises NotFound-, Conflict-, InvalidInput- and QueueFullError."""
    with context.database.session(read_only=True) as reading:
        require_room(context, reading, owner_id)
    searches = SearchRepository(session)
    settings = SearchSettings.model_validate(searches.get(owner_id, search_id).settings)
    evaluations = searches.n_proposed(search_id) + request.evaluations
    if evaluations == 0:
        raise ConflictError("the search has evaluated nothing that could be delivered again")
    if evaluations > MAX_EVALUATIONS:
        fault = f"{evaluations:,} evaluations with those of the search; {MAX_EVALUATIONS:,} are the most"
        raise InvalidInputError([Fault("/evaluations", fault)])
    budget = settings.budget.model_copy(update={"time_s": request.time_s, "evaluations": evaluations})
    document = settings.model_copy(update={"budget": budget}).model_dump(mode="json")
    return searches.add_continuation(owner_id, search_id, settings=document)


def _planning(settings: SearchSettings, cohort: Cohort) -> Callable[[], tuple[SearchSettings, tuple[str, ...]]]:
    return lambda: plan_search(settings, cohort)


def _queue(
    session: Session, owner_id: str, cohort_id: str, settings: SearchSettings, warnings: Sequence[str]
) -> SearchRow:
    document = settings.model_dump(mode="json")
    return SearchRepository(session).add(owner_id, cohort_id, settings=document, warnings=warnings)


def search_documents(session: Session, rows: Sequence[SearchRow]) -> list[SearchDocument]:
    """Return the documents of searches, in the same order."""
    tallies = EvaluationRepository(session).tallies(rows)
    now = database_now(session)
    return [_search_document(row, tallies[row.id], now) for row in rows]


def _search_document(row: SearchRow, tally: Tally, now: datetime) -> SearchDocument:
    error = None if row.error is None else problem(row.error["code"], row.error["detail"])
    return SearchDocument.model_validate({**documents.search_document(row, tally, now), "error": error})


def evaluation_document(row: EvaluationRow) -> EvaluationDocument:
    """Return the document of an evaluation; its number is its identifier within the search."""
    return EvaluationDocument.model_validate(documents.evaluation_document(row))


def load_result(row: SearchRow, name: str) -> dict[str, Any]:
    """Return the `ensemble`, `rules` or `decomposition` of a search; raises ConflictError if there is none yet."""
    document: dict[str, Any] | None = getattr(row, name)
    if document is None:
        raise missing_result(row, name)
    return document


def missing_result(row: SearchRow, name: str) -> ConflictError:
    """Explain why a search has no such result."""
    if row.status not in FINISHED:
        return ConflictError(f"the search has no {name} yet: it is {row.status}")
    if row.ensemble is not None and name == "decomposition":
        why = "it evaluated the opening alone, or its time ended before it could conclude"
        return ConflictError(f"the search has no decomposition: {why}")
    if row.ensemble is not None:
        return ConflictError(f"the search has no {name} any longer: it was deleted")
    return ConflictError(f"the search has no {name}: it ended as {row.status}")
