"""Routes of `/v1/test-selection/problems/{problem_id}/replays`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from api.auth import Reader, Writer
from api.computing import Turn
from api.dependencies import ContextDependency, ReadSession
from api.idempotency import CollectingOnceDependency, answer
from api.json_route import JsonRoute
from api.openapi import Responses, problems
from api.pagination import ListDocument, PageParameters
from api.test_selection.replays import service
from api.test_selection.replays.schemas import ReplayDocument, ReplayRequest, ReplayResult
from autoprog.storage.repositories import SelectionReplayRepository, StoredAnswer
from autoprog.storage.stored_files import remove_unreferenced

_PATH = "/v1/test-selection/problems/{problem_id}/replays"
_QUEUED: Responses = {
    202: {"model": ReplayDocument, "description": "The replay is queued as a job. `Location` shows its progress."}
}

router = APIRouter(
    prefix=_PATH, tags=["test selection"], responses=problems(401, 403, 429, 503, 507), route_class=JsonRoute
)


@router.post(
    "",
    operation_id="replay_test_selection",
    summary="Replay the policy",
    response_model=ReplayResult,
    responses=problems(404, 409, 413, 415, 422, 429) | _QUEUED,
)
def create_replay(
    problem_id: str,
    request: ReplayRequest,
    context: ContextDependency,
    principal: Writer,
    _turn: Turn,
    once: CollectingOnceDependency,
) -> Response:
    """Run the problem's policy over a table of predictions, from the start. The problem does not change.

    A replay that takes longer than half a second is queued as a job.
    """

    def work(session: Session) -> StoredAnswer:
        checked = service.check_replay(context, principal.owner_id, problem_id, request.beside(once.faults))
        if checked.seconds <= service.MAX_SECONDS_AT_ONCE:
            return answer(200, service.run_replay(checked))
        document = service.queue_replay(context, session, checked)
        location = f"/v1/test-selection/problems/{problem_id}/replays/{document.id}"
        return answer(202, document, Location=location, Retry_After="1")

    return once.run(work)


@router.get(
    "",
    operation_id="list_test_selection_replays",
    summary="List queued replays, oldest first",
    responses=problems(404, 422),
)
def list_replays(
    problem_id: str, principal: Reader, session: ReadSession, page: PageParameters
) -> ListDocument[ReplayDocument]:
    """List the replays that were queued as jobs, without their results."""
    replays = SelectionReplayRepository(session)
    found = replays.load_page(principal.owner_id, problem_id, limit=page.limit, cursor=page.cursor)
    jobs = replays.load_jobs(found.items)
    items = [service.replay_document(row, jobs[row.id], whole=False) for row in found.items if row.id in jobs]
    return ListDocument[ReplayDocument](items=items, next_cursor=found.next_cursor)


@router.get("/{replay_id}", operation_id="get_test_selection_replay", summary="Get a replay", responses=problems(404))
def get_replay(problem_id: str, replay_id: str, principal: Reader, session: ReadSession) -> ReplayDocument:
    """Return the progress and, once the job is finished, the result."""
    replays = SelectionReplayRepository(session)
    row = replays.of(principal.owner_id, problem_id, replay_id)
    return service.replay_document(row, replays.load_job(row))


@router.delete(
    "/{replay_id}",
    operation_id="delete_test_selection_replay",
    summary="Delete a replay",
    status_code=204,
    responses=problems(404),
)
def delete_replay(problem_id: str, replay_id: str, context: ContextDependency, principal: Writer) -> None:
    """Delete the replay. A running job is abandoned."""
    with context.database.session() as session:
        freed = SelectionReplayRepository(session).delete(principal.owner_id, problem_id, replay_id)
    remove_unreferenced(context.database, context.files, [freed])
