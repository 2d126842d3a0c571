"""The port of jobs besides the `Dispatcher`: a store that queues them and keeps their results.

`autoprog.storage` implements it; the runner knows nothing else about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from autoprog.jobs import JobKind
from autoprog.work import CallLimits

FileKind = Literal[
    "cohorts",
    "identifiers",
    "models",
    "diagnosis_models",
    "diagnosis_trees",
    "test_selection_arms",
    "test_selection_tables",
]
"""Content of a stored file, by the storage's own kinds."""


@dataclass(frozen=True, slots=True)
class FileRef:
    """A stored file: content-addressed, readable from any worker."""

    url: str  # for fsspec
    sha256: str  # checked by the reader


@dataclass(frozen=True)
class Job:
    """Input of a job; must be picklable."""

    kind: JobKind
    parameters: Mapping[str, Any] = field(default_factory=dict)  # JSON, as it was queued
    files: Mapping[str, FileRef] = field(default_factory=dict)  # by name


@dataclass(frozen=True)
class JobResult:
    """Result of a job."""

    document: Mapping[str, Any]  # JSON, without NaN and infinities
    files: Mapping[FileKind, bytes] = field(default_factory=dict)  # stored before the job ends


@dataclass(frozen=True, slots=True)
class Work:
    """How a kind of job is done."""

    # A module-level function that a child process can import, deterministic: a job that is taken over starts again.
    function: Callable[[Job], JobResult]
    limits: CallLimits  # a call that exceeds them is killed, and the job has failed


@dataclass(frozen=True, slots=True)
class JobClaim:
    """One runner's hold on one job."""

    job_id: str
    token: int  # fencing token: grows with every claim, and a write with an older one is refused
    losses: int = 0  # runners whose lease on this job ran out


class JobStore(Protocol):
    """Durable store of jobs; every write is one transaction, fenced by the claim's token."""

    def claim(self, runner_id: str, lease_s: float, kinds: Sequence[JobKind]) -> JobClaim | None:
        """Claim the next job of these kinds that is queued or has an expired lease; None if there is none."""

    def heartbeat(self, claim: JobClaim, lease_s: float) -> None:
        """Extend the lease; raises LeaseLostError, also when the job was deleted."""

    def release(self, claim: JobClaim) -> None:
        """Give the job back, for any runner to take at once; nothing happens if the lease is lost."""

    def load(self, claim: JobClaim) -> Job:
        """Load the job; raises LeaseLostError."""

    def finish(self, claim: JobClaim, result: JobResult) -> None:
        """Store the result, pass it to the job's subject and end the job as succeeded; raises LeaseLostError."""

    def fail(self, claim: JobClaim, code: str, detail: str) -> None:
        """End the job without a result; raises LeaseLostError."""
