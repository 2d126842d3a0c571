"""The time of a search: what is left of its budget, and what its end will need of it.

t      seconds of one fit of an evaluation, the mean over its folds
N      evaluations so far
S      slots
n      patients
B      resamples of the score's correction
delivery = 1.3 (max(posterior, refits) + the rest) + max(intervals, correction)
posterior = .5 + .012 N                 measured: 2.4 s at 160 evaluations, where it levels off
refits    = max(sum u / S, max u)       over the best evaluations, which are the ensemble's likely members
u         = 1.25 t + .15                all patients are 5/4 of a training fold's; a fitted model is written and read
correction = 5e-9 B n (N + 50)          twice as much where more than the ranking counts
             (2e-6 + 1.5e-7 N) B n      of event times, 1e-5 B n more where more than the ranking counts
intervals = .5 + 12.5 sum t / S        of the same evaluations, at most a tenth of the budget, but the fewest refits of
                                        the quickest quarter; 0 where these take more than a sixth

Seconds of this process are multiplied by the pace of the evaluations, seconds of the clock for one that is computed:
on a machine with other work everything takes as many times longer.

What this process computes, the posterior and the correction, it computes while the slots refit. Intervals take at most
a third of the budget, whatever is left. The correction has no margin: one that takes longer than expected ends with
the resamples that it has made.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from autoprog.evaluation import EVENT_METRICS, Evaluation, History
from autoprog.space import registered
from autoprog.validation import MIN_REFITS, n_event_resamples, n_resamples

_POSTERIOR_S, _POSTERIOR_S_EACH, _POSTERIOR_MOST = 0.5, 0.012, 256
_MEMBERS = 20
_ALL_PATIENTS = 1.25
# To write a fitted model in the child and to read it here.
_HANDING_OVER_S = 0.15
# What follows the correction: measures, rules, the model's file; while the slots are busy and the cores are theirs.
_REST_S, _REST_S_PATIENT = 1.0, 5e-5
# Measures at the horizons, of event times.
_EVENT_REST_S_PATIENT = 2e-4
_CORRECTION_S, _CORRECTION_AVERAGE = 5e-9, 50
_EVENT_RANKING_S, _EVENT_RANKING_S_EACH, _EVENT_WHOLE_S = 2e-6, 1.5e-7, 1e-5
# Of the budget: what evaluations give way for, the same for the fewest refits that serve, and what intervals may take
# of time that is left over.
_INTERVALS_KEPT, _INTERVALS_AT_LEAST, _VALIDATION_MOST = 1 / 10, 1 / 6, 1 / 3
# And what one configuration may take on all patients, of all slots together; or on a sample how often what the simple
# pipeline does, whose seconds are mostly those that every evaluation takes.
_DEAREST, _TIMES_SIMPLE = 0.1, 3.0
# Of what is left: what this process may compute beside the refits that no model asks for.
_ASIDE = 0.25
# To learn from the refits.
_LEARNING_S = 0.5

MAX_FINALISTS = 8
"""Configurations that are evaluated on all patients where a sample was explored, the simple pipeline among them."""

MAX_REFITS = 10
"""Refits of the ensemble that the intervals of patients' risks are estimated from, where there is time."""

MORE_REFITS = 100
"""And where a search is continued for their sake."""

# Measured seconds of the past are no promise.
_MARGIN = 1.3


