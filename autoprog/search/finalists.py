"""Finalists of a search on a sample: configurations for all patients, from what was evaluated on fewer or faster.

More patients bear more trees at a slower learning rate, which a sample does not show. Boosters are therefore evaluated
twice: first, where they would take long, at a quicker rate, and then the best of them as slow as the time left allows
(Friedman 2001, Ann. Stat. 29:1189, section 5).

r      learning rate of a booster
T      its number of trees
k      how many times slower it learns: rate r / k, about k T trees, k times the seconds; below 1 it learns quicker
"""

from __future__ import annotations

from autoprog.evaluation import Evaluation, History
from autoprog.space import Choice, Configuration, Hyperparameter, find_registered

# On all patients, a path may extend to this multiple of the best value on the sample.
_FURTHER = 3
# Quickest rate of a booster that is to be slowed again.
_QUICKEST = 0.2
_RATE, _TREES = "learning_rate", "trees"
# Boosters among so many of the best finalists are slowed, at least so many times; more trees than k T are allowed by
# so much.
_SLOWED, _LEAST = 3, 1.5
_MORE_TREES = 1.25

WORTH_MORE = 4.0
"""Factor k that is worth more than further finalists."""


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
