"""What a search needs of the world: a store for what it learns, and workers that run its calls.

`autoprog.storage` and `autoprog.engine` implement these protocols; the search knows nothing else of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from autoprog.evaluation import Evaluation
from autoprog.metalearning import CohortStatistics
from autoprog.optimizer import Proposal, Start
from autoprog.search.result import SearchResult
from autoprog.search.settings import SearchSettings


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
    proposals: tuple[Proposal, ...] = ()  # one a batch, in order; the last may be evaluated only in part
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


class CallStatus(StrEnum):
    """How a call on the engine ended."""

    SUCCEEDED = "succeeded"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    FAILED = "failed"  # the function raised
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Call:
    """A function to run in a child process of some worker."""

    key: str  # unique within its queue
    function: Callable[..., Any]  # module-level, importable by the child; its result must be picklable
    arguments: tuple[Any, ...] = ()  # positional; must be picklable


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Hard limits of one call."""

    # Processor seconds from the start of the function; then its process is killed. On a busy machine it may take ten
    # times as long by the clock, unless it waits without computing.
    time_s: float
    # MiB that the call may allocate beyond what its process held before. Below 16 not even a small pipeline on a few
    # hundred patients is fitted: reading a cohort alone takes 9.
    memory_mb: int


@dataclass(frozen=True)
class CallOutcome:
    """Outcome of one call."""

    key: str
    status: CallStatus
    value: Any = field(default=None)  # what the function returned; None unless succeeded
    reason: str | None = None  # why it did not succeed; never a patient's value
    duration_s: float = 0.0  # wall-clock seconds of the function
    processor_s: float = 0.0  # seconds that it computed


class CallQueue(Protocol):
    """Queue of calls, used from one thread; see `Dispatcher.open`."""

    @property
    def slots(self) -> int:
        """Calls that run at the same time, as counted about a second ago; 0 until there is a worker."""

    def submit(self, call: Call, limits: CallLimits) -> None:
        """Add a call; calls start in this order as slots come free. Raises ValueError if the key was used before."""

    def withdraw(self, key: str) -> None:
        """Kill a call that runs, drop one that waits; no outcome follows. Does nothing if none is pending."""

    def outcomes(self) -> Iterator[CallOutcome]:
        """Yield the outcome of each call when it ends, until none is pending.

        The caller may submit and withdraw between two outcomes; withdrawn calls have none. Once the queue is stopped,
        every call that is pending or submitted later has the status cancelled.
        Raises EngineUnavailableError when no worker can be reached.
        """


class Dispatcher(Protocol):
    """Runner of calls in child processes, as many at once as there are slots."""

    @property
    def slots(self) -> int:
        """Calls that run at the same time now; workers may come and go."""

    def open(self, stop: Callable[[], bool]) -> AbstractContextManager[CallQueue]:
        """Open a queue; once `stop` turns true or it is left, running calls are killed and the rest never start."""
