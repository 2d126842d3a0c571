"""The space as a tree of named choices, which is how Optuna and SMAC want it.

The valid kinds of pipeline are no product: an imputation of `none` goes only with stages that take missing cells, and
where nothing is missing the rest of a pipeline settles its imputation. So the imputation is asked for last, from those
that the other choices leave, under a name that tells these apart; where only one is left it is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

from autoprog.space import STAGES, Algorithm, Choice, Configuration, Hyperparameter, Parameter, Step
from benchmarks.optimizer.problem import Problem, names_of

Ask = Callable[[str, Hyperparameter], Parameter]

IMPUTATION, FEATURES, PREDICTION, CALIBRATION = STAGES


@dataclass(frozen=True, eq=False)
class Choices:
    """What there is to choose.

    Attributes
    ----------
    problem : Problem
        The space.
    imputations : mapping
        (features, prediction) -> names of the imputations that go with them, in the space's order.
    """

    problem: Problem
    imputations: Mapping[tuple[str, str], tuple[str, ...]]

    @classmethod
    def of(cls, problem: Problem) -> Choices:
        """The choices of a problem.

        Parameters
        ----------
        problem : Problem
            The space.

        Returns
        -------
        Choices
            Whose trees reach every valid kind, and no other.

        Raises
        ------
        ValueError
            If the calibrations that are valid depend on the other stages.
        """
        imputations: dict[tuple[str, str], dict[str, None]] = {}
        for kind in problem.kinds:
            i, f, p, _ = names_of(kind)
            imputations.setdefault((f, p), {})[i] = None
        calibrations = [a.name for a in problem.space.stages[3]]
        reached = {(i, f, p, c) for (f, p), set_ in imputations.items() for i, c in product(set_, calibrations)}
        every_pair = set(product(*([a.name for a in stage] for stage in problem.space.stages[1:3])))
        if reached != {names_of(kind) for kind in problem.kinds} or every_pair != set(imputations):
            msg = "the valid kinds are not a tree of features, prediction, calibration and then imputation"
            raise ValueError(msg)
        return cls(problem, {pair: tuple(set_) for pair, set_ in imputations.items()})

    def stage(self, stage: str) -> Choice:
        """The choice among the algorithms of a stage."""
        names = tuple(a.name for a in self.problem.space.stages[STAGES.index(stage)])
        return Choice(stage, names, names[0])

    def imputation(self, features: str, prediction: str) -> Choice:
        """The choice that these leave, under its name."""
        left = self.imputations[features, prediction]
        sets = list(dict.fromkeys(self.imputations.values()))
        return Choice(f"imputation_{sets.index(left)}", left, left[0])

    def configuration(self, ask: Ask, predictor: str | None = None) -> Configuration:
        """Walk down the tree.

        Parameters
        ----------
        ask : callable (name, axis) -> value
            Chooses.
        predictor : str or None
            The prediction algorithm, where it is not to be asked for.

        Returns
        -------
        Configuration
            Valid.
        """
        features = str(ask(FEATURES, self.stage(FEATURES)))
        prediction = predictor or str(ask(PREDICTION, self.stage(PREDICTION)))
        calibration = str(ask(CALIBRATION, self.stage(CALIBRATION)))
        axis = self.imputation(features, prediction)
        imputation = str(axis.choices[0] if len(axis.choices) == 1 else ask(axis.name, axis))
        names = (imputation, features, prediction, calibration)
        return Configuration(*(self._step(s, n, ask) for s, n in zip(STAGES, names, strict=True)))

    def answers(self, configuration: Configuration, predictor: str | None = None) -> dict[str, Parameter]:
        """What would have to be answered for this configuration, by name; the inverse of `configuration`."""
        given: dict[str, Parameter] = {}

        def ask(name: str, axis: Hyperparameter) -> Parameter:
            stage, _, rest = name.partition("/")
            if rest:
                given[name] = dict(configuration.step(_stage(stage)).parameters)[axis.name]
            else:
                given[name] = configuration.step(_stage(stage.partition("_")[0])).algorithm
            return given[name]

        self.configuration(ask, predictor)
        return given

    def axes(self, configuration: Configuration, predictor: str | None = None) -> dict[str, Hyperparameter]:
        """The axes of these answers."""
        answers = self.answers(configuration, predictor)
        axes: dict[str, Hyperparameter] = {}

        def ask(name: str, axis: Hyperparameter) -> Parameter:
            axes[name] = axis
            return answers[name]

        self.configuration(ask, predictor)
        return axes

    def _step(self, stage: str, name: str, ask: Ask) -> Step:
        algorithm = self.problem.space.algorithm(_stage(stage), name)
        return Step.of(name, {h.name: ask(axis_name(algorithm, h), h) for h in algorithm.hyperparameters})


def axis_name(algorithm: Algorithm, hyperparameter: Hyperparameter) -> str:
    """Unique over the space: `prediction/xgboost/trees`."""
    return f"{algorithm.key}/{hyperparameter.name}"


def _stage(name: str):  # noqa: ANN202  one of a few literal strings
    return STAGES[STAGES.index(name)]  # type: ignore[arg-type]
