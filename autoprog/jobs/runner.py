"""The runner of jobs: claims one after another and runs each as one call on the engine."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial

import structlog

from autoprog.errors import JobFailedError
from autoprog.jobs import JobKind
from autoprog.jobs.ports import Job, JobClaim, JobResult, JobStore, Work
from autoprog.search.calls import run_calls
from autoprog.search.leasing import MAX_LOST_LEASES, run_leased
from autoprog.search.polling import poll
from autoprog.search.ports import Call, CallOutcome, CallStatus, Dispatcher
from autoprog.search.signals import Signals

_log = structlog.get_logger()


class JobRunner:
    """Runner of jobs, separate from that of searches, so that no job waits for a search."""

    # Several may share one store: a lease of `lease_s` seconds, extended by heartbeats, keeps a job with one of them.
    # When a runner dies, another starts its job again. Jobs of kinds not in `work` are left to other runners.
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
        self._store = store
        self._dispatcher = dispatcher
        self._work = work
        self._runner_id = runner_id
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._shutdown = threading.Event()

    def stop(self) -> None:
        """Ask the runner to end; a running job is left to the next runner."""
        self._shutdown.set()

    def run_forever(self) -> None:
        """Work until `stop` is called."""
        poll(self.run_one, self._shutdown, self._poll_s)

    def run_one(self) -> bool:
        """Do the next job of the queue; return whether one was claimed and finished."""
        claim = self._store.claim(self._runner_id, self._lease_s, tuple(self._work))
        if claim is None:
            return False
        signals = Signals(self._shutdown)
        log = _log.bind(job_id=claim.job_id, token=claim.token)
        work = partial(self._work_on, claim, signals, log)
        return run_leased("job", work, self._store, claim, signals=signals, lease_s=self._lease_s, log=log)

    def _work_on(self, claim: JobClaim, signals: Signals, log: structlog.stdlib.BoundLogger) -> None:
        try:
            self._store.finish(claim, self._result(claim, signals))
        except JobFailedError as error:
            self._store.fail(claim, error.code, str(error))
            log.info("failed", reason=str(error))

    def _result(self, claim: JobClaim, signals: Signals) -> JobResult:
        if claim.losses >= MAX_LOST_LEASES:
            raise JobFailedError(f"given up: {claim.losses} runners in a row ended while they worked on it")
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
