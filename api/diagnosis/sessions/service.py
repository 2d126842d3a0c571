"""Sessions: from answers to the next question.

A session is stored as its answers; its state follows from them and the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy.orm import Session as Transaction

from api.catalogues.choice import load_tests, read_prices
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
    OrderDocument,
    ResultDocument,
    SessionDocument,
    SessionRequest,
    SessionSummary,
    SpentDocument,
)
from api.uploads import attempt
from autoprog.catalogue import DiagnosticTest, Prices
from autoprog.diagnosis import Answer, NextQuery, Ordering, Session, Sessions, revealing_tests
from autoprog.errors import Fault, InvalidInputError
from autoprog.storage.repositories import DiagnosisModelRepository, DiagnosisSessionRepository
from autoprog.storage.tables import DiagnosisSessionRow

_MAX_OBJECTS = 1000


def open_session(
    context: Context, transaction: Transaction, owner_id: str, model_id: str, request: SessionRequest
) -> tuple[DiagnosisSessionRow, Session]:
    """Open a session and return its row and state; raises NotFoundError and InvalidInputError."""
    with context.database.session(read_only=True) as reading:
        sha256 = DiagnosisModelRepository(reading).get(owner_id, model_id).sha256
        catalogue = load_tests(reading, owner_id, request.catalogue_id)
    sessions = context.load_diagnosis(sha256)
    faults: list[Fault] = []
    ordering = _build_ordering(request, sessions, catalogue, faults)
    known = [Answer(each.query, each.answer, test=each.test) for each in request.known]
    opened = attempt(faults, lambda: sessions.open(known, request.certainty, ordering))
    if opened is None or faults:
        raise InvalidInputError(faults)
    state = _describe_state(opened) | {"catalogue_id": request.catalogue_id}
    return DiagnosisSessionRepository(transaction).add(owner_id, model_id, state), opened


def _build_ordering(
    request: SessionRequest, sessions: Sessions, catalogue: Sequence[DiagnosticTest] | None, faults: list[Fault]
) -> Ordering | None:
    if catalogue is None:
        if request.prices is not None:
            faults.append(Fault("/prices", "belongs to the tests of a catalogue: give `catalogue_id` too"))
        return None
    tests = revealing_tests(sessions.model, catalogue)
    if not tests:
        detail = "no test of the catalogue reveals a query of the model: a test reveals the queries of its features"
        faults.append(Fault("/catalogue_id", detail))
    return Ordering(tests, read_prices(request.prices, faults))


def resume_session(context: Context, owner_id: str, session_id: str) -> tuple[DiagnosisSessionRow, Sessions, Session]:
    """Return a session's row, the sessions on its model, and its state; raises NotFoundError."""
    with context.database.session(read_only=True) as reading:
        row, model = DiagnosisSessionRepository(reading).with_model(owner_id, session_id)
    sessions = context.load_diagnosis(model.sha256)
    answers = [Answer(**answer) for answer in row.state["answers"]]
    return row, sessions, sessions.resume(answers, row.state["certainty"], _read_ordering(row.state))


def _read_ordering(state: Mapping[str, Any]) -> Ordering | None:
    if (stored := state.get("ordering")) is None:
        return None
    tests = tuple(DiagnosticTest.from_json(test) for test in stored["tests"])
    return Ordering(tests, Prices.from_json(stored["prices"]))


def give_answer(
    context: Context, transaction: Transaction, owner_id: str, session_id: str, request: AnswerRequest
) -> tuple[DiagnosisSessionRow, Session]:
    """Add an answer to a session; raises NotFoundError, InvalidInputError and ConflictError."""
    # Reading and computing happen outside `transaction`, which stays short.
    row, sessions, before = resume_session(context, owner_id, session_id)
    after = sessions.answer(before, request.query, request.answer, volunteered=request.volunteered, test=request.test)
    return DiagnosisSessionRepository(transaction).change(row, row.state | _describe_state(after)), after


def undo_answer(context: Context, transaction: Transaction, owner_id: str, session_id: str, number: int) -> None:
    """Take back a session's last answer; raises NotFoundError, and ConflictError if `number` is not the last one's."""
    row, sessions, before = resume_session(context, owner_id, session_id)
    after = sessions.undo(before, number)
    DiagnosisSessionRepository(transaction).change(row, row.state | _describe_state(after))


def batch_document(context: Context, owner_id: str, session_id: str, size: int) -> BatchDocument:
    """Return up to `size` questions that a session can ask at once; raises NotFoundError and ConflictError."""
    _, sessions, stands = resume_session(context, owner_id, session_id)
    batch = sessions.batch(stands, size)
    queries = [_next_document(each) for each in batch.queries]
    return BatchDocument(queries=queries, gain=batch.gain)


def _describe_state(session: Session) -> dict[str, Any]:
    answers = [asdict(answer) for answer in session.answers]
    state = {"answers": answers, "certainty": session.certainty, "status": session.status}
    if session.ordering is None:
        return state
    ordering = session.ordering
    tests = [test.to_json() for test in ordering.tests]
    return state | {"ordering": {"tests": tests, "prices": ordering.prices.to_json()}}


def session_summary(row: DiagnosisSessionRow) -> SessionSummary:
    """Return a session as a list shows it, without loading its model."""
    return SessionSummary(
        id=row.id,
        model_id=row.model_id,
        certainty=row.state["certainty"],
        status=row.state["status"],
        done=row.state["status"] != "asking",
        answers=[AnswerDocument(number=i, **answer) for i, answer in enumerate(row.state["answers"], 1)],
        catalogue_id=row.state.get("catalogue_id"),
        prices=row.state.get("ordering", {}).get("prices"),
        created_at=row.created_at,
        changed_at=row.changed_at,
    )


def session_document(row: DiagnosisSessionRow, session: Session, most: int) -> SessionDocument:
    """Return a session's document with at most `most` candidates."""
    following = session.next_query
    return SessionDocument(
        **session_summary(row).model_dump(),
        next_query=None if following is None else _next_document(following),
        remaining=_remaining(session, most),
        n_remaining=session.n_remaining,
        result=_result(session),
        contradiction=_contradiction(session),
        spent=None if session.spent is None else SpentDocument(**asdict(session.spent)),
    )


def _next_document(query: NextQuery) -> NextQueryDocument:
    order = None
    if query.order is not None:
        test = query.order.test
        order = OrderDocument(
            test=test.name, cost=test.cost, minutes=test.minutes, harm=test.harm, price=query.order.price
        )
    return NextQueryDocument(name=query.name, gain=query.gain, order=order, test=query.test)


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
