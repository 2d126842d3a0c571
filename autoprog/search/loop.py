"""The loop of a search: propose a batch, evaluate it, write each result down, until the budget is spent.

A batch is written before it is evaluated, together with what the optimizer must remember, and each evaluation when it
ends. A search that was killed reads both back, evaluates what is missing of its last batch, and goes on exactly as it
would have: proposals depend on completed batches and on seeds alone, never on the order or the time of arrival.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autoprog.cohort import Cohort
from autoprog.evaluation import METRICS, CrossValidation, Evaluation, History, Plan, Status
from autoprog.optimizer import Optimizer, OptimizerOptions, Proposal, make_optimizer
from autoprog.search.ports import (
    Call,
    CallLimits,
    CallOutcome,
    CallStatus,
    Claim,
    Dispatcher,
    Phase,
    SearchState,
    Store,
)
from autoprog.search.signals import Signals
from autoprog.search.work import evaluate
from autoprog.space import Configuration, Space, TableShape

_STATUS = {
    CallStatus.TIMEOUT: Status.TIMEOUT,
    CallStatus.MEMORY: Status.MEMORY,
    CallStatus.CRASHED: Status.CRASHED,
    CallStatus.FAILED: Status.INVALID,
    CallStatus.CANCELLED: Status.CANCELLED,
}

# Share of the time budget kept for the ensemble, its refit and the rules.
_DELIVERY_SHARE = 0.15
_DELIVERY_LEAST_S, _DELIVERY_MOST_S = 1.5, 60.0


class Exploration:
    """The part of a search that looks for good configurations.

    Parameters
    ----------
    store : Store
        Keeps batches and evaluations.
    dispatcher : Dispatcher
        Runs evaluations.
    claim : Claim
        This runner's hold on the search.
    state : SearchState
        What was written before.
    cohort : Cohort
        The patients that `state.cohort` points at.
    signals : Signals
        Tell when to stop.
    """

    def __init__(
        self,
        store: Store,
        dispatcher: Dispatcher,
        claim: Claim,
        state: SearchState,
        *,
        cohort: Cohort,
        signals: Signals,
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._claim = claim
        self._state = state
        self._signals = signals
        self._proposals = list(state.proposals)
        self._evaluations = {e.number: e for e in state.evaluations}
        settings = state.settings
        self.plan = plan_of(state)
        self.optimizer = optimizer_of(state, cohort)
        self._deadline = time.monotonic() + _exploration_s(settings.budget.time_s) - state.elapsed_s

    @property
    def history(self) -> History:
        """All evaluations so far, in order of proposal."""
        ordered = sorted(self._evaluations.values(), key=lambda e: e.number)
        return History(METRICS[self.plan.metric], tuple(ordered), self.plan.repeats)

    @property
    def optimizer_state(self) -> Mapping[str, Any]:
        """What the optimizer remembered at its last batch."""
        return self._proposals[-1].state if self._proposals else {}

    def run(self) -> None:
        """Explore until the budget is spent, the space is exhausted or the client cancels.

        Raises
        ------
        LeaseLostError
            If another runner took the search over.
        ShutdownError
            If this process is asked to end.
        EngineUnavailableError
            If no worker can be reached.
        """
        self._store.record_phase(self._claim, Phase.SEARCH)
        if self._proposals:
            self._evaluate(self._proposals[-1])
        while not self._stop() and (proposal := self._propose()) is not None:
            self._evaluate(proposal)
        self._signals.check()

    def _stop(self) -> bool:
        return self._signals.leave() or self._signals.cancel.is_set() or time.monotonic() >= self._deadline

    def _propose(self) -> Proposal | None:
        """The next batch, written down; None when nothing is left to evaluate."""
        settings = self._state.settings
        size = min(settings.batch_size, settings.budget.evaluations - len(self._evaluations))
        if size <= 0:
            return None
        batch = len(self._proposals)
        rng = np.random.default_rng([settings.seed, batch])
        proposal = self.optimizer.propose(self.history, batch, size, rng, self.optimizer_state)
        if not proposal.configurations:
            return None
        self._store.record_proposal(self._claim, proposal)
        self._proposals.append(proposal)
        return proposal

    def _evaluate(self, proposal: Proposal) -> None:
        """Evaluate what of the batch is not evaluated yet."""
        first = sum(len(p.configurations) for p in self._proposals[: proposal.batch])
        missing = {
            str(number): configuration
            for number, configuration in enumerate(proposal.configurations, first)
            if number not in self._evaluations
        }
        calls = [Call(key, evaluate, (self._state.cohort, c, self.plan)) for key, c in missing.items()]
        limits = CallLimits(self._state.settings.limits.evaluation_s, self._state.settings.limits.memory_mb)
        for outcome in self._dispatcher.run(calls, limits, self._stop):
            if outcome.status is CallStatus.CANCELLED and self._signals.leave():
                continue  # not the search's end: another runner evaluates it
            evaluation = _evaluation_of(outcome, proposal.batch, missing[outcome.key], self._reason)
            self._store.record_evaluation(self._claim, evaluation)
            self._evaluations[evaluation.number] = evaluation
        self._signals.check()

    def _reason(self) -> str:
        """Why evaluations are being cancelled."""
        return "the search was cancelled" if self._signals.cancel.is_set() else "the time budget was spent"


def plan_of(state: SearchState) -> Plan:
    """How the configurations of a search are evaluated."""
    settings = state.settings
    assert settings.folds is not None, "plan_search settles the folds"  # noqa: S101
    return Plan(settings.metric, settings.folds, settings.repeats, settings.seed)


def optimizer_of(state: SearchState, cohort: Cohort) -> Optimizer:
    """The optimizer that the settings ask for."""
    settings = state.settings
    shape = TableShape.of(cohort, plan_of(state).folds)
    return make_optimizer(Space.subset(settings.space), shape, OptimizerOptions(**settings.optimizer.model_dump()))


def _exploration_s(budget_s: float) -> float:
    """Seconds of the budget that may be spent on evaluations."""
    return budget_s - min(max(_DELIVERY_SHARE * budget_s, _DELIVERY_LEAST_S), _DELIVERY_MOST_S, budget_s / 2)


def _evaluation_of(
    outcome: CallOutcome, batch: int, configuration: Configuration, reason: Callable[[], str]
) -> Evaluation:
    number = int(outcome.key)
    if outcome.status is CallStatus.SUCCEEDED:
        result: CrossValidation = outcome.value
        return Evaluation(
            number,
            batch,
            configuration,
            Status.SUCCEEDED,
            score=result.score,
            fold_scores=result.fold_scores,
            risks=result.risks,
            duration_s=outcome.duration_s,
        )
    status = _STATUS[outcome.status]
    why = reason() if status is Status.CANCELLED else outcome.reason
    return Evaluation(number, batch, configuration, status, duration_s=outcome.duration_s, reason=why)
