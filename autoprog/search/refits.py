"""Refits of an ensemble's members to all patients: how long they take, and which one gets the threads of all slots.

s      seconds of a refit on one thread                                                                     (t,)
S      slots
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autoprog.evaluation import Evaluation
from autoprog.space import Configuration, find_registered

# Seconds from which a refit on several threads is worth the wait of the other slots, and the share of the threads' time
# that it uses: 1.86 of two on 500,000 patients.
_LONG_S, _THREADS_USED = 5.0, 0.85
# Share of a fold's seconds that is left where no settings along a path are predicted and scored: .66 to .77 there.
_ONE_SETTING = 0.8


@dataclass(frozen=True, slots=True)
class Refit:
    """Expected seconds of a refit on one thread, and whether it can use more."""

    seconds: float
    is_threaded: bool = False

    @classmethod
    def of(cls, evaluation: Evaluation, folds: int) -> Refit:
        """Refit of an evaluated configuration to all patients that it was evaluated on."""
        return cls(refit_s(evaluation, folds), is_threaded(evaluation.configuration))

    def times(self, factor: float) -> Refit:
        """The same configuration on so many times the patients."""
        return Refit(factor * self.seconds, self.is_threaded)

    def on(self, threads: int) -> float:
        """Seconds on so many threads, if it can use them."""
        return self.seconds / max(1.0, _THREADS_USED * threads) if self.is_threaded else self.seconds


def refit_s(evaluation: Evaluation, folds: int) -> float:
    """Expected seconds of fitting a configuration to all patients that it was evaluated on, by `folds` folds."""
    if evaluation.out_of_bag:
        return evaluation.duration_s
    share = 1.0 if evaluation.path is None else _ONE_SETTING
    return share * folds / (folds - 1) * evaluation.duration_s / max(1, len(evaluation.fold_scores))


def is_threaded(configuration: Configuration) -> bool:
    """Return whether a configuration's prediction is fitted with as many threads as are lent to it."""
    return find_registered("prediction", configuration.prediction.algorithm).threaded


class Phase(NamedTuple):
    """Refits that run at the same time, by their places, and the threads of each."""

    places: tuple[int, ...]
    threads: int


def plan_phases(refits: Sequence[Refit], slots: int, threads: int) -> list[Phase]:
    """Order of the refits: first long ones that would leave slots idle, one by one on `threads` (1, or all slots')."""
    # Such a refit is the longest of those that are left, and takes longer than all others on the other slots.
    left, phases = list(range(len(refits))), list[Phase]()
    while threads > 1 and left:
        longest = max(left, key=lambda i: refits[i].seconds)
        others_s = sum(refits[i].seconds for i in left) - refits[longest].seconds
        if not refits[longest].is_threaded or refits[longest].seconds <= max(_LONG_S, others_s / (slots - 1)):
            break
        left.remove(longest)
        phases.append(Phase((longest,), threads))
    return [*phases, Phase(tuple(left), 1)] if left else phases


def refits_wall_s(refits: Sequence[Refit], slots: int, threads: int) -> float:
    """Seconds until all are refitted."""
    total = 0.0
    for places, each in plan_phases(refits, slots, threads):
        seconds = [refits[i].on(each) for i in places]
        total += seconds[0] if each > 1 else max(sum(seconds) / slots, *seconds)
    return total
