"""Finalists of a search on a sample: configurations for all patients, from what was evaluated on fewer or faster.

More patients bear more trees at a slower learning rate, which a sample does not show. Boosters are therefore evaluated
twice: first, where they would take long, at a quicker rate, and then the best of them as slow as the time left allows
(Friedman 2001, Ann. Stat. 29:1189, section 5).

r      learning rate of a booster
T      its number of trees
k      how many times slower it learns: rate r / k, about k T trees, k times the seconds; below 1 it learns quicker
"""

from __future__ import annotations

import math
from dataclasses import replace

from autoprog.evaluation import Evaluation, History
from autoprog.optimizer import Proposal
from autoprog.search.batches import Batches
from autoprog.search.clock import MAX_FINALISTS, Clock
from autoprog.search.opening import VERY_MANY
from autoprog.search.settings import SearchSettings
from autoprog.space import Choice, Configuration, Hyperparameter, find_registered

# Once the finalists need the time left, no batch is proposed after the first share of the time for evaluations, and
# running evaluations end after the second. The margins multiply the finalists' predicted time. With very many
# patients, finalists and slowed boosters are worth more than what a sample tells.
_EXPLORATION_SHARE, _EXPLORATION_ENDS = 0.5, 0.6
_SHARE_OF_VERY_MANY, _ENDS_OF_VERY_MANY = 0.1, 0.15
_EXPLORATION_MARGIN, _END_MARGIN, _MARGINS_OF_VERY_MANY = 1.5, 1.2, 2.0
# On all patients, a path may extend to this multiple of the best value on the sample.
_FURTHER = 3
# Quickest rate of a booster that is to be slowed again.
_QUICKEST = 0.2
_RATE, _TREES = "learning_rate", "trees"
# Boosters among so many of the best finalists are slowed, at least so many times; more trees than k T are allowed by
# so much.
_SLOWED, _LEAST = 3, 1.5
_MORE_TREES = 1.25
# Share of the client's limit of an evaluation that a slowed booster is planned to take.
_LIMIT_SHARE = 0.9
# Factor k that is worth more than further finalists.
_WORTH_MORE = 4.0


