"""The search loop: propose a batch, evaluate it, store each result, until the budget is spent.

Proposals depend on complete batches and seeds alone, so a killed search resumes exactly as it would have gone on.
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
from autoprog.endpoints import make_endpoint
from autoprog.ensemble import WEIGHING_RULES, Candidates, Contributions, Ensemble, Observed, contributions
from autoprog.evaluation import Evaluation, History, Plan, Race, Status
from autoprog.optimizer import Optimizer, Posterior, Proposal
from autoprog.search.batches import Batches
from autoprog.search.clock import Clock
from autoprog.search.evaluation_stream import EvaluationStream, Judge
from autoprog.search.finalists import Finalists
from autoprog.search.planning import build_exploration_plan, build_opening, build_optimizer, build_plan
from autoprog.search.ports import Claim, Phase, SearchState, Store
from autoprog.search.warm_start import with_start
from autoprog.space import Configuration, Space
from autoprog.work import CallLimits, Dispatcher, Signals

# The next batch is proposed when all but the last are complete, so that no slot waits for the end of a batch.
BATCHES_UNDER_WAY = 2
"""Batches evaluated at the same time."""

# Processor seconds that a pipeline of the opening may take: a share of the time budget, but at least so many, as a
# booster that is cut off costs nearly as much as one that ends.
_OPENING_SHARE, _OPENING_LEAST_S = 0.25, 5.0
# Seed of the ensemble, unlike any number of a batch; those seed the proposals.
_ENSEMBLE_STREAM = 2**32 - 1


class Exploration:
    """The part of a search that looks for good configurations."""

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
        # Batches and evaluations of a search that this one continues are among these.
        self._opening = build_opening(state, cohort)
        self._batches = Batches(state.proposals, self._opening, state.inherited_batches)
        self._evaluations = {e.number: e for e in state.evaluations}
        self.plan = build_plan(state, cohort)
        self.exploration_plan = build_exploration_plan(state, cohort)
        self.clock = Clock(
            state.settings.budget.time_s,
            state.elapsed_s + time.monotonic() - state.loaded_at,
            slots=dispatcher.slots,
            n_patients=cohort.n_rows,
            folds=self.plan.folds,
            delivers_alone=state.delivers_alone,
        )
        self._finalists = Finalists(
            state.settings, self._batches, self.clock, n_patients=cohort.n_rows, is_sampled=self._is_sampled
        )
        self._last_beside: tuple[int, Contributions | None] | None = None
        self._left_off: list[str] = []
        self._expect()

    @cached_property
    def optimizer(self) -> Optimizer:
        """Optimizer that proposes after the opening; its start is loaded and stored on first access."""
        self.state = with_start(self._store, self._claim, self.state, self.cohort)
        return build_optimizer(self.state, self.cohort)

    def posterior(self, history: History, rng: np.random.Generator) -> Posterior:
        """Compute the posterior over decompositions and the gains of succeeded evaluations."""
        # After an opening alone, the optimizer was never asked for and needs no start.
        asked = "optimizer" in self.__dict__
        optimizer = self.optimizer if asked else build_optimizer(self.state, self.cohort)
        return optimizer.posterior(history, rng, self.optimizer_state)

    @property
    def history(self) -> History:
        """All evaluations so far, by number, on a sample or on all patients."""
        ordered = sorted(self._evaluations.values(), key=lambda e: e.number)
        return History(self.plan.metric_for(self.cohort), tuple(ordered), self.plan.repeats)

    @property
    def explored(self) -> History:
        """Evaluations on the explored patients, from which proposals are made."""
        n = self.exploration_plan.sample(self.cohort).n_rows
        return self._on(n)

    @property
    def final(self) -> History:
        """Evaluations on all patients, from which the model is made."""
        return self._on(self.cohort.n_rows)

    def _on(self, n_patients: int) -> History:
        history = self.history
        on = tuple(e for e in history if (e.n_patients or self.cohort.n_rows) == n_patients)
        return replace(history, evaluations=on)

    def outcome(self) -> tuple[History, Plan, list[str]]:
        """Evaluations and plan that the model is made from, with warnings where not all patients were used."""
        if not self._is_sampled:
            return self.history, self.plan, self._left_off
        n = sum(e.status is not Status.CANCELLED for e in self.explored)
        total = f"{self.cohort.n_rows:,}"
        explored = f"{n} configurations were explored on {self.exploration_plan.patients:,} of {total} patients"
        if self.final.succeeded:
            text = f"{explored}, and the best {len(self.final.succeeded)} evaluated on all"
            return self.final, self.plan, [*self._left_off, text]
        text = f"{explored}; none could be evaluated on all, so the model is fitted to the explored ones alone"
        return self.explored, self.exploration_plan, [*self._left_off, text]

    def choose_ensemble(self, history: History, observed: Observed) -> tuple[Ensemble, Candidates]:
        """Choose the ensemble of a history with succeeded evaluations, by what was observed of its patients."""
        settings = self.state.settings
        rule = WEIGHING_RULES[settings.ensemble]
        rng = np.random.default_rng([settings.seed, _ENSEMBLE_STREAM])
        posterior = self.posterior(history, rng) if rule.asks_for_posterior else None
        candidates = Candidates(history, posterior, observed, chosen_before=self._batches.opening)
        return rule.weigh(candidates, rng), candidates

    def counts(self) -> dict[str, int | None]:
        """Count the evaluations by who proposed them, and the rows of the sample that was explored."""
        opening, finalists = (
            len(self._evaluations.keys() & numbers) for numbers in (self._batches.opening, self._batches.finalists)
        )
        return {
            "n_opening": opening,
            "n_proposed": len(self._evaluations) - opening - finalists,
            "n_finalists": finalists,
            "n_explored_rows": self.exploration_plan.patients,
        }

    @property
    def optimizer_state(self) -> Mapping[str, Any]:
        """Optimizer state stored with the last batch."""
        return self._batches.last.state if self._batches.last else {}

    def run(self) -> None:
        """Explore until the budget is spent, the space is exhausted or the client cancels."""
        self._store.record_phase(self._claim, Phase.SEARCH)
        if not self._batches.final:
            self._explore()
        for batch in self._batches.final:  # of a search that was interrupted
            if not self._finalists.is_too_late(batch, self.final):
                self._evaluate_finalists(batch)
        while (proposal := self._record(self._next_finalists(), self.optimizer_state, is_final=True)) is not None:
            self._evaluate_finalists(proposal)

    def leave_off(self, losses: int) -> None:
        """Propose and evaluate nothing more, as so many runners in a row have ended; the model's warnings say so."""
        n = len(self.history.succeeded)
        text = (
            f"{losses} runners in a row ended while they worked on this search: it ended early, and the model is made "
            f"of the {n} pipelines that had succeeded"
        )
        self._left_off = [text]

    @property
    def is_cut_short(self) -> bool:
        """Whether the search was left off, so that its posterior is neither concluded from nor taught."""
        return bool(self._left_off)

    def _explore(self) -> None:
        stream = self._stream(self.exploration_plan, self._exploration_s())
        for proposal in self._batches:
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
        """Time limit of an evaluation; on a sample, no longer than that of a possible finalist."""
        settings, patients = self.state.settings, self.exploration_plan.patients
        simple_s = self.clock.simple_s(self.explored)  # 0 until the simple pipeline is decided
        if patients is None or settings.limits.evaluation_s or not simple_s:
            return settings.exploration_s
        return min(settings.exploration_s, self.clock.finalist_s(patients, simple_s))

    def _replenish(self, stream: EvaluationStream) -> None:
        """Propose batches until `BATCHES_UNDER_WAY` are under way."""
        while stream.is_complete(len(self._batches) - BATCHES_UNDER_WAY) and not self._time_is_up():
            proposal = self._propose()
            if proposal is None:
                return
            self._add(stream, proposal)

    def _add(self, stream: EvaluationStream, proposal: Proposal) -> None:
        """Queue a batch: the simple pipeline without a time limit, the rest of the opening with a wide one."""
        limits = None
        if self._is_of_opening(proposal.batch):
            settings = self.state.settings
            wide = settings.limits.evaluation_s or max(_OPENING_LEAST_S, _OPENING_SHARE * settings.budget.time_s)
            limits = dict.fromkeys(self._batches.numbers(proposal.batch), wide)
            # Without the simple model in the space, the first pipeline might never end and keeps a limit.
            if self._opening[0].prediction.algorithm == self.cohort.outcome.simple_predictor:
                limits[0] = math.inf
        race, fold_scores = self._race(proposal.batch)
        stream.add(proposal.batch, self._missing(proposal), race, limits, fold_scores)

    def _is_of_opening(self, batch: int) -> bool:
        return not self._batches.opening.isdisjoint(self._batches.numbers(batch))

    def _next_finalists(self) -> tuple[Configuration, ...]:
        """Configurations to evaluate on all patients: the best of a sample, then single ones among them, slowed."""
        left = self.state.settings.budget.evaluations - self._batches.n_configurations
        if left <= 0 or self._signals.cancel.is_set():
            return ()
        if not self._batches.final:
            return self._finalists.first(self.explored, self.final, left)
        return () if self._stop() else self._finalists.slower(self.final)

    def _evaluate_finalists(self, batch: Proposal) -> None:
        stream = self._stream(self.plan, self.state.settings.evaluation_s)
        stream.add(batch.batch, self._missing(batch), None, self._finalists.limits(batch))
        for evaluation in stream.run(self._dispatcher, lambda: self._finalists_end(batch)):
            self.clock.count(stream.slots)
            self.clock.keep_pace(stream.pace)
            self._take(evaluation)
        self._signals.check()

    def _finalists_end(self, batch: Proposal) -> bool:
        """Whether the finalists of a batch that are still undecided must end."""
        if self._finalists.are_slowed(batch):
            return self._is_left() or self.clock.single_refit_is_due(self.final)
        return self._stop() or self._finalists.are_enough(self.final)

    def _stream(self, plan: Plan, limit_s: float) -> EvaluationStream:
        limits = CallLimits(limit_s, self.state.settings.limits.memory_mb)
        return EvaluationStream(ref=self.state.cohort, cohort=self.cohort, plan=plan, limits=limits)

    @property
    def _is_sampled(self) -> bool:
        return self.exploration_plan.patients is not None

    def _is_left(self) -> bool:
        return self._signals.leave() or self._signals.cancel.is_set()

    def _stop(self) -> bool:
        if self._is_left():
            return True
        # Without the simple pipeline there is nothing to deliver or to compare with.
        if 0 not in self._evaluations or not self.clock.evaluations_end():
            return False
        self._expect_the_members()
        return self.clock.evaluations_end()

    def _explored_enough(self) -> bool:
        """Whether exploration must end, for example because the finalists need the time left."""
        return self._stop() or self._finalists.are_overdue(self.explored)

    def _time_is_up(self) -> bool:
        """Whether no further batch may be proposed."""
        return self._stop() or self._finalists.are_due(self.explored)

    def _propose(self) -> Proposal | None:
        """Propose and store the next batch; None when nothing is left to evaluate."""
        settings = self.state.settings
        left = settings.budget.evaluations - self._finalists.reserved - self._batches.n_configurations
        size = min(settings.batch_size, left)
        if size <= 0:
            return None
        if opening := self._batches.opening_left:
            return self._record(opening[:size], self.optimizer_state)
        batch = len(self._batches)
        rng = np.random.default_rng([settings.seed, batch])
        pending = self._batches.last.configurations if self._batches.last else ()
        beside = self._beside(batch)
        told = beside.revised if beside else self._known_to(batch)
        proposal = self.optimizer.propose(told, batch, size, rng, self.optimizer_state, pending)
        return self._record(self._asked(proposal.configurations), proposal.state)

    def _asked(self, configurations: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
        """New configurations of a proposal, each extended to the end of its path."""
        space = Space.full(self.cohort.n_causes)
        asked = {c for p in self._batches for c in p.configurations}
        whole = tuple(dict.fromkeys(space.whole_path(c) for c in configurations))
        new = tuple(c for c in whole if c not in asked)
        # If all these paths were asked for before, keep the proposed bounds.
        return new or tuple(c for c in configurations if c not in asked)

    def _known_to(self, batch: int) -> History:
        """Evaluations that were complete when a batch was proposed, whatever has ended since."""
        history = self.explored
        return replace(history, evaluations=tuple(e for e in history if e.batch <= batch - BATCHES_UNDER_WAY))

    def _beside(self, batch: int) -> Contributions | None:
        """Contributions to an ensemble of the pipelines known to a batch; None where each counts alone."""
        if self.state.settings.optimizer.options(self.state.start).aim == "pipeline":
            return None
        if self._last_beside is None or self._last_beside[0] != batch:
            plan = self.exploration_plan
            sample = plan.sample(self.cohort)
            self._last_beside = batch, contributions(self._known_to(batch), sample, plan, self._batches.opening)
        return self._last_beside[1]

    def _record(
        self, configurations: tuple[Configuration, ...], state: Mapping[str, Any], *, is_final: bool = False
    ) -> Proposal | None:
        if not configurations:
            return None
        proposal = Proposal(len(self._batches), configurations, state, is_final)
        # A batch is stored with the optimizer's state before it is evaluated, for a search that is killed to resume.
        self._store.record_proposal(self._claim, proposal)
        self._batches.add(proposal)
        return proposal

    def _missing(self, proposal: Proposal) -> dict[int, Configuration]:
        """Configurations of a batch that are not evaluated yet, by evaluation number."""
        numbered = zip(self._batches.numbers(proposal.batch), proposal.configurations, strict=True)
        return {number: configuration for number, configuration in numbered if number not in self._evaluations}

    def _take(self, evaluation: Evaluation) -> None:
        if evaluation.status is not Status.CANCELLED:
            self._keep(evaluation)
        elif not self._signals.leave():  # otherwise another runner evaluates it
            self._keep(replace(evaluation, reason=self._why_cancelled()))

    def _keep(self, evaluation: Evaluation) -> None:
        self._store.record_evaluation(self._claim, evaluation)
        self._evaluations[evaluation.number] = evaluation
        self._expect()

    def _expect(self) -> None:
        """Reserve the time for the best, of which the ensemble will hold some."""
        self.clock.expect(self.final if self.final.succeeded else self.explored)
        self._knows_members = False

    def _expect_the_members(self) -> None:
        """Reserve the time for the ensemble as it is, once for each new evaluation."""
        if self._knows_members or WEIGHING_RULES[self.state.settings.ensemble].asks_for_posterior:
            return
        history, plan, _ = self.outcome()
        # After a sample, members are chosen among finalists, which may be any of the best until these are evaluated.
        if history.succeeded and plan.patients is None:
            endpoint = make_endpoint(self.cohort, plan.times, self.state.settings.thresholds)
            ensemble, _ = self.choose_ensemble(history, endpoint)
            self.clock.expect(history, {m.number for m in ensemble.members})
        self._knows_members = True

    def _race(self, batch: int) -> tuple[Race | None, Judge | None]:
        """Race against the incumbent at the batch's proposal, and the fold scores to race by."""
        # The opening is meant to be diverse and does not race.
        if not self.state.settings.racing or self._is_of_opening(batch):
            return None, None
        beside = self._beside(batch)
        return (Race.of(beside.revised), beside.fold_scores) if beside else (Race.of(self._known_to(batch)), None)

    def _why_cancelled(self) -> str:
        if self._signals.cancel.is_set():
            return "the search was cancelled"
        if self.clock.evaluations_end() or len(self._batches.final) > 1:  # a slowed booster runs to the very end
            return "the time budget was spent"
        return "the time left was given to a slower booster" if self._batches.final else "the time to explore was spent"