class Clock:
    """Tells when a search must turn from exploring to delivering.

    It counts what was worked on the search, whoever runs it now.

    Parameters
    ----------
    budget_s : float
        Seconds of work from the start to the delivered model.
    elapsed_s : float
        Seconds that are spent.
    slots : int
        Fits at once, as far as it is known yet; see `count`.
    n_patients : int
        Of the cohort.
    delivers_alone : bool
        Whether nothing is to be explored: the time is then for the intervals.
    """

    def __init__(
        self, budget_s: float, elapsed_s: float, *, slots: int, n_patients: int, delivers_alone: bool = False
    ) -> None:
        self._budget_s = budget_s
        self._validation_most = 1.0 if delivers_alone else _VALIDATION_MOST
        self.most_refits = MORE_REFITS if delivers_alone else MAX_REFITS
        self._end = time.monotonic() + budget_s - elapsed_s
        self._slots = max(1, slots)
        self._n_patients = n_patients
        self._correction_s = 0.0
        self._pace = 1.0
        self._last_s = self._rest_s = _REST_S + _REST_S_PATIENT * n_patients
        self._delivery_s = min(_MARGIN * (_POSTERIOR_S + self._rest_s), budget_s / 2)

    def remaining_s(self) -> float:
        """Seconds of the budget that are left; below 0 when it is overspent."""
        return self._end - time.monotonic()

    def count(self, slots: int) -> None:
        """Plan with so many fits at once from now on, 0 for as before; the time that `expect` kept stays as it was."""
        self._slots = slots or self._slots

    def keep_pace(self, pace: float) -> None:
        """Plan with so many seconds of the clock for one that is computed, 1 or more; what is told later counts."""
        self._pace = max(1.0, pace)

    def allows(self, computed_s: float) -> bool:
        """Whether a quarter of what is left suffices to compute so long in this process."""
        return self._pace * computed_s <= _ASIDE * self.remaining_s()

    @property
    def slots(self) -> int:
        """Fits at once that are planned with, at least 1."""
        return self._slots

    def expect(self, history: History) -> None:
        """Keep time for delivering what this history would deliver; at most half of the budget."""
        refits = self._refits_s(history)
        delivered = [seconds + self._pace * _HANDING_OVER_S for seconds in refits]
        before = max(self._pace * posterior_s(len(history)), sum(delivered) / self._slots, max(delivered, default=0.0))
        self._correction_s = self._pace * _correction_s(history)
        of_times = _EVENT_REST_S_PATIENT if history.metric.name in EVENT_METRICS else 0.0
        self._last_s = self._pace * (_REST_S + (_REST_S_PATIENT + of_times) * self._n_patients)
        self._rest_s = self._last_s + self._correction_s
        validation_s = max(self._correction_s, self._kept_for_intervals_s(refits))
        needed = _MARGIN * (before + self._last_s) + validation_s
        self._delivery_s = min(needed, self._budget_s / 2)

    def evaluations_end(self) -> bool:
        """Whether what is left is needed for the delivery."""
        return self.remaining_s() <= self._delivery_s

    def share_spent(self) -> float:
        """Share of the time for evaluations that has passed."""
        return (self._budget_s - self.remaining_s()) / (self._budget_s - self._delivery_s)

    def finals_are_due(self, history: History, most: int, *, share: float, margin: float) -> bool:
        """Whether what is left for evaluations is needed to evaluate the best configurations on all patients.

        Parameters
        ----------
        history : History
            Of evaluations on a sample of the patients.
        most : int
            How many of the best.
        share : float
            Of the time for evaluations, which passes first in any case.
        margin : float
            What their predicted time is multiplied by.

        Returns
        -------
        bool
            By the seconds that they took, and as many times longer as there are more patients.
        """
        seconds = [self._of_all_patients_s(e.duration_s, e) for e in self.finalists(history, most)]
        finals_s = max(sum(seconds) / self._slots, max(seconds, default=0.0))
        left_s = self.remaining_s() - self._delivery_s
        return self.share_spent() >= share and left_s <= margin * finals_s

    def finalists(self, history: History, most: int) -> list[Evaluation]:
        """The best configurations, to be evaluated on all patients or refitted to them.

        Parameters
        ----------
        history : History
            Of evaluations.
        most : int
            How many.

        Returns
        -------
        list of Evaluation
            The best first. Of a sample of the patients, algorithms that learn from all patients come before those that
            are fitted to less than half of them, and without those that would take more than `_DEAREST` of the
            budget on all, unless nothing else was explored: the others, and the exploring, would have to wait for them.
        """
        simple_s = self.simple_s(history)
        best = sorted(history.succeeded, key=lambda e: -history.metric.gain(e.score or 0.0))
        kept = [
            e for e in best if not self._is_sampled(e) or e.duration_s <= self.finalist_s(e.n_patients or 0, simple_s)
        ]
        if kept and self._is_sampled(kept[0]):
            kept.sort(key=self._learns_from_fewer)
        return (kept or best)[:most]

    def _learns_from_fewer(self, evaluation: Evaluation) -> bool:
        """Whether a configuration's prediction is fitted to less than half of all patients."""
        key = f"prediction/{evaluation.configuration.prediction.algorithm}"
        most = next(a.max_patients for a in registered() if a.key == key)
        return most is not None and most < self._n_patients / 2

    def finalist_s(self, n_patients: int, simple_s: float) -> float:
        """Seconds that an evaluation on so many patients may take if it is to be one on all later.

        Parameters
        ----------
        n_patients : int
            Of a sample.
        simple_s : float
            What the simple pipeline took on it.

        Returns
        -------
        float
            At least 1, and three times as long as the simple pipeline took.
        """
        share_s = _DEAREST * self._budget_s * self._slots * n_patients / self._n_patients
        return max(1.0, share_s, _TIMES_SIMPLE * simple_s)

    @staticmethod
    def simple_s(history: History) -> float:
        """Seconds of the first evaluation, the simple pipeline's; 0 where it is not decided, or failed."""
        return next((e.duration_s for e in history.succeeded if e.number == 0), 0.0)

    def _is_sampled(self, evaluation: Evaluation) -> bool:
        return (evaluation.n_patients or self._n_patients) < self._n_patients

    def affordable(self, refits_s: Sequence[float]) -> list[bool]:
        """Which of some refits, asked for in this order, are likely to end in time.

        Parameters
        ----------
        refits_s : sequence of float
            Seconds that each takes.

        Returns
        -------
        list of bool
            One that does not fit is passed over for shorter ones after it.
        """
        left = [self._refits_left_s()] * self._slots
        kept = []
        for seconds in refits_s:
            slot = max(range(self._slots), key=lambda i: left[i])
            kept.append(seconds <= left[slot])
            if kept[-1]:
                left[slot] -= seconds
        return kept

    def refits_end(self) -> bool:
        """Whether what is left is needed for what follows the refits."""
        return self._refits_left_s() <= 0

    def correction_ends(self) -> bool:
        """Whether what is left is needed for what follows the score's correction."""
        return self.remaining_s() <= _MARGIN * self._last_s

    def _refits_left_s(self) -> float:
        return self.remaining_s() - self._rest_s

    def intervals_s(self) -> float:
        """Seconds that the intervals of patients' risks may take from now on; 0 where there are none to spare."""
        most = self._validation_most * self._budget_s
        return max(0.0, min(most, self.remaining_s() - _MARGIN * self._last_s) - _LEARNING_S)

    def _refits_s(self, history: History) -> list[float]:
        """Seconds of one fit to all patients of each of the likely members; of a sample's history, the finalists."""
        most = MAX_FINALISTS if any(map(self._is_sampled, history.succeeded)) else _MEMBERS
        return [self._of_all_patients_s(refit_s(e), e) for e in self.finalists(history, most)]

    def _of_all_patients_s(self, seconds: float, evaluation: Evaluation) -> float:
        """Of an evaluation on a sample: as many times longer as there are more patients."""
        return seconds * self._n_patients / (evaluation.n_patients or self._n_patients)

    def _kept_for_intervals_s(self, refits_s: Sequence[float]) -> float:
        if not refits_s:
            return 0.0
        whole, most = sum(refits_s) / self._slots, _INTERVALS_KEPT * self._budget_s - _LEARNING_S
        # The dearest may be left out.
        least = MIN_REFITS * sum(sorted(refits_s)[: -(-len(refits_s) // 4)]) / self._slots
        if least > _INTERVALS_AT_LEAST * self._budget_s:
            return 0.0
        return _LEARNING_S + max(least, min(MAX_REFITS * whole, most))


def posterior_s(n_evaluations: int) -> float:
    """Seconds to expect of computing the posterior of so many evaluations."""
    return _POSTERIOR_S + _POSTERIOR_S_EACH * min(n_evaluations, _POSTERIOR_MOST)


def _correction_s(history: History) -> float:
    pipelines = len(history.succeeded)
    n = max((e.n_patients or 0 for e in history.succeeded), default=0)
    if history.metric.name in EVENT_METRICS:
        each = _EVENT_RANKING_S + _EVENT_RANKING_S_EACH * pipelines
        each += 0.0 if history.metric.ranks_only else _EVENT_WHOLE_S
        return n * each * n_event_resamples(n, pipelines)
    seconds = _CORRECTION_S * n_resamples(n, pipelines) * n * (pipelines + _CORRECTION_AVERAGE)
    return seconds if history.metric.ranks_only else 2 * seconds


def refit_s(evaluation: Evaluation) -> float:
    """Seconds to expect of fitting a configuration to all patients that it was evaluated on."""
    if evaluation.out_of_bag:
        return evaluation.duration_s
    return _ALL_PATIENTS * evaluation.duration_s / max(1, len(evaluation.fold_scores))