class Finalists:
    """Choice of what is evaluated on all patients, and of when; without a sample there are no finalists.

    Parameters
    ----------
    settings : SearchSettings
        Budget and limits.
    batches : Batches
        Batches of the search; of the final ones, the first holds the best of the sample, each other a slowed booster.
    clock : Clock
        Time of the search.
    n_patients : int
        Rows of the whole cohort.
    is_sampled : bool
        Whether a sample of these is explored.
    """

    def __init__(
        self, settings: SearchSettings, batches: Batches, clock: Clock, *, n_patients: int, is_sampled: bool
    ) -> None:
        self._settings = settings
        self._batches = batches
        self._clock = clock
        self._is_sampled = is_sampled
        self._has_very_many = is_sampled and n_patients >= VERY_MANY
        self._enough: tuple[int, bool] | None = None

    @property
    def reserved(self) -> int:
        """Evaluations of the budget that exploration leaves to them."""
        return min(MAX_FINALISTS, self._settings.budget.evaluations // 2) if self._is_sampled else 0

    def are_due(self, explored: History) -> bool:
        """True if the finalists need so much of the time left that no further batch may be proposed."""
        share = _SHARE_OF_VERY_MANY if self._has_very_many else _EXPLORATION_SHARE
        return self._need_the_time(explored, share, _EXPLORATION_MARGIN)

    def are_overdue(self, explored: History) -> bool:
        """True if the finalists need so much of the time left that exploration must end."""
        share = _ENDS_OF_VERY_MANY if self._has_very_many else _EXPLORATION_ENDS
        return self._need_the_time(explored, share, _END_MARGIN)

    def _need_the_time(self, explored: History, share: float, margin: float) -> bool:
        margin *= _MARGINS_OF_VERY_MANY if self._has_very_many else 1.0
        return self._is_sampled and self._clock.finals_are_due(explored, MAX_FINALISTS, share=share, margin=margin)

    def first(self, explored: History, final: History, left: int) -> tuple[Configuration, ...]:
        """The simple pipeline and the best of the sample, at most `left`, without those that `final` has already."""
        if not self._is_sampled:
            return ()
        best_first = [*explored.evaluations[:1], *self._clock.finalists(explored, MAX_FINALISTS)]
        k = {e.number: self._clock.haste(e) if self._has_very_many else 1.0 for e in best_first}
        chosen = dict.fromkeys(on_all_patients(e, k[e.number]) for e in best_first)
        known = {e.proposed for e in final}
        return tuple(c for c in chosen if c not in known)[: min(MAX_FINALISTS, left)]

    def are_enough(self, final: History) -> bool:
        """Whether the time left is worth more for the best booster, slowed, than for more of the first finalists."""
        # Decided once for each result, as what runs is then worth its end.
        if self._enough is None or self._enough[0] != len(final):
            self._enough = len(final), self._is_time_to_slow(final)
        return self._enough[1]

    def _is_time_to_slow(self, final: History) -> bool:
        boosters = list_to_slow(final) if self._has_very_many else []
        if not boosters or (most := self._allowed(boosters[0])) < _LEAST:
            return False
        return self._clock.slowdown(boosters[0]) < min(_WORTH_MORE, most)

    def _allowed(self, booster: Evaluation) -> float:
        """Largest k that the space and the client's limit of an evaluation allow."""
        limit_s = self._settings.limits.evaluation_s or math.inf
        return min(slowest_factor(booster), _LIMIT_SHARE * limit_s / max(booster.duration_s, 1e-6))

    def slower(self, final: History) -> tuple[Configuration, ...]:
        """The best booster among the first finalists that was not slowed yet, as slow as the time left allows."""
        booster = self._next_to_slow(final)
        if booster is None:
            return ()
        slower = slowed(booster, min(self._clock.slowdown(booster), self._allowed(booster)))
        return () if slower is None else (slower,)

    def is_too_late(self, batch: Proposal, final: History) -> bool:
        """Whether a slowed booster that an interruption left undecided can no longer be evaluated and refitted."""
        if not self.are_slowed(batch) or self._is_decided(batch, final):
            return False
        booster, (slower,) = self._next_to_slow(final), batch.configurations
        if booster is None:
            return False
        (r, _), (slow_r, _) = _rate_and_trees(booster.configuration), _rate_and_trees(slower)
        return self._clock.is_too_late(booster, r / slow_r)

    def _next_to_slow(self, final: History) -> Evaluation | None:
        """The best booster among the first finalists of which no slower one is decided."""
        if not self._has_very_many:
            return None
        first, *slower = self._batches.final
        numbers = self._batches.numbers(first.batch)
        among = replace(final, evaluations=tuple(e for e in final if e.number in numbers))
        done = sum(self._is_decided(batch, final) for batch in slower)
        return next(iter(list_to_slow(among)[done:]), None)

    def _is_decided(self, batch: Proposal, final: History) -> bool:
        return not set(self._batches.numbers(batch.batch)).isdisjoint(e.number for e in final)

    def are_slowed(self, batch: Proposal) -> bool:
        """Whether a final batch is a slowed booster."""
        return batch.batch != self._batches.final[0].batch

    def limits(self, batch: Proposal) -> dict[int, float]:
        """Processor seconds by number, where they are not the usual: a slowed booster may take most of the time."""
        if not self.are_slowed(batch):
            return {}
        return dict.fromkeys(self._batches.numbers(batch.batch), self._settings.final_s)


def on_all_patients(evaluation: Evaluation, k: float = 1.0) -> Configuration:
    """Configuration for all patients: its path ends soon after the sample's best value; k below 1 hastens a booster."""
    configuration, path = evaluation.configuration, evaluation.path
    if path is None:
        return configuration
    chosen = dict(configuration.prediction.parameters)[path.hyperparameter]
    most = min(type(chosen)(_FURTHER * chosen), path.bound)
    if slowest_factor(evaluation) > 1.0:
        r, trees = _rate_and_trees(configuration.at("prediction", path.hyperparameter, most))
        k = min(1.0, max(k, r / _QUICKEST))
        configuration, most = _at_rate(configuration, r / k), max(1, round(k * trees))
    return configuration.at("prediction", path.hyperparameter, most)


def list_to_slow(history: History) -> list[Evaluation]:
    """Boosters among the best finalists, the best first."""
    best = sorted(history.succeeded, key=lambda e: -history.metric.gain(e.score or 0.0))[:_SLOWED]
    return [e for e in best if slowest_factor(e) >= _LEAST]


def slowest_factor(evaluation: Evaluation) -> float:
    """Largest k that the space allows a booster; 1 for all else."""
    axes = _axes(evaluation.configuration)
    rate, trees = axes.get(_RATE), axes.get(_TREES)
    if evaluation.path is None or evaluation.path.hyperparameter != _TREES or rate is None or trees is None:
        return 1.0
    if isinstance(rate, Choice) or isinstance(trees, Choice):
        return 1.0
    r, T = _rate_and_trees(evaluation.configuration)
    return min(r / rate.low, trees.high / T)


def slowed(evaluation: Evaluation, k: float) -> Configuration | None:
    """A booster k times slower, or as slow as the space allows; None if that is hardly slower."""
    k = min(k, slowest_factor(evaluation))
    if k < _LEAST:
        return None
    r, T = _rate_and_trees(evaluation.configuration)
    configuration = _at_rate(evaluation.configuration, r / k)
    trees = _axes(configuration)[_TREES]
    assert not isinstance(trees, Choice)  # noqa: S101  see `slowest_factor`
    return configuration.at("prediction", _TREES, min(round(_MORE_TREES * k * T), int(trees.high)))


def _at_rate(configuration: Configuration, rate: float) -> Configuration:
    return configuration.at("prediction", _RATE, float(f"{rate:.3g}"))


def _rate_and_trees(configuration: Configuration) -> tuple[float, int]:
    parameters = dict(configuration.prediction.parameters)
    return float(parameters[_RATE]), int(parameters[_TREES])


def _axes(configuration: Configuration) -> dict[str, Hyperparameter]:
    predictor = find_registered("prediction", configuration.prediction.algorithm)
    return {h.name: h for h in predictor.hyperparameters}
