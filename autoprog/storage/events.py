"""Events for clients who follow a search, written in the transaction of the change that they report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import bindparam, func, insert, select
from sqlalchemy.orm import Session

from autoprog.storage.tables import EvaluationRow, SearchEventRow, SearchRow

_NEXT = select(func.coalesce(func.max(SearchEventRow.sequence), 0) + 1).where(
    SearchEventRow.search_id == bindparam("of")
)
_APPEND = insert(SearchEventRow).values(sequence=_NEXT.scalar_subquery())

EventType = Literal["evaluation", "phase", "finished"]


def append_event(session: Session, search_id: str, event_type: EventType, payload: Mapping[str, Any]) -> None:
    """Append a search's next event; the transaction must hold the search's row, so that numbers stay unique."""
    event = {"search_id": search_id, "type": event_type, "payload": dict(payload)}
    session.connection().execute(_APPEND, {"of": search_id, **event})


def evaluation_payload(row: EvaluationRow) -> dict[str, Any]:
    """Describe an evaluation, without data on single patients."""
    return {
        "number": row.number,
        "configuration": row.configuration,
        "status": row.status,
        "score": row.score,
        "duration_s": row.duration_s,
    }


def finished_payload(search: SearchRow, *, model_id: str | None) -> dict[str, Any]:
    """Describe how a search ended."""
    return {"status": search.status, "model_id": model_id, "error": search.error}
