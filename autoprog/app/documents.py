"""Searches and evaluations as documents, which the REST API and the estimator show alike."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from autoprog.evaluation import EvaluatedPath, Status
from autoprog.storage.leases import spent_s
from autoprog.storage.repositories import Tally
from autoprog.storage.tables import EvaluationRow, SearchRow, SearchStatus

_FAILURES = tuple(status.value for status in Status if status is not Status.SUCCEEDED)


def search_document(row: SearchRow, tally: Tally, now: datetime) -> dict[str, Any]:
    """Return the document of a search.

    Parameters
    ----------
    row : SearchRow
        The stored search.
    tally : Tally
        Counts and the best score of its evaluations.
    now : datetime
        Time of the database.

    Returns
    -------
    dict
        What the REST API calls a `SearchDocument`, with times as `datetime`.
    """
    account = {status: tally.counts.get(status, 0) for status in _FAILURES}
    succeeded, failed = tally.counts.get(Status.SUCCEEDED.value, 0), sum(account.values())
    budget, elapsed_s = row.settings["budget"], spent_s(row, now)
    eta_s = None
    if row.status == SearchStatus.RUNNING:
        eta_s = _eta_s(budget, succeeded + failed, elapsed_s)
    names = ("id", "cohort_id", "model_id", "status", "phase", "settings", "start", "warnings", "error")
    times = ("created_at", "started_at", "finished_at")
    return {
        **{name: getattr(row, name) for name in (*names, *times)},
        "continues": row.continues_id,
        "progress": {
            "evaluations": {"succeeded": succeeded, "failed": failed, "budget": budget["evaluations"]},
            "elapsed_s": elapsed_s,
            "eta_s": eta_s,
            "best_score": tally.best_score,
        },
        "account": account,
    }


def evaluation_document(row: EvaluationRow) -> dict[str, Any]:
    """Return the document of an evaluation; its number is its identifier within the search.

    Parameters
    ----------
    row : EvaluationRow
        The stored evaluation.

    Returns
    -------
    dict
        What the REST API calls an `EvaluationDocument`.
    """
    names = ("configuration", "status", "score", "fold_scores", "duration_s", "reason", "n_patients", "out_of_bag")
    path = None
    if row.path is not None:
        found = EvaluatedPath.from_json(row.path)
        settings = [{"value": s.value, "score": s.score} for s in found.settings]
        path = {"hyperparameter": found.hyperparameter, "bound": found.bound, "settings": settings}
    return {"id": str(row.number), **{name: getattr(row, name) for name in names}, "path": path}


def _eta_s(budget: dict[str, Any], done: int, elapsed_s: float) -> float:
    """Return the seconds until the first budget is spent, at the pace so far."""
    remaining_s: float = budget["time_s"] - elapsed_s
    if done:
        remaining_s = min(remaining_s, (budget["evaluations"] - done) * elapsed_s / done)
    return max(remaining_s, 0.0)
