"""The runner: claims searches from the store, one after another, and runs each to its end."""

from __future__ import annotations

import structlog

from autoprog.errors import SearchFailedError
from autoprog.evaluation import Status
from autoprog.search.delivery import deliver
from autoprog.search.learning import collect_statistics
from autoprog.search.loop import Exploration
from autoprog.search.ports import Claim, Store
from autoprog.search.tasks import load_cohort
from autoprog.search.warm_start import teaching_statistics
from autoprog.work import MAX_LOST_LEASES, Dispatcher, LeasedRunner, ShutdownError, Signals

# What ended the others may not end a runner that only makes the model of what has succeeded.
DELIVERIES = 2
"""Runners that may deliver what a search has after `MAX_LOST_LEASES`, before it is given up."""


class Runner(LeasedRunner[Claim]):
    """Runner of queued searches; if it dies, another runner of the same store resumes them after `lease_s`."""

    what = "search"

    def __init__(
        self,
        store: Store,
        dispatcher: Dispatcher,
        *,
        runner_id: str,
        lease_s: float = 10.0,
        poll_s: float = 0.5,
        teaches: bool = True,
    ) -> None:
        super().__init__(store, runner_id=runner_id, lease_s=lease_s, poll_s=poll_s)
        self._store = store
        self._dispatcher = dispatcher
        self._teaches = teaches  # later searches learn from each; this takes some seconds after its end

    def _claim(self) -> Claim | None:
        return self._store.claim(self._runner_id, self._lease_s)

    def _id(self, claim: Claim) -> str:
        return claim.search_id

    def _work_on(self, claim: Claim, signals: Signals, log: structlog.stdlib.BoundLogger) -> None:
        try:
            exploration = self._run(claim, signals)
        except SearchFailedError as error:
            self._store.fail(claim, error.code, str(error), cancelled=signals.cancel.is_set())
            log.info("failed", reason=str(error))
        else:
            if self._teaches and not exploration.is_cut_short:
                self._learn(claim, exploration, log)

    def _run(self, claim: Claim, signals: Signals) -> Exploration:
        self._give_up(claim, MAX_LOST_LEASES + DELIVERIES)
        state = self._store.load(claim)
        if not any(evaluation.status is Status.SUCCEEDED for evaluation in state.evaluations):
            self._give_up(claim, MAX_LOST_LEASES)
        cohort = load_cohort(state.cohort)
        exploration = Exploration(self._store, self._dispatcher, claim, state, cohort=cohort, signals=signals)
        if claim.losses < MAX_LOST_LEASES:
            exploration.run()
        else:
            exploration.leave_off(claim.losses)
        result = deliver(
            self._store, self._dispatcher, claim, state, cohort=cohort, exploration=exploration, signals=signals
        )
        signals.check()
        self._store.finish(claim, result, cancelled=signals.cancel.is_set())
        return exploration

    def _give_up(self, claim: Claim, after: int) -> None:
        if (reason := self._given_up(claim, after)) is not None:
            raise SearchFailedError(reason)

    def _learn(self, claim: Claim, exploration: Exploration, log: structlog.stdlib.BoundLogger) -> None:
        """Store what this search teaches later ones; the client has the model already and must not wait for it."""
        try:
            metric, cohort = exploration.state.settings.metric_identity, exploration.cohort
            teachers = teaching_statistics(self._store, claim.search_id, metric, cohort)
            if (statistics := collect_statistics(exploration, teachers, Signals(self._shutdown).check)) is not None:
                self._store.record_statistics(claim.search_id, statistics)
        except ShutdownError:
            log.info("statistics_left")
        except Exception:
            log.exception("statistics_not_learnt")
