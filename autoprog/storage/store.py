"""The port `Store` on the database: leases and results of searches, and what these have learnt.

A runner holds a search by a lease and a fencing token, which each write names; see `autoprog.storage.leases`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from sqlalchemy import Row, bindparam, select
from sqlalchemy.orm import Session, undefer

from autoprog.errors import LeaseLostError
from autoprog.evaluation import Evaluation
from autoprog.metalearning import CohortStatistics
from autoprog.optimizer import Proposal, Start
from autoprog.search.ports import Claim, CohortRef, Phase, SearchResult, SearchState
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration
from autoprog.storage.database import Database, database_now, insert_if_absent
from autoprog.storage.events import append_event, evaluation_payload, finished_payload
from autoprog.storage.files import Files
from autoprog.storage.leases import (
    begin,
    end,
    extend,
    is_held,
    lock_search,
    lost,
    release,
    set_columns,
    spent_s,
    take_next,
)
from autoprog.storage.repositories import CohortStatisticsRepository, ModelRepository
from autoprog.storage.repositories.cohort_statistics import shares
from autoprog.storage.serialization import (
    evaluation_from_row,
    evaluation_to_values,
    proposal_from_json,
    proposal_to_json,
)
from autoprog.storage.stored_files import store_file
from autoprog.storage.tables import CohortRow, EvaluationRow, ProposalRow, SearchRow, SearchStatus

_PROPOSALS = select(ProposalRow).where(ProposalRow.search_id == bindparam("of")).order_by(ProposalRow.batch)
_EVALUATIONS = (
    select(EvaluationRow)
    .where(EvaluationRow.search_id == bindparam("of"))
    .order_by(EvaluationRow.number)
    .options(undefer(EvaluationRow.risks), undefer(EvaluationRow.competing))
)
_STATE = (
    select(
        SearchRow.id,
        SearchRow.settings,
        SearchRow.start,
        SearchRow.inherited_batches,
        SearchRow.spent_s,
        SearchRow.heard_at,
        SearchRow.lease_until,
        CohortRow.sha256,
    )
    .join(CohortRow, SearchRow.cohort_id == CohortRow.id)
    .where(is_held(SearchRow))
)
_WRITTEN = select(SearchRow.warnings, SearchRow.start).where(SearchRow.id == bindparam("of"))
_COHORT_OF = (
    select(CohortRow.id)
    .join(SearchRow, SearchRow.cohort_id == CohortRow.id)
    .where(SearchRow.id == bindparam("of"))
    .with_for_update(read=True, key_share=True, of=CohortRow)
)


class DatabaseStore:
    """Durable storage of searches.

    Parameters
    ----------
    database : Database
        The database of the rows.
    files : Files
        The files of cohorts and models.
    most_running : int or None
        Maximum number of an owner's searches that run at a time; None for no limit.
    """

    def __init__(self, database: Database, files: Files, *, most_running: int | None = None) -> None:
        self._database = database
        self._files = files
        self._most_running = most_running

    def claim(self, runner_id: str, lease_s: float) -> Claim | None:
        """Lease the next search, queued or expired; None if there is none or no room is left."""
        if not (self._files.has_room() and self._database.has_room()):
            return None
        with self._database.session() as session:
            taken = take_next(session, SearchRow, runner_id, lease_s, most_running=self._most_running)
            if taken is not None:
                begin(session, taken, lease_s)
        return None if taken is None else Claim(taken.id, taken.token, taken.losses)

    def heartbeat(self, claim: Claim, lease_s: float) -> bool:
        """Extend the lease; return True if the client asked to cancel. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            extend(session, search, lease_s)
            return search.cancel_requested_at is not None

    def release(self, claim: Claim) -> None:
        """Let another runner continue at once; does nothing if the lease is lost."""
        with suppress(LeaseLostError), self._database.session() as session:
            release(session, _hold(session, claim))

    def load(self, claim: Claim) -> SearchState:
        """Read everything written so far. Raises LeaseLostError."""
        held = {"held_id": claim.search_id, "held_token": claim.token}
        with self._database.session(read_only=True) as session:
            search = session.connection().execute(_STATE, held).one_or_none()
            if search is None:
                raise lost(SearchRow, claim.search_id, claim.token)
            proposals = session.scalars(_PROPOSALS, {"of": search.id})
            evaluations = session.scalars(_EVALUATIONS, {"of": search.id})
            return SearchState(
                search_id=search.id,
                cohort=CohortRef(self._files.url("cohorts", search.sha256), search.sha256),
                settings=SearchSettings.model_validate(search.settings),
                start=None if search.start is None else Start.from_json(search.start),
                proposals=tuple(proposal_from_json(row.batch, row.document) for row in proposals),
                evaluations=tuple(evaluation_from_row(row) for row in evaluations),
                inherited_batches=search.inherited_batches,
                elapsed_s=spent_s(search, database_now(session)),
            )

    def record_phase(self, claim: Claim, phase: Phase) -> None:
        """Enter a phase. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            set_columns(session, search, {"phase": phase})
            append_event(session, search.id, "phase", {"phase": phase})

    def earlier_statistics(self, search_id: str, metric: str) -> tuple[CohortStatistics, ...]:
        """Statistics of shared cohorts and, unless its own is one, of its owner's; empty if the search is gone."""
        with self._database.session(read_only=True) as session:
            search = session.get(SearchRow, search_id)
            cohort = None if search is None else session.get(CohortRow, search.cohort_id)
            if search is None or cohort is None:
                return ()
            # Others learn what does well on a shared cohort: it must not come from one that is not shared.
            earlier = CohortStatisticsRepository(session).earlier(
                search.owner_id, metric, but_sha256=cohort.sha256, shared_alone=shares(cohort)
            )
            return tuple(e.statistics for e in earlier)

    def record_start(self, claim: Claim, start: Start) -> None:
        """Store the search's start. Raises LeaseLostError."""
        with self._database.session() as session:
            set_columns(session, _hold(session, claim), {"start": start.to_json()})

    def record_proposal(self, claim: Claim, proposal: Proposal) -> None:
        """Store a batch before it is evaluated; an existing one stays. Raises LeaseLostError."""
        with self._database.session() as session:
            search, document = _hold(session, claim), proposal_to_json(proposal)
            insert_if_absent(
                session, ProposalRow, {"search_id": search.id, "batch": proposal.batch, "document": document}
            )

    def record_evaluation(self, claim: Claim, evaluation: Evaluation) -> None:
        """Store an evaluation; an existing one with its number stays. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            values = evaluation_to_values(search.id, evaluation, database_now(session))
            if not insert_if_absent(session, EvaluationRow, values):
                return
            if search.losses:
                set_columns(session, search, {"losses": 0})
            append_event(session, search.id, "evaluation", evaluation_payload(values))

    def finish(self, claim: Claim, result: SearchResult, *, cancelled: bool) -> None:
        """Store the model and end the search as succeeded or cancelled. Raises LeaseLostError."""
        content = result.model.to_bytes()
        with self._database.session() as session:
            sha256 = store_file(self._database, self._files, session, "models", content)
            # Lock the cohort before the search, as a deletion does, to avoid a deadlock.
            _lock_cohort(session, claim.search_id)
            search = _hold(session, claim)
            model = ModelRepository(session).add(
                search.owner_id, search.id, search.cohort_id, sha256=sha256, document=_model_document(result)
            )
            status = SearchStatus.CANCELLED if cancelled else SearchStatus.SUCCEEDED
            _end(session, search, status, result=result, model_id=model.id)

    def record_statistics(self, search_id: str, statistics: CohortStatistics) -> None:
        """Store what an ended search teaches later ones, unless it or its cohort was deleted."""
        with self._database.session(read_only=True) as session:
            known = CohortStatisticsRepository(session).known(statistics.metric)
        with self._database.session() as session:
            _lock_cohort(session, search_id)  # an erasure that is under way deletes the search
            search = session.get(SearchRow, search_id)
            if search is not None:
                cohort = session.get_one(CohortRow, search.cohort_id)
                CohortStatisticsRepository(session).keep(cohort, statistics, known)

    def fail(self, claim: Claim, code: str, detail: str, *, cancelled: bool = False) -> None:
        """End the search without a model. Raises LeaseLostError."""
        with self._database.session() as session:
            search = _hold(session, claim)
            # A requested cancellation is no error.
            status, error = (
                (SearchStatus.CANCELLED, None) if cancelled else (SearchStatus.FAILED, {"code": code, "detail": detail})
            )
            _end(session, search, status, error=error)


def _hold(session: Session, claim: Claim) -> Row[Any]:
    """Read the claimed search, locked until the transaction ends. Raises LeaseLostError."""
    return lock_search(session, claim.search_id, claim.token)


def _lock_cohort(session: Session, search_id: str) -> None:
    """Keep a search's cohort from being deleted until the transaction ends, with the lock that a foreign key takes."""
    session.connection().execute(_COHORT_OF, {"of": search_id})


