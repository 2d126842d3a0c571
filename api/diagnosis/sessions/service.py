"""Sessions: from answers to the next question.

A session is stored as its answers; its state follows from them and the model.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session as Transaction

from api.dependencies import Context
from api.diagnosis.sessions.schemas import (
    AnswerDocument,
    AnswerRequest,
    BatchDocument,
    ContradictionDocument,
    GroupCandidate,
    NearestDocument,
    NextQueryDocument,
    ObjectCandidate,
    ResultDocument,
    SessionDocument,
    SessionRequest,
    SessionSummary,
)
from autoprog.diagnosis import Answer, Session, Sessions
from autoprog.storage.repositories import DiagnosisModelRepository, DiagnosisSessionRepository
from autoprog.storage.tables import DiagnosisSessionRow

_MAX_OBJECTS = 1000


def open_session(
    context: Context, transaction: Transaction, owner_id: str, model_id: str, request: SessionRequest
) -> tuple[DiagnosisSessionRow, Session]:
    """Open a session and return its row and state; raises NotFoundError and InvalidInputError."""
    with context.database.session(read_only=True) as reading:
        sha256 = DiagnosisModelRepository(reading).get(owner_id, model_id).sha256
    known = [Answer(each.query, each.answer) for each in request.known]
    opened = context.load_diagnosis(sha256).open(known, request.certainty)
    return DiagnosisSessionRepository(transaction).add(owner_id, model_id, _describe_state(opened)), opened


def resume_session(context: Context, owner_id: str, session_id: str) -> tuple[DiagnosisSessionRow, Sessions, Session]:
    """Return a session's row, the sessions on its model, and its state; raises NotFoundError."""
    with context.database.session(read_only=True) as reading:
        row, model = DiagnosisSessionRepository(reading).with_model(owner_id, session_id)
    sessions = context.load_diagnosis(model.sha256)
    answers = [Answer(**answer) for answer in row.state["answers"]]
    return row, sessions, sessions.resume(answers, row.state["certainty"])


def give_answer(
    context: Context, transaction: Transaction, owner_id: str, session_id: str, request: AnswerRequest
) -> tuple[DiagnosisSessionRow, Session]:
    """Add an answer to a session; raises NotFoundError, InvalidInputError and ConflictError."""
    # Reading and computing happen outside `transaction`, which stays short.
    row, sessions, before = resume_session(context, owner_id, session_id)
    after = sessions.answer(before, request.query, request.answer, volunteered=request.volunteered)
    return DiagnosisSessionRepository(transaction).change(row, _describe_state(after)), after


def undo_answer(context: Context, transaction: Transaction, owner_id: str, session_id: str, number: int) -> None:
    """Take back a session's last answer; raises NotFoundError, and ConflictError if `number` is not the last one's."""
    row, sessions, before = resume_session(context, owner_id, session_id)
    after = sessions.undo(before, number)
    DiagnosisSessionRepository(transaction).change(row, _describe_state(after))


def batch_document(context: Context, owner_id: str, session_id: str, size: int) -> BatchDocument:
    """Return up to `size` questions that a session can ask at once; raises NotFoundError and ConflictError."""
    _, sessions, stands = resume_session(context, owner_id, session_id)
    batch = sessions.batch(stands, size)
    queries = [NextQueryDocument(name=each.name, gain=each.gain) for each in batch.queries]
    return BatchDocument(queries=queries, gain=batch.gain)


def _describe_state(session: Session) -> dict[str, Any]:
    answers = [{"query": a.query, "answer": a.answer, "volunteered": a.volunteered} for a in session.answers]
    return {"answers": answers, "certainty": session.certainty, "status": session.status}


def session_summary(row: DiagnosisSessionRow) -> SessionSummary:
    """Return a session as a list shows it, without loading its model."""
    return SessionSummary(
        id=row.id,
        model_id=row.model_id,
        certainty=row.state["certainty"],
        status=row.state["status"],
        done=row.state["status"] != "asking",
        answers=[AnswerDocument(number=i, **answer) for i, answer in enumerate(row.state["answers"], 1)],
        created_at=row.created_at,
        changed_at=row.changed_at,
    )


def session_document(row: DiagnosisSessionRow, session: Session, most: int) -> SessionDocument:
    """Return a session's document with at most `most` candidates."""
    following = session.next_query
    return SessionDocument(
        **session_summary(row).model_dump(),
        next_query=None if following is None else NextQueryDocument(name=following.name, gain=following.gain),
        remaining=_remaining(session, most),
        n_remaining=session.n_remaining,
        result=_result(session),
        contradiction=_contradiction(session),
    )


def _remaining(session: Session, most: int) -> list[ObjectCandidate] | list[GroupCandidate]:
    left = session.remaining(most)
    if session.target_kind == "object":
        return [ObjectCandidate(object=each.name, probability=each.probability) for each in left]
    return [GroupCandidate(group=each.name, probability=each.probability) for each in left]


def _result(session: Session) -> ResultDocument | None:
    if session.status == "asking":
        return None
    found, kind = session.result, session.target_kind
    objects = session.model.objects
    return ResultDocument(
        status=session.status,
        object=found.name if found is not None and kind == "object" else None,
        group=found.name if found is not None and kind == "group" else None,
        probability=None if found is None else found.probability,
        objects=[objects[i] for i in session.objects()[:_MAX_OBJECTS]],
    )


def _contradiction(session: Session) -> ContradictionDocument | None:
    found = session.contradiction
    if found is None:
        return None
    objects = session.model.objects
    return ContradictionDocument(
        conflicting=[place + 1 for place in found.conflicting],
        nearest=[
            NearestDocument(object=objects[near.object], disagrees=[place + 1 for place in near.disagrees])
            for near in found.nearest
        ],
    )
