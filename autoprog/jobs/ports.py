"""What jobs need of the world beside a `Dispatcher`: a place where they are queued and their results are kept.

`autoprog.storage` implements it; the runner knows no more of it than stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from autoprog.jobs import JobKind
from autoprog.search.ports import CallLimits

FileKind = Literal[
    "cohorts", "models", "diagnosis_models", "diagnosis_trees", "test_selection_arms", "test_selection_tables"
]
"""What a stored file holds; the storage's own kinds."""


@dataclass(frozen=True, slots=True)
class FileRef:
    """Where a stored file lies: content-addressed, readable from any worker.

    Attributes
    ----------
    url : str
        fsspec URL.
    sha256 : str
        Digest of its bytes; a reader checks it.
    """

    url: str
    sha256: str


@dataclass(frozen=True)
class Job:
    """What a piece of work is told; it must pickle.

    Attributes
    ----------
    kind : JobKind
        What is to be done.
    parameters : mapping
        JSON, as it was queued.
    files : mapping
        Name -> a stored file that the work reads.
    """

    kind: JobKind
    parameters: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, FileRef] = field(default_factory=dict)


@dataclass(frozen=True)
class JobResult:
    """What a piece of work gives; it must pickle.

    Attributes
    ----------
    document : mapping
        JSON, without NaN and infinities.
    files : mapping
        Kind of file -> its bytes; stored before the job ends.
    """

    document: Mapping[str, Any]
    files: Mapping[FileKind, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """How a kind of job is done.

    Attributes
    ----------
    function : callable (Job) -> JobResult
        A module-level function that a child process can import. It must give the same for the same job: a job that is
        taken over is begun anew.
    limits : CallLimits
        Of its one call; a call that exceeds them is killed, and the job has failed.
    """

    function: Callable[[Job], JobResult]
    limits: CallLimits


@dataclass(frozen=True, slots=True)
class JobClaim:
    """One runner's hold on one job.

    Attributes
    ----------
    job_id : str
        The job.
    token : int
        Fencing token: grows with every claim; a write with an older one is refused.
    losses : int
        Runners whose lease on this job ran out.
    """

    job_id: str
    token: int
    losses: int = 0


class JobStore(Protocol):
    """Durable memory of jobs; every write is one transaction, fenced by the claim's token."""

    def claim(self, runner_id: str, lease_s: float, kinds: Sequence[JobKind]) -> JobClaim | None:
        """Take the job that is next of these kinds, queued or with an expired lease; None if there is none."""

    def heartbeat(self, claim: JobClaim, lease_s: float) -> None:
        """Extend the lease. Raises LeaseLostError, also when the job was deleted."""

    def release(self, claim: JobClaim) -> None:
        """Give the job back, for any runner to take at once; nothing happens if the lease is lost."""

    def load(self, claim: JobClaim) -> Job:
        """Read what is to be done. Raises LeaseLostError."""

    def finish(self, claim: JobClaim, result: JobResult) -> None:
        """Store the result, hand it to the job's subject and end the job as succeeded. Raises LeaseLostError."""

    def fail(self, claim: JobClaim, code: str, detail: str) -> None:
        """End the job without a result. Raises LeaseLostError."""