def _end(
    session: Session,
    search: Row[Any],
    status: SearchStatus,
    *,
    result: SearchResult | None = None,
    model_id: str | None = None,
    error: Mapping[str, Any] | None = None,
) -> None:
    written = session.connection().execute(_WRITTEN, {"of": search.id}).one()
    values: dict[str, Any] = {"status": status, "error": error}
    if result is not None:
        values |= {
            "ensemble": dict(result.ensemble),
            "rules": dict(result.rules),
            "decomposition": None if result.decomposition is None else dict(result.decomposition),
            "warnings": [*written.warnings, *result.warnings],
        }
    if written.start is not None:
        # Nothing learnt from another cohort may stay here after that is deleted. The portfolio's configurations that
        # the search has evaluated are its own.
        evaluated = session.scalars(select(EvaluationRow.configuration).where(EvaluationRow.search_id == search.id))
        own = {Configuration.from_json(configuration).key for configuration in evaluated}
        start = Start.from_json(written.start)
        portfolio = tuple(c for c in start.portfolio if c.key in own)
        values["start"] = Start(portfolio, trust=start.trust, n_cohorts=start.n_cohorts).to_json()
    end(session, search, values)
    append_event(session, search.id, "finished", finished_payload(status, model_id=model_id, error=error))


def _model_document(result: SearchResult) -> dict[str, Any]:
    return {
        "features": [asdict(feature) for feature in result.model.inputs],
        "outcome": asdict(result.model.outcome),
        "horizons": list(result.model.horizons),
    }
