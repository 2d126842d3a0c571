"""The store that a search needs, and the result that it writes; `autoprog.storage` implements it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from autoprog.evaluation import Evaluation
from autoprog.metalearning import CohortStatistics
from autoprog.model import PrognosticModel
from autoprog.optimizer import Proposal, Start
from autoprog.search.settings import SearchSettings


@dataclass(frozen=True)
class SearchResult:
    """The delivered model and the documents that describe it."""

    model: PrognosticModel  # fitted to all patients
    # Documents as the API shows them, ready for JSON; the decomposition is None if time did not allow it.
    ensemble: Mapping[str, Any]
    rules: Mapping[str, Any]
    decomposition: Mapping[str, Any] | None
    # What the client should know before trusting the model.
    warnings: tuple[str, ...] = ()


class Phase(StrEnum):
    """Phase of a running search."""

    META_FEATURES = "meta_features"
    SEARCH = "search"
    ENSEMBLE = "ensemble"
    VALIDATION = "validation"
    RULES = "rules"


@dataclass(frozen=True, slots=True)
class CohortRef:
    """Location of a stored cohort: content-addressed, readable from any worker."""

    url: str  # fsspec URL of the Parquet file
    sha256: str  # digest of its bytes; a reader checks it


@dataclass(frozen=True, slots=True)
class Claim:
    """One runner's hold on one search."""

    search_id: str
    token: int  # fencing token: grows with every claim; a write with an older one is refused
    losses: int = 0  # runners in a row whose lease ran out before they had written an evaluation


@dataclass(frozen=True)
class SearchState:
    """Everything that a search has written: enough to resume it."""

    search_id: str
    cohort: CohortRef
    settings: SearchSettings
    start: Start | None = None  # what earlier cohorts taught; None before it began, or if it must not learn from any
    proposals: tuple[Proposal, ...] = ()  # one per batch, in order; the last may be evaluated only in part
    evaluations: tuple[Evaluation, ...] = ()  # sorted by number
    inherited_batches: int = 0  # first proposals, copied from the search that this one continues
    elapsed_s: float = 0.0  # seconds of the budget spent: those in which a runner worked on it
    loaded_at: float = field(default_factory=time.monotonic)  # monotonic clock at that moment

    @property
    def delivers_alone(self) -> bool:
        """Whether it continues a search without any further evaluation."""
        inherited = sum(len(p.configurations) for p in self.proposals[: self.inherited_batches])
        return 0 < inherited >= self.settings.budget.evaluations


class Store(Protocol):
    """Durable storage of searches; every write is one transaction, fenced by the claim's token."""

    def claim(self, runner_id: str, lease_s: float) -> Claim | None:
        """Claim the next search, queued or running with an expired lease; None if there is none."""

    def heartbeat(self, claim: Claim, lease_s: float) -> bool:
        """Extend the lease; True if the client asked to cancel. Raises LeaseLostError."""

    def release(self, claim: Claim) -> None:
        """Give the search back as it stands, for any runner to claim at once; does nothing if the lease is lost."""

    def load(self, claim: Claim) -> SearchState:
        """Read everything written so far. Raises LeaseLostError."""

    def record_phase(self, claim: Claim, phase: Phase) -> None:
        """Enter a phase. Raises LeaseLostError."""

    def earlier_statistics(self, search_id: str, metric: str) -> tuple[CohortStatistics, ...]:
        """Statistics of shared cohorts and, unless its own is shared, of its owner's; none once the search is gone."""

    def record_start(self, claim: Claim, start: Start) -> None:
        """Store the start of the optimizer. Raises LeaseLostError."""

    def record_proposal(self, claim: Claim, proposal: Proposal) -> None:
        """Store a batch before it is evaluated. Raises LeaseLostError."""

    def record_evaluation(self, claim: Claim, evaluation: Evaluation) -> None:
        """Store one evaluation; a number that is already stored stays as it is. Raises LeaseLostError."""

    def finish(self, claim: Claim, result: SearchResult, *, cancelled: bool) -> None:
        """Store the model and end the search as succeeded or cancelled. Raises LeaseLostError."""

    def record_statistics(self, search_id: str, statistics: CohortStatistics) -> None:
        """Store what an ended search teaches later ones, unless it or its cohort was deleted meanwhile."""

    def fail(self, claim: Claim, code: str, detail: str, *, cancelled: bool = False) -> None:
        """End the search without a model. Raises LeaseLostError."""
