"""Events for clients who follow a search, written in the transaction of the change that they report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import bindparam, func, insert, select
from sqlalchemy.orm import Session

from autoprog.storage.tables import SearchEventRow

_NEXT = select(func.coalesce(func.max(SearchEventRow.sequence), 0) + 1).where(
    SearchEventRow.search_id == bindparam("of")
)
_APPEND = insert(SearchEventRow).values(sequence=_NEXT.scalar_subquery())

EventType = Literal["evaluation", "phase", "finished"]


def append_event(session: Session, search_id: str, event_type: EventType, payload: Mapping[str, Any]) -> None:
    """Append a search's next event; the transaction must hold the search's row, so that numbers stay unique."""
    event = {"search_id": search_id, "type": event_type, "payload": dict(payload)}
    session.connection().execute(_APPEND, {"of": search_id, **event})


def evaluation_payload(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an evaluation, given as its row's values, without data on single patients."""
    return {name: evaluation[name] for name in ("number", "configuration", "status", "score", "duration_s")}


def finished_payload(status: str, *, model_id: str | None, error: Mapping[str, Any] | None) -> dict[str, Any]:
    """Describe how a search ended."""
    return {"status": status, "model_id": model_id, "error": error}
