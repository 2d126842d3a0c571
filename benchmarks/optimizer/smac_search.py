"""The rival SMAC3: its facade for hyperparameters, a random forest and expected improvement.

Trials are told without noise (`deterministic`, one call a configuration), so that the budget goes to new ones.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Sequence

import ConfigSpace
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue
from smac.runhistory.enumerations import StatusType

from autoprog.evaluation import Evaluation
from autoprog.space import STAGES, Choice, Configuration, Float, Hyperparameter, Parameter
from benchmarks.optimizer.choices import FEATURES, IMPUTATION, PREDICTION, Choices, axis_name
from benchmarks.optimizer.method import bad_score
from benchmarks.optimizer.problem import Problem


class Smac:
    """A run of SMAC.

    Parameters
    ----------
    problem : Problem
        The space.
    seed : int
        Of the scenario.
    budget : int
        Evaluations in all: its own initial design is a quarter of them.
    retrain_after : int
        Proposals from one fit of its forest; the package's default is 8.
    """

    def __init__(self, problem: Problem, seed: int, budget: int, retrain_after: int = 8) -> None:
        self._retrain_after = retrain_after
        self._choices = Choices.of(problem)
        self._space = _configuration_space(self._choices, seed)
        self._seed, self._budget = seed, budget
        self._folder = tempfile.TemporaryDirectory()
        self._facade: Facade | None = None
        self._asked: list[TrialInfo] = []
        self._scores: list[float] = []

    def ask(self, size: int) -> Sequence[Configuration]:
        facade = self._started(own_design=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a young incumbent's statistics
            self._asked = [facade.ask() for _ in range(size)]
        return [self._configuration(info.config) for info in self._asked]

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        facade = self._started(own_design=False)
        asked = self._asked or [TrialInfo(self._told(e.configuration), seed=0) for e in evaluations]
        for info, e in zip(asked, evaluations, strict=True):
            score = bad_score(self._scores) if e.score is None else e.score
            # Its forest is fitted to crashes, and not to timeouts.
            status = StatusType.CRASHED if e.score is None else StatusType.SUCCESS
            facade.tell(info, TrialValue(1.0 - score, time=e.duration_s, status=status), save=False)
            if e.score is not None:
                self._scores.append(score)
        self._asked = []

    def pick(self) -> int | None:
        return None

    def _started(self, *, own_design: bool) -> Facade:
        """The facade; it makes a design of its own unless it is told one before it is asked."""
        if self._facade is None:
            scenario = Scenario(
                self._space,
                deterministic=True,
                n_trials=self._budget,
                seed=self._seed,
                output_directory=self._folder.name,
            )
            initial = Facade.get_initial_design(scenario, n_configs=None if own_design else 0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._facade = Facade(
                    scenario,
                    _unused,
                    initial_design=initial,
                    config_selector=Facade.get_config_selector(scenario, retrain_after=self._retrain_after),
                    intensifier=Facade.get_intensifier(scenario, max_config_calls=1),
                    logging_level=logging.ERROR,
                    overwrite=True,
                )
        return self._facade

    def _configuration(self, config: ConfigSpace.Configuration) -> Configuration:
        def ask(name: str, axis: Hyperparameter) -> Parameter:
            value = config[IMPUTATION if name.startswith(f"{IMPUTATION}_") else name]
            if isinstance(axis, Choice):
                return next(choice for choice in axis.choices if str(choice) == str(value))
            return float(value) if isinstance(axis, Float) else int(value)

        return self._choices.configuration(ask)

    def _told(self, configuration: Configuration) -> ConfigSpace.Configuration:
        answers = self._choices.answers(configuration)
        values = {IMPUTATION if n.startswith(f"{IMPUTATION}_") else n: _plain(v) for n, v in answers.items()}
        return ConfigSpace.Configuration(self._space, values=values)


def _unused(config: ConfigSpace.Configuration, seed: int = 0) -> float:
    msg = f"asked and told only: {config}, {seed}"
    raise RuntimeError(msg)


def _plain(value: Parameter) -> Parameter:
    return str(value) if isinstance(value, bool) else value


def _axis(name: str, axis: Hyperparameter) -> ConfigSpace.hyperparameters.Hyperparameter:
    if isinstance(axis, Choice):
        return ConfigSpace.CategoricalHyperparameter(
            name, [str(c) for c in axis.choices], default_value=str(axis.default)
        )
    if isinstance(axis, Float):
        return ConfigSpace.UniformFloatHyperparameter(
            name, axis.low, axis.high, log=axis.log, default_value=axis.default
        )
    return ConfigSpace.UniformIntegerHyperparameter(name, axis.low, axis.high, log=axis.log, default_value=axis.default)


def _configuration_space(choices: Choices, seed: int) -> ConfigSpace.ConfigurationSpace:
    """Conditions for hyperparameters; clauses that forbid an imputation; no imputation where all are settled."""
    space = ConfigSpace.ConfigurationSpace(seed=seed)
    settled = all(len(left) == 1 for left in choices.imputations.values())
    stages = STAGES[1:] if settled else STAGES
    parents = {stage: _axis(stage, choices.stage(stage)) for stage in stages}
    space.add(list(parents.values()))
    children, conditions = [], []
    for algorithm in choices.problem.space.algorithms:
        for hyperparameter in algorithm.hyperparameters:
            if algorithm.stage not in parents:
                msg = f"{algorithm.key} has hyperparameters and is settled by the other stages"
                raise ValueError(msg)
            children.append(_axis(axis_name(algorithm, hyperparameter), hyperparameter))
            conditions.append(ConfigSpace.EqualsCondition(children[-1], parents[algorithm.stage], algorithm.name))
    space.add(children)
    space.add(conditions)
    if not settled:
        space.add(_forbidden(choices, parents))
    return space


def _forbidden(
    choices: Choices, parents: dict[str, ConfigSpace.CategoricalHyperparameter]
) -> list[ConfigSpace.ForbiddenAndConjunction]:
    """For every imputation and features that bar it, the predictors with which they do."""
    barred: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (features, prediction), left in choices.imputations.items():
        for name in choices.stage(IMPUTATION).choices:
            if name not in left:
                barred[str(name), features].append(prediction)
    return [
        ConfigSpace.ForbiddenAndConjunction(
            ConfigSpace.ForbiddenEqualsClause(parents[IMPUTATION], imputation),
            ConfigSpace.ForbiddenEqualsClause(parents[FEATURES], features),
            ConfigSpace.ForbiddenInClause(parents[PREDICTION], predictions),
        )
        for (imputation, features), predictions in barred.items()
    ]
