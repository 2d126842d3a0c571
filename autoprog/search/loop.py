"""The loop of a search: propose a batch, evaluate it, write each result down, until the budget is spent.

Two batches are under way at a time, so that no slot waits for the last evaluation of a batch: the next one is proposed
when all but the last are complete, from what these told and from what the last one will evaluate. A batch is written
before it is evaluated, together with what the optimizer must remember, and each evaluation when it ends. A search that
was killed reads both back, evaluates what is missing, and goes on exactly as it would have: proposals depend on
complete batches and on seeds alone, never on the order or the time of arrival.

A large cohort is explored on a subsample of its patients. The best configurations, and the simple pipeline, are then
proposed a second time, in one last batch, and evaluated on all patients. A search that continues another begins with
all that this one had proposed and evaluated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from autoprog.cohort import Cohort
from autoprog.ensemble import Contributions, contributions
from autoprog.evaluation import Evaluation, History, Plan, Race, Status
from autoprog.optimizer import Optimizer, Posterior, Proposal, simple_algorithm
from autoprog.search.clock import MAX_FINALISTS, Clock
from autoprog.search.evaluation_stream import EvaluationStream, Judge
from autoprog.search.explored import build_exploration_plan, build_opening, build_optimizer, build_plan
from autoprog.search.ports import CallLimits, Claim, Dispatcher, Phase, SearchState, Store
from autoprog.search.signals import Signals
from autoprog.search.warm_start import with_start
from autoprog.space import Configuration, Space

BATCHES_UNDER_WAY = 2
"""Batches that are evaluated at the same time."""

# Shares of the time for evaluations that belong to exploring, and margins on the predicted time of the finalists: no
# more of a large cohort's configurations are explored when these need what is left, and those that are being explored
# give way to them a little later.
_EXPLORATION_SHARE, _EXPLORATION_ENDS = 0.5, 0.6
# Of the budget: processor seconds that a pipeline of the opening may take.
_OPENING_SHARE = 0.25
_EXPLORATION_MARGIN, _END_MARGIN = 1.5, 1.2
# On all patients a path may go this many times as far as the value that was best on the sample.
_FURTHER = 3


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
        self.state = state
        self._signals = signals
        self.cohort = cohort
        self._proposals = list(state.proposals)
        self._evaluations = {e.number: e for e in state.evaluations}
        self.plan = build_plan(state, cohort)
        self.exploration_plan = build_exploration_plan(state, cohort)
        self._opening = build_opening(state, cohort)
        self.clock = Clock(
            state.settings.budget.time_s,
            state.elapsed_s + time.monotonic() - state.loaded_at,
            slots=dispatcher.slots,
            n_patients=cohort.n_rows,
            delivers_alone=state.delivers_alone,
        )
        self._last_beside: tuple[int, Contributions | None] | None = None
        self._expect()

    @cached_property
    def optimizer(self) -> Optimizer:
        """What proposes after the opening; where it begins is settled when it is asked for first."""
        self.state = with_start(self._store, self._claim, self.state, self.cohort)
        return build_optimizer(self.state, self.cohort)

    def posterior(self, history: History, rng: np.random.Generator) -> Posterior:
        """What is believed of explored pipelines; after an opening alone, by an optimizer without a start.

        Parameters
        ----------
        history : History
            Evaluations of this search.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        Posterior
            Over decompositions and the gains of the succeeded evaluations.
        """
        asked = "optimizer" in self.__dict__
        optimizer = self.optimizer if asked else build_optimizer(self.state, self.cohort)
        return optimizer.posterior(history, rng, self.optimizer_state)

    @property
    def history(self) -> History:
        """All evaluations so far, in order of proposal, on a subsample or on all patients."""
        ordered = sorted(self._evaluations.values(), key=lambda e: e.number)
        return History(self.plan.metric_for(self.cohort), tuple(ordered), self.plan.repeats)

    @property
    def explored(self) -> History:
        """What proposals are made from: the evaluations on the patients that are explored."""
        n = self.exploration_plan.sample(self.cohort).n_rows
        return self._on(n)

    @property
    def final(self) -> History:
        """What the model is made from: the evaluations on all patients."""
        return self._on(self.cohort.n_rows)

    def _on(self, n_patients: int) -> History:
        history = self.history
        on = tuple(e for e in history if (e.n_patients or self.cohort.n_rows) == n_patients)
        return replace(history, evaluations=on)

    def outcome(self) -> tuple[History, Plan, list[str]]:
        """What the model is to be made from, how that was evaluated, and what to say of it.

        Returns
        -------
        history : History
            The evaluations on all patients; on the explored ones where none on all patients succeeded.
        plan : Plan
            Of these evaluations.
        warnings : list of str
            Where not all patients were used for everything.
        """
        if not self._is_sampled:
            return self.history, self.plan, []
        n, total = len(self.explored), f"{self.cohort.n_rows:,}"
        explored = f"{n} configurations were explored on {self.exploration_plan.patients:,} of {total} patients"
        if self.final.succeeded:
            return self.final, self.plan, [f"{explored}, and the best {len(self.final.succeeded)} evaluated on all"]
        texts = [f"{explored}; none could be evaluated on all, so the model is fitted to the explored ones alone"]
        return self.explored, self.exploration_plan, texts

    def opening_in(self, history: History) -> int:
        """How many evaluations are of the opening: the first ones; none of those on all patients of a large cohort."""
        return len(self._opening) if history.evaluations and history.evaluations[0].number == 0 else 0

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
        if not self._has_finalists:
            self._explore()
            if self._is_sampled and not self._signals.cancel.is_set() and (finalists := self._finalists()):
                self._record(finalists, self.optimizer_state, is_final=True)
        if self._has_finalists:
            self._evaluate_finalists()

    def _explore(self) -> None:
        stream = self._stream(self.exploration_plan, self._exploration_s())
        for proposal in self._proposals:
            if not proposal.is_final:
                self._add(stream, proposal)
        self._replenish(stream)
        for evaluation in stream.run(self._dispatcher, self._explored_enough):
            self.clock.count(stream.slots)
            self.clock.keep_pace(stream.pace)
            self._take(evaluation)
            stream.limit(self._exploration_s())
            self._replenish(stream)
        self._signals.check()

    def _exploration_s(self) -> float:
        """What an evaluation may take: on a sample no longer than what could be evaluated on all patients would.

        How long that is, is known when the simple pipeline is decided.
        """
        settings, patients = self.state.settings, self.exploration_plan.patients
        simple_s = self.clock.simple_s(self.explored)
        if patients is None or settings.limits.evaluation_s or not simple_s:
            return settings.exploration_s
        return min(settings.exploration_s, self.clock.finalist_s(patients, simple_s))

    def _replenish(self, stream: EvaluationStream) -> None:
        """Have as many batches under way as there may be."""
        while stream.is_complete(len(self._proposals) - BATCHES_UNDER_WAY) and not self._time_is_up():
            proposal = self._propose()
            if proposal is None:
                return
            self._add(stream, proposal)

    def _add(self, stream: EvaluationStream, proposal: Proposal) -> None:
        """Have a batch evaluated: the simple pipeline without a limit, the opening with a wide one."""
        first = sum(len(p.configurations) for p in self._proposals[: proposal.batch])
        limits = None
        if first < len(self._opening):
            settings = self.state.settings
            wide = settings.limits.evaluation_s or _OPENING_SHARE * settings.budget.time_s
            limits = dict.fromkeys(range(first, first + len(proposal.configurations)), wide)
            # What stands first in a space without the simple model may never end.
            if self._opening[0].prediction.algorithm == simple_algorithm(self.cohort.mode):
                limits[0] = math.inf
        race, summarise_model = self._race(proposal.batch)
        stream.add(proposal.batch, self._missing(proposal), race, limits, summarise_model)

    def _evaluate_finalists(self) -> None:
        stream = self._stream(self.plan, self.state.settings.evaluation_s)
        stream.add(self._proposals[-1].batch, self._missing(self._proposals[-1]), race=None)
        for evaluation in stream.run(self._dispatcher, self._stop):
            self.clock.count(stream.slots)
            self.clock.keep_pace(stream.pace)
            self._take(evaluation)
        self._signals.check()

    def _stream(self, plan: Plan, limit_s: float) -> EvaluationStream:
        limits = CallLimits(limit_s, self.state.settings.limits.memory_mb)
        return EvaluationStream(ref=self.state.cohort, cohort=self.cohort, plan=plan, limits=limits)

    @property
    def _is_sampled(self) -> bool:
        return self.exploration_plan.patients is not None

    @property
    def _has_finalists(self) -> bool:
        """Whether the last batch holds this search's finalists; those of a search that it continues do not count."""
        return any(p.is_final for p in self._proposals[self.state.inherited_batches :][-1:])

    def _stop(self) -> bool:
        if self._signals.leave() or self._signals.cancel.is_set():
            return True
        # Without the simple pipeline there is nothing to deliver, and nothing to compare with.
        return 0 in self._evaluations and self.clock.evaluations_end()

    def _explored_enough(self) -> bool:
        """Whether the finalists need the time that is left."""
        return self._stop() or self._finals_are_due(_EXPLORATION_ENDS, _END_MARGIN)

    def _time_is_up(self) -> bool:
        """Whether no further batch may be proposed."""
        return self._stop() or self._finals_are_due(_EXPLORATION_SHARE, _EXPLORATION_MARGIN)

    def _finals_are_due(self, share: float, margin: float) -> bool:
        return self._is_sampled and self.clock.finals_are_due(self.explored, MAX_FINALISTS, share=share, margin=margin)

    def _propose(self) -> Proposal | None:
        """The next batch, written down; None when nothing is left to evaluate."""
        settings = self.state.settings
        proposed = sum(len(p.configurations) for p in self._proposals)
        finalists = min(MAX_FINALISTS, settings.budget.evaluations // 2) if self._is_sampled else 0
        size = min(settings.batch_size, settings.budget.evaluations - finalists - proposed)
        if size <= 0:
            return None
        if opening := self._opening[proposed:]:
            return self._record(opening[:size], self.optimizer_state)
        batch = len(self._proposals)
        rng = np.random.default_rng([settings.seed, batch])
        pending = self._proposals[-1].configurations if self._proposals else ()
        beside = self._beside(batch)
        told = beside.revised if beside else self._known_to(batch)
        proposal = self.optimizer.propose(told, batch, size, rng, self.optimizer_state, pending)
        return self._record(self._asked(proposal.configurations), proposal.state)

    def _asked(self, configurations: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
        """The new configurations of a proposal, each asked for up to the end of its path.

        Where all of these were asked for before, the proposed bounds are kept.
        """
        space = Space.full(self.cohort.n_causes)
        asked = {c for p in self._proposals for c in p.configurations}
        whole = tuple(dict.fromkeys(space.whole_path(c) for c in configurations))
        new = tuple(c for c in whole if c not in asked)
        return new or tuple(c for c in configurations if c not in asked)

    def _known_to(self, batch: int) -> History:
        """What was complete when a batch was proposed, whatever is known since."""
        history = self.explored
        return replace(history, evaluations=tuple(e for e in history if e.batch <= batch - BATCHES_UNDER_WAY))

    def _beside(self, batch: int) -> Contributions | None:
        """What the pipelines known to a batch are worth beside each other; None where each is to count alone."""
        if self.state.settings.optimizer.options(self.state.start).aim == "pipeline":
            return None
        if self._last_beside is None or self._last_beside[0] != batch:
            plan = self.exploration_plan
            sample = plan.sample(self.cohort)
            self._last_beside = batch, contributions(self._known_to(batch), sample, plan, len(self._opening))
        return self._last_beside[1]

    def _record(
        self, configurations: tuple[Configuration, ...], state: Mapping[str, Any], *, is_final: bool = False
    ) -> Proposal | None:
        if not configurations:
            return None
        proposal = Proposal(len(self._proposals), configurations, state, is_final)
        self._store.record_proposal(self._claim, proposal)
        self._proposals.append(proposal)
        return proposal

    def _finalists(self) -> tuple[Configuration, ...]:
        """The simple pipeline and the best of the explored configurations; none before anything was explored."""
        history = self.explored
        most = min(MAX_FINALISTS, self.state.settings.budget.evaluations - len(self._evaluations))
        best_first = self.clock.finalists(history, max(0, most))
        chosen = dict.fromkeys(_on_all_patients(e) for e in (*history.evaluations[:1], *best_first))
        known = {e.proposed for e in self.final}
        return tuple(c for c in chosen if c not in known)[: max(0, most)]

    def _missing(self, proposal: Proposal) -> dict[int, Configuration]:
        """What of a batch is not evaluated yet, by number."""
        first = sum(len(p.configurations) for p in self._proposals[: proposal.batch])
        numbered = enumerate(proposal.configurations, first)
        return {number: configuration for number, configuration in numbered if number not in self._evaluations}

    def _take(self, evaluation: Evaluation) -> None:
        if evaluation.status is not Status.CANCELLED:
            self._keep(evaluation)
        elif not self._signals.leave():  # else it is not the search's end: another runner evaluates it
            self._keep(replace(evaluation, reason=self._why_cancelled()))

    def _keep(self, evaluation: Evaluation) -> None:
        self._store.record_evaluation(self._claim, evaluation)
        self._evaluations[evaluation.number] = evaluation
        self._expect()

    def _expect(self) -> None:
        self.clock.expect(self.final if self.final.succeeded else self.explored)

    def _race(self, batch: int) -> tuple[Race | None, Judge | None]:
        """Against the incumbent as it stood when the batch was proposed; the opening is there to be different."""
        first = sum(len(p.configurations) for p in self._proposals[:batch])
        races = self.state.settings.racing and first >= len(self._opening)
        if not races:
            return None, None
        beside = self._beside(batch)
        return (Race.of(beside.revised), beside.fold_score) if beside else (Race.of(self._known_to(batch)), None)

    def _why_cancelled(self) -> str:
        if self._signals.cancel.is_set():
            return "the search was cancelled"
        return "the time budget was spent" if self.clock.evaluations_end() else "the time to explore was spent"


def _on_all_patients(evaluation: Evaluation) -> Configuration:
    """The configuration to evaluate on all patients; its path ends soon after the value that was best on the sample."""
    if evaluation.path is None:
        return evaluation.configuration
    name, bound = evaluation.path.hyperparameter, evaluation.path.bound
    chosen = dict(evaluation.configuration.prediction.parameters)[name]
    most = min(type(chosen)(_FURTHER * chosen), bound)
    return evaluation.configuration.at("prediction", name, most)
