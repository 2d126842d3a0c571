"""The runner: claims searches from the store, one after another, and runs each to its end."""

from __future__ import annotations

import threading
from functools import partial

import structlog

from autoprog.errors import SearchFailedError
from autoprog.search.delivery import deliver
from autoprog.search.learning import collect_statistics
from autoprog.search.leasing import MAX_LOST_LEASES, run_leased
from autoprog.search.loop import Exploration
from autoprog.search.polling import poll
from autoprog.search.ports import Claim, Dispatcher, Store
from autoprog.search.signals import ShutdownError, Signals
from autoprog.search.warm_start import teaching_statistics
from autoprog.search.work import load_cohort

_log = structlog.get_logger()


class Runner:
    """Runner of queued searches; if it dies, another runner of the same store resumes them after `lease_s`."""

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
        self._store = store
        self._dispatcher = dispatcher
        self._runner_id = runner_id
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._teaches = teaches  # later searches learn from each; this takes some seconds after its end
        self._shutdown = threading.Event()

    def stop(self) -> None:
        """Ask the runner to end; a running search is left for the next runner."""
        self._shutdown.set()

    def run_forever(self) -> None:
        """Run searches until `stop` is called."""
        poll(self.run_one, self._shutdown, self._poll_s)

    def run_one(self) -> bool:
        """Run the next search of the queue; true if one was claimed and run to its end."""
        claim = self._store.claim(self._runner_id, self._lease_s)
        if claim is None:
            return False
        signals = Signals(self._shutdown)
        log = _log.bind(search_id=claim.search_id, token=claim.token)
        work = partial(self._work_on, claim, signals, log)
        return run_leased("search", work, self._store, claim, signals=signals, lease_s=self._lease_s, log=log)

    def _work_on(self, claim: Claim, signals: Signals, log: structlog.stdlib.BoundLogger) -> None:
        try:
            exploration = self._run(claim, signals)
        except SearchFailedError as error:
            self._store.fail(claim, error.code, str(error), cancelled=signals.cancel.is_set())
            log.info("failed", reason=str(error))
        else:
            if self._teaches:
                self._learn(claim, exploration, log)

    def _run(self, claim: Claim, signals: Signals) -> Exploration:
        if claim.losses >= MAX_LOST_LEASES:
            raise SearchFailedError(f"given up: {claim.losses} runners in a row ended while they worked on it")
        state = self._store.load(claim)
        cohort = load_cohort(state.cohort)
        exploration = Exploration(self._store, self._dispatcher, claim, state, cohort=cohort, signals=signals)
        exploration.run()
        result = deliver(
            self._store, self._dispatcher, claim, state, cohort=cohort, exploration=exploration, signals=signals
        )
        signals.check()
        self._store.finish(claim, result, cancelled=signals.cancel.is_set())
        return exploration

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
