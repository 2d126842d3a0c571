"""Rivals of the package optuna: TPE over the whole tree, one TPE study a learner, and its Gaussian process.

A failed evaluation is told as pruned, with the worst score so far as what was seen of it: TPE counts pruned trials
among the poor ones, and would not see one that is told as failed. The Gaussian process sees completed trials alone, so
it is told that score as the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState

from autoprog.evaluation import Evaluation
from autoprog.space import STAGES, Choice, Configuration, Float, Hyperparameter, Parameter
from benchmarks.optimizer.choices import Choices, axis_name
from benchmarks.optimizer.method import bad_score
from benchmarks.optimizer.problem import Problem

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


def _distribution(axis: Hyperparameter) -> BaseDistribution:
    if isinstance(axis, Choice):
        return CategoricalDistribution(axis.choices)
    if isinstance(axis, Float):
        return FloatDistribution(axis.low, axis.high, log=axis.log)
    return IntDistribution(axis.low, axis.high, log=axis.log)


def _suggest(trial: optuna.Trial, name: str, axis: Hyperparameter) -> Parameter:
    if isinstance(axis, Choice):
        return trial.suggest_categorical(name, axis.choices)
    if isinstance(axis, Float):
        return trial.suggest_float(name, axis.low, axis.high, log=axis.log)
    return trial.suggest_int(name, axis.low, axis.high, log=axis.log)


class _Study:
    """A study over the tree, or over the part of it below one prediction algorithm."""

    def __init__(self, choices: Choices, sampler: optuna.samplers.BaseSampler, predictor: str | None) -> None:
        self._choices, self._predictor = choices, predictor
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._scores: list[float] = []

    def ask(self) -> tuple[optuna.Trial, Configuration]:
        trial = self._study.ask()
        return trial, self._choices.configuration(lambda name, axis: _suggest(trial, name, axis), self._predictor)

    def tell(self, trial: optuna.Trial | None, evaluation: Evaluation) -> None:
        if trial is None:
            self._add(evaluation)
        elif evaluation.score is None:
            trial.report(bad_score(self._scores), 0)
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            self._study.tell(trial, evaluation.score)
        if evaluation.score is not None:
            self._scores.append(evaluation.score)

    def _add(self, evaluation: Evaluation) -> None:
        """A trial that the sampler did not ask for."""
        configuration = evaluation.configuration
        failed = evaluation.score is None
        self._study.add_trial(
            optuna.create_trial(
                state=TrialState.PRUNED if failed else TrialState.COMPLETE,
                value=None if failed else evaluation.score,
                intermediate_values={0: bad_score(self._scores)} if failed else {},
                params=self._choices.answers(configuration, self._predictor),
                distributions={
                    n: _distribution(a) for n, a in self._choices.axes(configuration, self._predictor).items()
                },
            )
        )


def _tpe(seed: int, *, parallel: bool) -> optuna.samplers.BaseSampler:
    return optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=parallel, seed=seed)


class TreeParzen:
    """Multivariate, grouped TPE as one study over the whole space.

    Parameters
    ----------
    problem : Problem
        The space.
    seed : int
        Of the sampler.
    budget : int
        Evaluations to come.
    """

    def __init__(self, problem: Problem, seed: int, budget: int) -> None:
        del budget
        # The lie about running trials changes nothing as long as there are none.
        self._study = _Study(Choices.of(problem), _tpe(seed, parallel=True), None)
        self._asked: list[optuna.Trial] = []

    def ask(self, size: int) -> Sequence[Configuration]:
        pairs = [self._study.ask() for _ in range(size)]
        self._asked = [trial for trial, _ in pairs]
        return [configuration for _, configuration in pairs]

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        for trial, evaluation in zip(self._asked or [None] * len(evaluations), evaluations, strict=True):
            self._study.tell(trial, evaluation)
        self._asked = []

    def pick(self) -> int | None:
        return None


class TreeParzenEach:
    """One TPE study for every prediction algorithm, in turn: what AutoPrognosis 2.0 does.

    Parameters
    ----------
    problem : Problem
        The space.
    seed : int
        Of the samplers.
    budget : int
        Evaluations to come.
    """

    def __init__(self, problem: Problem, seed: int, budget: int) -> None:
        del budget
        choices = Choices.of(problem)
        self._predictors = [a.name for a in problem.space.stages[2]]
        self._studies = {
            name: _Study(choices, _tpe(seed * len(self._predictors) + i, parallel=True), name)
            for i, name in enumerate(self._predictors)
        }
        self._turn = 0
        self._asked: list[optuna.Trial] = []

    def ask(self, size: int) -> Sequence[Configuration]:
        answers = []
        for _ in range(size):
            trial, configuration = self._studies[self._predictors[self._turn % len(self._predictors)]].ask()
            self._turn += 1
            self._asked.append(trial)
            answers.append(configuration)
        return answers

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        for trial, evaluation in zip(self._asked or [None] * len(evaluations), evaluations, strict=True):
            self._studies[evaluation.configuration.prediction.algorithm].tell(trial, evaluation)
        self._asked = []

    def pick(self) -> int | None:
        return None


class OptunaProcess:
    """Optuna's Gaussian process; it models no tree, so every hyperparameter is asked for every time.

    Parameters
    ----------
    problem : Problem
        The space.
    seed : int
        Of the sampler.
    budget : int
        Evaluations to come.
    """

    def __init__(self, problem: Problem, seed: int, budget: int) -> None:
        del budget
        self._choices = Choices.of(problem)
        sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=10)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._axes = _every_axis(self._choices)
        self._asked: list[optuna.Trial] = []
        self._scores: list[float] = []

    def ask(self, size: int) -> Sequence[Configuration]:
        distributions = {name: _distribution(axis) for name, axis in self._axes.items()}
        answers = []
        for _ in range(size):
            trial = self._study.ask(distributions)
            self._asked.append(trial)
            answers.append(self._choices.configuration(lambda name, _, trial=trial: trial.params[name]))
        return answers

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        for trial, evaluation in zip(self._asked or [None] * len(evaluations), evaluations, strict=True):
            score = bad_score(self._scores) if evaluation.score is None else evaluation.score
            if trial is None:
                self._add(evaluation.configuration, score)
            else:
                self._study.tell(trial, score)
            if evaluation.score is not None:
                self._scores.append(score)
        self._asked = []

    def pick(self) -> int | None:
        return None

    def _add(self, configuration: Configuration, score: float) -> None:
        """A trial whose unused hyperparameters lie at their defaults."""
        answers = self._choices.answers(configuration)
        params = {name: answers.get(name, axis.default) for name, axis in self._axes.items()}
        distributions = {name: _distribution(axis) for name, axis in self._axes.items()}
        self._study.add_trial(optuna.create_trial(value=score, params=params, distributions=distributions))


def _every_axis(choices: Choices) -> dict[str, Hyperparameter]:
    """All names of the tree, whatever the other answers."""
    axes: dict[str, Hyperparameter] = {stage: choices.stage(stage) for stage in STAGES[1:]}
    for pair in choices.imputations:
        axis = choices.imputation(*pair)
        if len(axis.choices) > 1:
            axes[axis.name] = axis
    for algorithm in choices.problem.space.algorithms:
        axes |= {axis_name(algorithm, h): h for h in algorithm.hyperparameters}
    return axes
