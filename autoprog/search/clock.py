"""The time of a search: what is left of its budget, and what delivering the model will need.

s      seconds of a refit, on one thread or on those of all slots; see `autoprog.search.refits`
N      evaluations so far
S      slots
n      patients
B      resamples of the score's correction
delivery = 1.3 (max(posterior, refits) + the rest) + max(intervals, correction)
posterior = .5 + .012 N                 measured up to 160 evaluations (2.4 s); it counts 256 at most
refits    = .7 + s until all are done   over the ensemble's members or, before it is chosen, the best evaluations; first
                                        each child loads what writes them
correction = B (.002 + 3.2e-8 n (N + 10))
             (2e-6 + 1.5e-7 N) B n      for event times; 1e-5 B n more where more than the ranking counts
intervals = .5 + 10 sum s / S          over the same evaluations; at most a tenth of the budget, but at least the fewest
                                        refits of the quickest quarter; 0 where these take more than a sixth

Seconds of this process are multiplied by the evaluations' pace, wall-clock seconds per computed second: on a busy
machine everything takes as many times longer. The posterior and the correction are computed in this process while the
slots refit. Intervals take at most a third of the budget, whatever is left. The correction has no margin: if it takes
longer than expected, it ends with the resamples made so far.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from autoprog.evaluation import Evaluation, History
from autoprog.performance import EVENT_METRICS
from autoprog.search.refits import Refit, plan_phases, refits_wall_s
from autoprog.space import find_registered
from autoprog.validation import MIN_REFITS, n_event_resamples, n_resamples

_POSTERIOR_S, _POSTERIOR_S_EACH, _POSTERIOR_MOST = 0.5, 0.012, 256
_MEMBERS = 20
# Seconds of what follows the correction: measures, rules, the model's file; while the slots keep the cores busy.
_REST_S, _REST_S_PATIENT = 1.3, 5e-5
# Seconds of the measures at the horizons, for event times.
_EVENT_REST_S_PATIENT = 2e-4
_RESAMPLE_S, _RESAMPLE_S_EACH, _RESAMPLE_AVERAGE = 2e-3, 3.2e-8, 10
_EVENT_RANKING_S, _EVENT_RANKING_S_EACH, _EVENT_WHOLE_S = 2e-6, 1.5e-7, 1e-5
# Most of the budget that is kept for the delivery; more where everything takes at least twice as long.
_DELIVERY_MOST, _DELIVERY_MOST_BUSY, _BUSY = 1 / 2, 2 / 3, 2.0
# Seconds of computing before the first rule is found, and of what follows the rules: the model and its file.
_FIRST_RULE_S, _MODEL_S = 0.7, 0.3
# Seconds in which a child loads what writes fitted pipelines.
_WRITER_S = 0.7
# Shares of the budget for intervals: reserved at the evaluations' expense, the same at most for the fewest refits that
# are enough, and the limit of what they may take of the time left over.
_INTERVALS_KEPT, _INTERVALS_AT_LEAST, _VALIDATION_MOST = 1 / 10, 1 / 6, 1 / 3
# Share of the budget of all slots that one configuration may take on all patients; or, on a sample, multiple of the
# simple pipeline's seconds, which are mostly those that every evaluation takes.
_DEAREST, _TIMES_SIMPLE = 0.1, 3.0
# Share of the time left that this process may spend, beside the refits, on what the model does not need.
_ASIDE = 0.25
# Share of the correction that is kept where refits need its time.
_LEAST_CORRECTION = 0.25
# Seconds to learn from the refits.
_LEARNING_S = 0.5

MAX_FINALISTS = 8
"""Configurations evaluated on all patients after a sample was explored, the simple pipeline included."""

MAX_REFITS = 10
"""Refits of the ensemble for the intervals of patients' risks, where there is time."""

MORE_REFITS = 100
"""Refits where a search is continued for the intervals alone."""

# Past timings are no guarantee.
_MARGIN = 1.3
# Pace from which other work shares the cores. There, threads that wait for each other take two to three times as long
# as one: two took 21 and 29 s beside 8 spinning processes, one 8 and 10.
_SHARED = 1.25
# Share of the time for evaluations, and for the refit, that a slowed booster is planned to take, and of the time left
# that it may take before it is slowed.
_SLOWED_SHARE, _HASTY_SHARE = 0.9, 0.05


