"""The port `Store` on the database: which runner holds which search, and what the searches have learnt.

A runner holds a search by a lease, which it extends by heartbeats, and by a fencing token, which grows with every
claim. Each write locks the search's row under the token that the writer was given: a runner that was taken for dead,
and was not, finds a greater token there and stops.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select, update
from sqlalchemy.orm import Session, undefer

from autoprog.errors import LeaseLostError
from autoprog.evaluation import Evaluation
from autoprog.optimizer import Proposal
from autoprog.search.ports import Claim, CohortRef, Phase, SearchState
from autoprog.search.result import SearchResult
from autoprog.search.settings import SearchSettings
from autoprog.storage.database import Database, database_now
from autoprog.storage.events import append_event, evaluation_payload, finished_payload
from autoprog.storage.files import Files
from autoprog.storage.repositories import ModelRepository
from autoprog.storage.serialization import (
    evaluation_from_row,
    evaluation_to_row,
    proposal_from_json,
    proposal_to_json,
)
from autoprog.storage.tables import CohortRow, EvaluationRow, ProposalRow, SearchRow, SearchStatus


class DatabaseStore:
    """Durable memory of searches.

    Parameters
    ----------
    database : Database
        Holds the rows.
    files : Files
        Holds cohorts and models.
    """

    def __init__(self, database: Database, files: Files) -> None:
        self._database = database
        self._files = files

    def claim(self, runner_id: str, lease_s: float) -> Claim | None:
        """Take the oldest search that is queued, or running with an expired lease; None if there is none."""
        with self._database.session() as session:
            now = database_now(session)
            oldest = (
                select(SearchRow.id)
                .where(_is_free(now))
                .order_by(SearchRow.created_at, SearchRow.id)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            take = (
                update(SearchRow)
                .where(SearchRow.id == oldest.scalar_subquery(), _is_free(now))
                .values(
                    status=SearchStatus.RUNNING,
                    token=SearchRow.token + 1,
                    losses=SearchRow.losses + case((SearchRow.runner_id.is_not(None), 1), else_=0),
                    runner_id=runner_id,
                    lease_until=now + timedelta(seconds=lease_s),
                    started_at=func.coalesce(SearchRow.started_at, now),
                )
                .returning(SearchRow.id, SearchRow.token, SearchRow.losses)
            )
            taken = session.execute(take, execution_options={"synchronize_session": False}).one_or_none()
        return None if taken is None else Claim(taken.id, taken.token, taken.losses)

    def heartbeat(self, claim: Claim, lease_s: float) -> bool:
        """Extend the lease; True if the client asked to cancel. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            search.lease_until = database_now(session) + timedelta(seconds=lease_s)
            return search.cancel_requested_at is not None

    def release(self, claim: Claim) -> None:
        """Let another runner go on at once; does nothing when the lease is lost already."""
        with self._database.session() as session:
            session.execute(
                update(SearchRow).where(_is_held(claim)).values(lease_until=database_now(session), runner_id=None),
                execution_options={"synchronize_session": False},
            )

    def load(self, claim: Claim) -> SearchState:
        """Read back everything written so far. Raises LeaseLostError."""
        with self._database.session(read_only=True) as session:
            search = _held(session, select(SearchRow), claim)
            cohort = session.get_one(CohortRow, search.cohort_id)
            proposals = session.scalars(
                select(ProposalRow).where(ProposalRow.search_id == search.id).order_by(ProposalRow.batch)
            )
            evaluations = session.scalars(
                select(EvaluationRow)
                .where(EvaluationRow.search_id == search.id)
                .order_by(EvaluationRow.number)
                .options(undefer(EvaluationRow.risks))
            )
            return SearchState(
                search_id=search.id,
                cohort=CohortRef(self._files.url("cohorts", cohort.sha256), cohort.sha256),
                settings=SearchSettings.model_validate(search.settings),
                proposals=tuple(proposal_from_json(row.batch, row.document) for row in proposals),
                evaluations=tuple(evaluation_from_row(row) for row in evaluations),
                elapsed_s=_elapsed_s(search, database_now(session)),
            )

    def record_phase(self, claim: Claim, phase: Phase) -> None:
        """Enter a phase. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            search.phase = phase
            append_event(session, search.id, "phase", {"phase": phase})

    def record_proposal(self, claim: Claim, proposal: Proposal) -> None:
        """Keep a batch before it is evaluated; one that is already there stays as it is. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            if session.get(ProposalRow, (search.id, proposal.batch)) is None:
                document = proposal_to_json(proposal)
                session.add(ProposalRow(search_id=search.id, batch=proposal.batch, document=document))

    def record_evaluation(self, claim: Claim, evaluation: Evaluation) -> None:
        """Keep one evaluation; a number that is already there stays as it is. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            if session.get(EvaluationRow, (search.id, evaluation.number)) is None:
                row = evaluation_to_row(search.id, evaluation, database_now(session))
                session.add(row)
                search.losses = 0
                append_event(session, search.id, "evaluation", evaluation_payload(row))

    def finish(self, claim: Claim, result: SearchResult, *, cancelled: bool) -> None:
        """Store the model and end the search as succeeded or cancelled. Raises LeaseLostError."""
        # The file comes first: a row must never name one that is missing. Where the lease is lost in between, the file
        # stays, since the runner that took over may deliver the very same bytes.
        sha256 = self._files.put("models", result.model.to_bytes())
        with self._database.session() as session:
            search = _hold(session, claim)
            model = ModelRepository(session).add(search, sha256=sha256, document=_model_document(result))
            search.ensemble = dict(result.ensemble)
            search.rules = dict(result.rules)
            search.decomposition = dict(result.decomposition)
            search.warnings = [*search.warnings, *result.warnings]
            _end(session, search, SearchStatus.CANCELLED if cancelled else SearchStatus.SUCCEEDED, model_id=model.id)

    def fail(self, claim: Claim, code: str, detail: str, *, cancelled: bool = False) -> None:
        """End the search without a model. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            if not cancelled:  # what the client asked for is no error
                search.error = {"code": code, "detail": detail}
            _end(session, search, SearchStatus.CANCELLED if cancelled else SearchStatus.FAILED, model_id=None)


