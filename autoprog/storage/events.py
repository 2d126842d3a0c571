"""What those who follow a search are told; an event is written in the transaction of what it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from autoprog.storage.tables import EvaluationRow, SearchEventRow, SearchRow

EventType = Literal["evaluation", "phase", "finished"]


def append_event(session: Session, search_id: str, event_type: EventType, payload: Mapping[str, Any]) -> None:
    """Add the next event of a search; the transaction must hold the search's row, so that no number is given twice."""
    last = select(func.coalesce(func.max(SearchEventRow.sequence), 0)).where(SearchEventRow.search_id == search_id)
    sequence = session.scalars(last).one() + 1
    session.add(SearchEventRow(search_id=search_id, sequence=sequence, type=event_type, payload=dict(payload)))
    session.flush()


def evaluation_payload(row: EvaluationRow) -> dict[str, Any]:
    """Tell of an evaluation; without anything about single patients."""
    return {
        "number": row.number,
        "configuration": row.configuration,
        "status": row.status,
        "score": row.score,
        "duration_s": row.duration_s,
    }


def finished_payload(search: SearchRow, *, model_id: str | None) -> dict[str, Any]:
    """Tell how a search has ended."""
    return {"status": search.status, "model_id": model_id, "error": search.error}
