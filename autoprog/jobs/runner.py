"""The runner of jobs: claims one after another and runs each as one call on the engine."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from autoprog.errors import JobFailedError
from autoprog.jobs import JobKind
from autoprog.jobs.ports import Job, JobClaim, JobResult, JobStore, Work
from autoprog.work import Call, CallOutcome, CallStatus, Dispatcher, LeasedRunner, Signals, run_calls


class JobRunner(LeasedRunner[JobClaim]):
    """Runner of jobs, separate from that of searches, so that no job waits for a search."""

    # Jobs of kinds not in `work` are left to other runners.

    what = "job"

    def __init__(
        self,
        store: JobStore,
        dispatcher: Dispatcher,
        work: Mapping[JobKind, Work],
        *,
        runner_id: str,
        lease_s: float = 10.0,
        poll_s: float = 0.5,
    ) -> None:
        super().__init__(store, runner_id=runner_id, lease_s=lease_s, poll_s=poll_s)
        self._store = store
        self._dispatcher = dispatcher
        self._work = work

    def _claim(self) -> JobClaim | None:
        return self._store.claim(self._runner_id, self._lease_s, tuple(self._work))

    def _id(self, claim: JobClaim) -> str:
        return claim.job_id

    def _work_on(self, claim: JobClaim, signals: Signals, log: structlog.stdlib.BoundLogger) -> None:
        try:
            self._store.finish(claim, self._result(claim, signals))
        except JobFailedError as error:
            self._store.fail(claim, error.code, str(error))
            log.info("failed", reason=str(error))

    def _result(self, claim: JobClaim, signals: Signals) -> JobResult:
        if (reason := self._given_up(claim)) is not None:
            raise JobFailedError(reason)
        job = self._store.load(claim)
        outcome = self._call(job, claim, signals)
        signals.check()
        if outcome.status is not CallStatus.SUCCEEDED:
            raise JobFailedError(f"{outcome.status}: {outcome.reason}")
        result: JobResult = outcome.value
        return result

    def _call(self, job: Job, claim: JobClaim, signals: Signals) -> CallOutcome:
        work = self._work[job.kind]
        call = Call(claim.job_id, work.function, (job,))
        (outcome,) = run_calls(self._dispatcher, [call], work.limits, signals.leave)
        return outcome
