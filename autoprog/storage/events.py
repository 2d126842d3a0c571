"""Events for clients who follow a search, written in the transaction of the change that they report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from autoprog.storage.tables import EvaluationRow, SearchEventRow, SearchRow

EventType = Literal["evaluation", "phase", "finished"]


def append_event(session: Session, search_id: str, event_type: EventType, payload: Mapping[str, Any]) -> None:
    """Append a search's next event; the transaction must hold the search's row, so that numbers stay unique."""
    last = select(func.coalesce(func.max(SearchEventRow.sequence), 0)).where(SearchEventRow.search_id == search_id)
    sequence = session.scalars(last).one() + 1
    session.add(SearchEventRow(search_id=search_id, sequence=sequence, type=event_type, payload=dict(payload)))
    session.flush()


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
