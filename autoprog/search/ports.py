"""What a search needs of the world: a place to keep what it learns, and workers to run what it asks.

`autoprog.storage` and `autoprog.engine` implement these; the search knows no more of them than stands here.
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
    """What a running search is busy with."""

    META_FEATURES = "meta_features"
    SEARCH = "search"
    ENSEMBLE = "ensemble"
    VALIDATION = "validation"
    RULES = "rules"


@dataclass(frozen=True, slots=True)
class CohortRef:
    """Where a stored cohort lies: content-addressed, readable from any worker.

    Attributes
    ----------
    url : str
        fsspec URL of the Parquet file.
    sha256 : str
        Digest of its bytes; a reader checks it.
    """

    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One runner's hold on one search.

    Attributes
    ----------
    search_id : str
        The search.
    token : int
        Fencing token: grows with every claim; a write with an older one is refused.
    losses : int
        Runners in a row whose lease on this search ran out before they had written an evaluation.
    """

    search_id: str
    token: int
    losses: int = 0


@dataclass(frozen=True)
class SearchState:
    """All that a search has written so far: enough to go on from where it was killed.

    Attributes
    ----------
    search_id : str
        The search.
    cohort : CohortRef
        Its patients.
    settings : SearchSettings
        What the client asked for.
    start : Start or None
        What earlier cohorts had taught when it began; None where it has not begun, or was not to learn from any.
    proposals : tuple of Proposal
        One a batch, in order; the last one may be evaluated only in part.
    evaluations : tuple of Evaluation
        Sorted by number.
    inherited_batches : int
        Number of first proposals that were copied from the search that this one continues.
    elapsed_s : float
        Seconds of its budget that are spent: those in which a runner worked on it.
    loaded_at : float
        This process's monotonic clock at that moment.
    """

    search_id: str
    cohort: CohortRef
    settings: SearchSettings
    start: Start | None = None
    proposals: tuple[Proposal, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    inherited_batches: int = 0
    elapsed_s: float = 0.0
    loaded_at: float = field(default_factory=time.monotonic)

    @property
    def delivers_alone(self) -> bool:
        """Whether it continues a search without any further evaluation."""
        inherited = sum(len(p.configurations) for p in self.proposals[: self.inherited_batches])
        return 0 < inherited >= self.settings.budget.evaluations


class Store(Protocol):
    """Durable memory of searches; every write is one transaction, fenced by the claim's token."""

    def claim(self, runner_id: str, lease_s: float) -> Claim | None:
        """Take the search that is next, queued or running with an expired lease; None if there is none."""

    def heartbeat(self, claim: Claim, lease_s: float) -> bool:
        """Extend the lease; True if the client asked to cancel. Raises LeaseLostError."""

    def release(self, claim: Claim) -> None:
        """Give the search back as it stands, for any runner to take at once; nothing happens if the lease is lost."""

    def load(self, claim: Claim) -> SearchState:
        """Read back everything written so far. Raises LeaseLostError."""

    def record_phase(self, claim: Claim, phase: Phase) -> None:
        """Enter a phase. Raises LeaseLostError."""

    def earlier_statistics(self, search_id: str, metric: str) -> tuple[CohortStatistics, ...]:
        """What a search may learn from: shared cohorts and, unless its own is one, its owner's; nothing once gone."""

    def record_start(self, claim: Claim, start: Start) -> None:
        """Keep where the search begins. Raises LeaseLostError."""

    def record_proposal(self, claim: Claim, proposal: Proposal) -> None:
        """Keep a batch before it is evaluated. Raises LeaseLostError."""

    def record_evaluation(self, claim: Claim, evaluation: Evaluation) -> None:
        """Keep one evaluation; a number that is already there stays as it is. Raises LeaseLostError."""

    def finish(self, claim: Claim, result: SearchResult, *, cancelled: bool) -> None:
        """Store the model and end the search as succeeded or cancelled. Raises LeaseLostError."""

    def record_statistics(self, search_id: str, statistics: CohortStatistics) -> None:
        """Keep what an ended search teaches later ones, unless the search or its cohort was deleted meanwhile."""

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
    """One function to run in a child process of some worker.

    Attributes
    ----------
    key : str
        Names the call within its queue.
    function : callable
        A module-level function that the child can import; its result must pickle.
    arguments : tuple
        Its positional arguments; they must pickle.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Hard limits of one call.

    Attributes
    ----------
    time_s : float
        Processor seconds from the start of the function; then its process is killed. By the clock it may take ten times
        as long, on a busy machine, unless it waits and does not compute.
    memory_mb : int
        MiB that the call may allocate beyond what its process held before. Below 16 not even a small pipeline on a
        few hundred patients is fitted: reading a cohort takes 9 by itself.
    """

    time_s: float
    memory_mb: int


@dataclass(frozen=True)
class CallOutcome:
    """How a call ended.

    Attributes
    ----------
    key : str
        The call's.
    status : CallStatus
        How it ended.
    value : object
        What the function returned; None unless succeeded.
    reason : str or None
        Why it did not succeed, in words; never a patient's value.
    duration_s : float
        Wall-clock seconds of the function.
    processor_s : float
        Seconds that it computed.
    """

    key: str
    status: CallStatus
    value: Any = field(default=None)
    reason: str | None = None
    duration_s: float = 0.0
    processor_s: float = 0.0


class CallQueue(Protocol):
    """Calls on their way, of one thread; see `Dispatcher.open`."""

    @property
    def slots(self) -> int:
        """Calls that run at the same time, as counted about a second ago; 0 until there is a worker."""

    def submit(self, call: Call, limits: CallLimits) -> None:
        """Ask for one more call.

        Parameters
        ----------
        call : Call
            What to run. Calls start in the order of submission as slots come free.
        limits : CallLimits
            Of this call.

        Raises
        ------
        ValueError
            If a call was submitted to this queue under the same key before, whatever became of it.
        """

    def withdraw(self, key: str) -> None:
        """Give up a call: it is killed where it runs, not started where it waits, and no outcome of it follows.

        Parameters
        ----------
        key : str
            The call's; nothing happens if no such call is pending.
        """

    def outcomes(self) -> Iterator[CallOutcome]:
        """Tell of each call when it ends, until none is pending.

        The caller may submit and withdraw between two outcomes; the same iterator takes account of it.

        Yields
        ------
        CallOutcome
            One a call that was not withdrawn, in the order in which they end. Once the queue is stopped, one of status
            cancelled for each that is pending or is submitted later.

        Raises
        ------
        EngineUnavailableError
            When no worker can be reached.
        """


class Dispatcher(Protocol):
    """Runs calls in child processes, as many at once as there are slots."""

    @property
    def slots(self) -> int:
        """Calls that run at the same time now; workers may come and go."""

    def open(self, stop: Callable[[], bool]) -> AbstractContextManager[CallQueue]:
        """Open a queue of calls.

        Parameters
        ----------
        stop : callable () -> bool
            Polled; when it turns true, running calls are killed and the rest is not started.

        Returns
        -------
        context manager of CallQueue
            What is still pending when it is left is killed or not started.
        """
