"""From answers to the next question.

What is stored of a session is its answers; where it stands follows from them and the model.
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
    """Open a session.

    Parameters
    ----------
    context : Context
        Loads the model.
    transaction : Session
        That the session is written in.
    owner_id : str
        Who asks.
    model_id : str
        The model.
    request : SessionRequest
        When to stop, and what is known.

    Returns
    -------
    (DiagnosisSessionRow, Session)
        The row, and where the session stands.

    Raises
    ------
    NotFoundError
        If there is no such model, or it is another owner's.
    InvalidInputError
        With everything that cannot be used.
    """
    with context.database.session(read_only=True) as reading:
        sha256 = DiagnosisModelRepository(reading).get(owner_id, model_id).sha256
    known = [Answer(each.query, each.answer) for each in request.known]
    opened = context.load_diagnosis(sha256).open(known, request.certainty)
    return DiagnosisSessionRepository(transaction).add(owner_id, model_id, _describe_state(opened)), opened


def resume_session(context: Context, owner_id: str, session_id: str) -> tuple[DiagnosisSessionRow, Sessions, Session]:
    """Read a session and find out where it stands.

    Parameters
    ----------
    context : Context
        Reads the row in a transaction of its own, and loads the model.
    owner_id : str
        Who asks.
    session_id : str
        The session.

    Returns
    -------
    (DiagnosisSessionRow, Sessions, Session)
        The row, what carries sessions on, and where this one stands.

    Raises
    ------
    NotFoundError
        If there is no such session, or it is another owner's.
    """
    with context.database.session(read_only=True) as reading:
        row, model = DiagnosisSessionRepository(reading).with_model(owner_id, session_id)
    sessions = context.load_diagnosis(model.sha256)
    answers = [Answer(**answer) for answer in row.state["answers"]]
    return row, sessions, sessions.resume(answers, row.state["certainty"])


def give_answer(
    context: Context, transaction: Transaction, owner_id: str, session_id: str, request: AnswerRequest
) -> tuple[DiagnosisSessionRow, Session]:
    """Add an answer to a session.

    Parameters
    ----------
    context : Context
        Loads the session.
    transaction : Session
        That the answer is written in; nothing is read or computed in it, so that it is short.
    owner_id : str
        Who asks.
    session_id : str
        The session.
    request : AnswerRequest
        The answer.

    Returns
    -------
    (DiagnosisSessionRow, Session)
        The row, and where the session stands now.

    Raises
    ------
    NotFoundError
        If there is no such session, or it is another owner's.
    InvalidInputError
        If the query was not asked, or was answered before.
    ConflictError
        If the session is done, or another request has changed it in the meantime.
    """
    row, sessions, before = resume_session(context, owner_id, session_id)
    after = sessions.answer(before, request.query, request.answer, volunteered=request.volunteered)
    return DiagnosisSessionRepository(transaction).change(row, _describe_state(after)), after


def undo_answer(context: Context, transaction: Transaction, owner_id: str, session_id: str, number: int) -> None:
    """Take the last answer of a session back.

    Parameters
    ----------
    context : Context
        Loads the session.
    transaction : Session
        That the change is written in.
    owner_id : str
        Who asks.
    session_id : str
        The session.
    number : int
        Of the last answer.

    Raises
    ------
    NotFoundError
        If there is no such session, or it is another owner's.
    ConflictError
        If the number is that of no or another answer, or another request has changed the session in the meantime.
    """
    row, sessions, before = resume_session(context, owner_id, session_id)
    after = sessions.undo(before, number)
    DiagnosisSessionRepository(transaction).change(row, _describe_state(after))


def batch_document(context: Context, owner_id: str, session_id: str, size: int) -> BatchDocument:
    """Questions that a session can ask at once.

    Parameters
    ----------
    context : Context
        Loads the session.
    owner_id : str
        Who asks.
    session_id : str
        The session.
    size : int
        How many at most.

    Returns
    -------
    BatchDocument
        The next query first.

    Raises
    ------
    NotFoundError
        If there is no such session, or it is another owner's.
    ConflictError
        If the session is done.
    """
    _, sessions, stands = resume_session(context, owner_id, session_id)
    batch = sessions.batch(stands, size)
    queries = [NextQueryDocument(name=each.name, gain=each.gain) for each in batch.queries]
    return BatchDocument(queries=queries, gain=batch.gain)


def _describe_state(session: Session) -> dict[str, Any]:
    answers = [{"query": a.query, "answer": a.answer, "volunteered": a.volunteered} for a in session.answers]
    return {"answers": answers, "certainty": session.certainty, "status": session.status}


def session_summary(row: DiagnosisSessionRow) -> SessionSummary:
    """A session as a list shows it; no model is loaded."""
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
    """A session as the API shows it, with so many of the candidates at most."""
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
