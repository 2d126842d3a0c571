"""Start, continue and show searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from api.cohorts.service import read_upload, store_cohort
from api.dependencies import Context
from api.problems import Problem, problem
from api.queue_room import require_room
from api.searches.schemas import (
    ContinuationRequest,
    EvaluationCounts,
    EvaluationDocument,
    FailureCounts,
    PathDocument,
    Progress,
    SearchDocument,
    SearchRequest,
    SettingDocument,
    StartDocument,
)
from api.uploads import Upload, attempt, parse_json
from autoprog.cohort import Cohort, from_parquet
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.evaluation import EvaluatedPath
from autoprog.search import SearchSettings, plan_search
from autoprog.search.settings import MAX_EVALUATIONS
from autoprog.storage.database import database_now
from autoprog.storage.leases import spent_s
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
    settings = SearchSettings.model_validate(row.settings)
    account = FailureCounts(**{reason: tally.counts.get(reason, 0) for reason in FailureCounts.model_fields})
    counts = EvaluationCounts(
        succeeded=tally.counts.get("succeeded", 0),
        failed=sum(account.model_dump().values()),
        budget=settings.budget.evaluations,
    )
    elapsed_s = spent_s(row, now)
    is_running = row.status == SearchStatus.RUNNING
    return SearchDocument(
        id=row.id,
        cohort_id=row.cohort_id,
        model_id=row.model_id,
        continues=row.continues_id,
        status=SearchStatus(row.status),
        phase=row.phase,
        progress=Progress(
            evaluations=counts,
            elapsed_s=elapsed_s,
            eta_s=_eta_s(settings, counts, elapsed_s) if is_running else None,
            best_score=tally.best_score,
        ),
        account=account,
        settings=settings,
        start=None if row.start is None else StartDocument.model_validate(row.start),
        warnings=row.warnings,
        error=_read_error(row),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def _eta_s(settings: SearchSettings, counts: EvaluationCounts, elapsed_s: float) -> float:
    """Return the seconds until the first budget is spent, at the pace so far."""
    remaining_s = settings.budget.time_s - elapsed_s
    done = counts.succeeded + counts.failed
    if done:
        remaining_s = min(remaining_s, (counts.budget - done) * elapsed_s / done)
    return max(remaining_s, 0.0)


def _read_error(row: SearchRow) -> Problem | None:
    return None if row.error is None else problem(row.error["code"], row.error["detail"])


def evaluation_document(row: EvaluationRow) -> EvaluationDocument:
    """Return the document of an evaluation; its number is its identifier within the search."""
    return EvaluationDocument(
        id=str(row.number),
        configuration=row.configuration,
        status=row.status,
        score=row.score,
        fold_scores=row.fold_scores,
        duration_s=row.duration_s,
        reason=row.reason,
        n_patients=row.n_patients,
        path=None if row.path is None else _path_document(EvaluatedPath.from_json(row.path)),
        out_of_bag=row.out_of_bag,
    )


def _path_document(path: EvaluatedPath) -> PathDocument:
    settings = [SettingDocument(value=s.value, score=s.score) for s in path.settings]
    return PathDocument(hyperparameter=path.hyperparameter, bound=path.bound, settings=settings)


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