def _is_free(now: datetime) -> ColumnElement[bool]:
    expired = and_(SearchRow.status == SearchStatus.RUNNING, SearchRow.lease_until <= now)
    return or_(SearchRow.status == SearchStatus.QUEUED, expired)


def _is_held(claim: Claim) -> ColumnElement[bool]:
    return and_(
        SearchRow.id == claim.search_id,
        SearchRow.token == claim.token,
        SearchRow.status == SearchStatus.RUNNING,
    )


def _hold(session: Session, claim: Claim) -> SearchRow:
    """The claimed search, locked until the transaction ends. Raises LeaseLostError."""
    return _held(session, select(SearchRow).with_for_update(), claim)


def _held(session: Session, query: Select[SearchRow], claim: Claim) -> SearchRow:
    search = session.scalars(query.where(_is_held(claim))).one_or_none()
    if search is None:
        msg = f"search {claim.search_id} is not held under token {claim.token} any longer"
        raise LeaseLostError(msg)
    return search


def _end(session: Session, search: SearchRow, status: SearchStatus, *, model_id: str | None) -> None:
    search.status = status
    search.phase = None
    search.runner_id = None
    search.lease_until = None
    search.finished_at = database_now(session)
    append_event(session, search.id, "finished", finished_payload(search, model_id=model_id))


def _elapsed_s(search: SearchRow, now: datetime) -> float:
    return 0.0 if search.started_at is None else (now - search.started_at).total_seconds()


def _model_document(result: SearchResult) -> dict[str, Any]:
    return {
        "features": [asdict(feature) for feature in result.model.features],
        "outcome": asdict(result.model.outcome),
    }