class Clock:
    """Clock of a search; counts the work of every runner, and tells when to turn from exploring to delivering."""

    def __init__(
        self,
        budget_s: float,
        elapsed_s: float,
        *,
        slots: int,
        n_patients: int,
        folds: int = 5,
        delivers_alone: bool = False,
    ) -> None:
        self._budget_s = budget_s
        # A search that explores nothing has all its time for the intervals.
        self._validation_most = 1.0 if delivers_alone else _VALIDATION_MOST
        self.most_refits = MORE_REFITS if delivers_alone else MAX_REFITS
        self._end = time.monotonic() + budget_s - elapsed_s
        self._slots = max(1, slots)
        self._n_patients = n_patients
        self._folds = folds
        self._correction_s = 0.0
        self._pace = 1.0
        self._last_s = _REST_S + _REST_S_PATIENT * n_patients
        self._delivery_s = min(_MARGIN * (_POSTERIOR_S + self._last_s), _DELIVERY_MOST * budget_s)

    def remaining_s(self) -> float:
        """Seconds of the budget that are left; negative when it is overspent."""
        return self._end - time.monotonic()

    def count(self, slots: int) -> None:
        """Set the number of slots for later plans, 0 for no change; the time that `expect` reserved stays."""
        self._slots = slots or self._slots

    def keep_pace(self, pace: float) -> None:
        """Set the wall-clock seconds per computed second for later plans, at least 1; 0 for no change."""
        self._pace = max(1.0, pace) if pace else self._pace

    def allows(self, computed_s: float) -> bool:
        """Whether a quarter of the time left is enough to compute this long in this process."""
        return self._pace * computed_s <= _ASIDE * self.remaining_s()

    @property
    def slots(self) -> int:
        """Fits at once that are planned with, at least 1."""
        return self._slots

    @property
    def threads(self) -> int:
        """Threads of a refit that runs alone: those of all slots on a quiet machine, one where others compute."""
        return self._slots if self._pace < _SHARED else 1

    def expect(self, history: History, members: Collection[int] | None = None) -> None:
        """Reserve the time to deliver what this history would deliver: at most half of the budget, or more if busy.

        Parameters
        ----------
        history : History
        members : collection of int, optional
            Numbers of the evaluations in its ensemble; if unknown, the best evaluations count, which are more.
        """
        refits = self._refits(history, members)
        refitted = self._pace * _WRITER_S + refits_wall_s(refits, self._slots, self.threads)
        before = max(self._pace * posterior_s(len(history)), refitted)
        self._correction_s = self._pace * _correction_s(history)
        of_times = _EVENT_REST_S_PATIENT if history.metric.name in EVENT_METRICS else 0.0
        self._last_s = self._pace * (_REST_S + (_REST_S_PATIENT + of_times) * self._n_patients)
        validation_s = max(self._correction_s, self._kept_for_intervals_s([refit.seconds for refit in refits]))
        needed = _MARGIN * (before + self._last_s) + validation_s
        most = _DELIVERY_MOST if self._pace < _BUSY else _DELIVERY_MOST_BUSY
        self._delivery_s = min(needed, most * self._budget_s)

    def evaluations_end(self) -> bool:
        """Whether the delivery needs the time left."""
        return self.remaining_s() <= self._delivery_s

    def share_spent(self) -> float:
        """Share of the time for evaluations that has passed."""
        return (self._budget_s - self.remaining_s()) / (self._budget_s - self._delivery_s)

    def finals_are_due(self, history: History, most: int, *, share: float, margin: float) -> bool:
        """Whether, after `share` of the time, the best `most` need what is left to run on all patients."""
        seconds = [e.duration_s * self._on_all(e) for e in self.finalists(history, most)]
        finals_s = max(sum(seconds) / self._slots, max(seconds, default=0.0))
        left_s = self.remaining_s() - self._delivery_s
        return self.share_spent() >= share and left_s <= margin * finals_s

    def finalists(self, history: History, most: int) -> list[Evaluation]:
        """Select the best configurations to evaluate on all patients or to refit, the best first."""
        simple_s = self.simple_s(history)
        best = sorted(history.succeeded, key=lambda e: -history.metric.gain(e.score or 0.0))
        # On a sample, those that would take too long on all patients are left out, unless nothing else was explored:
        # the others, and the exploration, would have to wait for them.
        kept = [
            e for e in best if not self._is_sampled(e) or e.duration_s <= self.finalist_s(e.n_patients or 0, simple_s)
        ]
        if kept and self._is_sampled(kept[0]):
            # Algorithms that learn from all patients come first.
            kept.sort(key=self._learns_from_fewer)
        return (kept or best)[:most]

    def _learns_from_fewer(self, evaluation: Evaluation) -> bool:
        """Whether a configuration's prediction is fitted to less than half of all patients."""
        most = find_registered("prediction", evaluation.configuration.prediction.algorithm).max_patients
        return most is not None and most < self._n_patients / 2

    def finalist_s(self, n_patients: int, simple_s: float) -> float:
        """Longest time on a sample of an evaluation that may become one on all patients; at least 1 s."""
        share_s = _DEAREST * self._budget_s * self._slots * n_patients / self._n_patients
        return max(1.0, share_s, _TIMES_SIMPLE * simple_s)

    @staticmethod
    def simple_s(history: History) -> float:
        """Seconds of the simple pipeline, the first evaluation; 0 if it is undecided or failed."""
        return next((e.duration_s for e in history.succeeded if e.number == 0), 0.0)

    def _is_sampled(self, evaluation: Evaluation) -> bool:
        return (evaluation.n_patients or self._n_patients) < self._n_patients

    def haste(self, evaluation: Evaluation) -> float:
        """Share of its seconds that an evaluation may take on all patients if it is to be slowed later; at most 1."""
        predicted_s = evaluation.duration_s * self._on_all(evaluation) / min(self._slots, self._folds)
        return min(1.0, _HASTY_SHARE * self.remaining_s() / max(predicted_s, 1e-6))

    def slowdown(self, evaluation: Evaluation) -> float:
        """How many times longer a finalist and its refit may take, if nothing else is refitted and no interval made."""
        refit = Refit.of(evaluation, self._folds)
        needed_s = evaluation.duration_s / min(self._slots, self._folds) + refit.on(self.threads)
        return _SLOWED_SHARE * max(0.0, self._single_refit_left_s()) / max(needed_s, 1e-6)

    def is_too_late(self, evaluation: Evaluation, k: float) -> bool:
        """Whether a finalist can no longer take k times longer and be refitted before the end."""
        return k * _SLOWED_SHARE > self.slowdown(evaluation)

    def single_refit_is_due(self, history: History) -> bool:
        """Whether the refit of the best evaluation alone needs the time left, beside what follows the refits."""
        best = max(history.succeeded, key=lambda e: history.metric.gain(e.score or 0.0))
        refit = Refit.of(best, self._folds)
        return self._single_refit_left_s() <= _MARGIN * refit.on(self.threads)

    def _single_refit_left_s(self) -> float:
        return self.remaining_s() - self._pace * _WRITER_S - _MARGIN * self._last_s - self._correction_s

    def affordable(self, refits: Sequence[Refit]) -> list[bool]:
        """Flag the refits, asked for in this order, that are likely to end in time; skip those that do not fit."""
        left = [self._refits_left_s() - self._pace * _WRITER_S] * self._slots
        kept = [False] * len(refits)
        for places, threads in plan_phases(refits, self._slots, self.threads):
            for place in places:
                needed_s = refits[place].on(threads)
                slots = range(self._slots) if threads > 1 else [max(range(self._slots), key=lambda i: left[i])]
                if all(needed_s <= left[slot] for slot in slots):
                    kept[place] = True
                    left = [each - needed_s if slot in slots else each for slot, each in enumerate(left)]
        return kept

    def refits_end(self) -> bool:
        """Whether what follows the refits needs the time left."""
        return self._refits_left_s() <= 0

    def correction_ends(self) -> bool:
        """Whether what follows the score's correction needs the time left."""
        return self.remaining_s() <= _MARGIN * self._last_s

    def rules_end(self, *, begun: bool = True) -> bool:
        """Test whether what follows the rules needs the time left; before they begin, with the first rule."""
        return self.remaining_s() <= self._pace * (_MODEL_S if begun else _MODEL_S + _FIRST_RULE_S)

    def _refits_left_s(self) -> float:
        # A member is worth more than most of the correction's resamples.
        return self.remaining_s() - self._last_s - _LEAST_CORRECTION * self._correction_s

    def intervals_s(self) -> float:
        """Seconds that the intervals may take from now on; 0 if there are none to spare."""
        most = self._validation_most * self._budget_s
        return max(0.0, min(most, self.remaining_s() - _MARGIN * self._last_s) - _LEARNING_S)

    def _refits(self, history: History, members: Collection[int] | None) -> list[Refit]:
        """Refits of the members or, if these are unknown, of each likely one."""
        if members is not None:
            return [Refit.of(e, self._folds) for e in history.succeeded if e.number in members]
        # After exploring a sample, each finalist may be a member.
        most = MAX_FINALISTS if any(map(self._is_sampled, history.succeeded)) else _MEMBERS
        return [Refit.of(e, self._folds).times(self._on_all(e)) for e in self.finalists(history, most)]

    def _on_all(self, evaluation: Evaluation) -> float:
        """All patients, as a multiple of those of an evaluation."""
        return self._n_patients / (evaluation.n_patients or self._n_patients)

    def _kept_for_intervals_s(self, refits_s: Sequence[float]) -> float:
        if not refits_s:
            return 0.0
        whole, most = sum(refits_s) / self._slots, _INTERVALS_KEPT * self._budget_s - _LEARNING_S
        # The slowest members may be left out.
        least = MIN_REFITS * sum(sorted(refits_s)[: -(-len(refits_s) // 4)]) / self._slots
        if least > _INTERVALS_AT_LEAST * self._budget_s:
            return 0.0
        return _LEARNING_S + max(least, min(MAX_REFITS * whole, most))


def posterior_s(n_evaluations: int) -> float:
    """Expected seconds of computing the posterior of this many evaluations."""
    return _POSTERIOR_S + _POSTERIOR_S_EACH * min(n_evaluations, _POSTERIOR_MOST)


def _correction_s(history: History) -> float:
    pipelines = len(history.succeeded)
    n = max((e.n_patients or 0 for e in history.succeeded), default=0)
    if history.metric.name in EVENT_METRICS:
        each = _EVENT_RANKING_S + _EVENT_RANKING_S_EACH * pipelines
        each += 0.0 if history.metric.ranks_only else _EVENT_WHOLE_S
        return n * each * n_event_resamples(n, pipelines)
    return n_resamples(n, pipelines) * (_RESAMPLE_S + _RESAMPLE_S_EACH * n * (pipelines + _RESAMPLE_AVERAGE))
