"""What an algorithm of the space declares about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sklearn.base import BaseEstimator

from autoprog.cohort import Cohort, Mode
from autoprog.space.configuration import StageName, Step
from autoprog.space.design_matrix import n_columns
from autoprog.space.hyperparameters import Hyperparameter, Parameter
from autoprog.space.learning import ByHorizons, ByIntervals, ByItself, Learning

Reduction = Literal["discrete_time", "ipcw"]
"""How a classifier serves event times: by the hazards of intervals, or by the event until each horizon, weighted by the
inverse probability of censoring."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """The size of the table to which a pipeline is fitted; validity and caps depend on it.

    Attributes
    ----------
    n_patients : int
        Rows of the smallest training fold.
    n_columns : int
        Columns of the design matrix, dummies included.
    n_minority : int
        Patients of the rarer class in that fold; with groups, the groups that contain any.
    has_missing : bool
        Whether any cell is missing.
    mode : str
        The cohort's mode.
    missing_indicators : bool
        Whether the design matrix ends with a missingness indicator for every feature with missing cells.
    categorical : tuple of int
        Columns of the design matrix with codes of unordered levels; empty unless all stages take categories.
    times : tuple of float
        Times of the risk curves, ascending, horizons included; empty if the outcome has no time.
    horizons : tuple of float
        Times that the client asked for, ascending.
    n_causes : int
        Number of causes: the event of interest and its competing causes.
    n_periods : int
        Intervals between `times` at risk, summed over the patients of that fold.
    reduction : str
        How classifiers serve event times.
    simple_predictor : str
        The prediction algorithm of the simple pipeline.
    """

    n_patients: int
    n_columns: int
    n_minority: int
    has_missing: bool
    mode: Mode = "classification"
    missing_indicators: bool = False
    categorical: tuple[int, ...] = ()
    times: tuple[float, ...] = ()
    horizons: tuple[float, ...] = ()
    n_causes: int = 1
    n_periods: int = 0
    reduction: Reduction = "discrete_time"
    simple_predictor: str = "logistic_regression"

    @classmethod
    def of(
        cls,
        cohort: Cohort,
        folds: int,
        *,
        missing_indicators: bool = False,
        times: tuple[float, ...] = (),
        reduction: Reduction = "discrete_time",
    ) -> TableShape:
        """Shape of the smallest training fold of a cohort that is split evenly.

        Parameters
        ----------
        cohort : Cohort
            The patients.
        folds : int
            Number of folds, at least 2.
        missing_indicators : bool
            Whether features with missing cells get an indicator.
        times : tuple of float
            Times of the risk curves, for a cohort with event times.
        reduction : str
            How classifiers serve event times.

        Returns
        -------
        TableShape
            The shape.
        """
        indicators = sum(f.missing_fraction > 0 for f in cohort.features) if missing_indicators else 0
        return cls(
            n_patients=_train_size(cohort.n_rows, folds),
            n_columns=sum(n_columns(feature) for feature in cohort.features) + indicators,
            n_minority=_train_size(cohort.target.count_rarer(cohort.outcomes), folds),
            has_missing=cohort.has_missing,
            mode=cohort.mode,
            simple_predictor=cohort.outcome.simple_predictor,
            missing_indicators=missing_indicators,
            times=times,
            horizons=cohort.horizons,
            n_causes=cohort.n_causes,
            n_periods=_train_size(cohort.target.count_periods(cohort.outcomes, times), folds),
            reduction=reduction,
        )

    @property
    def learning(self) -> Learning:
        """How the outcome is learnt."""
        return _REDUCTIONS[self.reduction] if self.times else _BY_ITSELF

    def of_classifier(self) -> TableShape:
        """Shape of the table to which a classifier is fitted: for event times, the table that `reduction` makes."""
        return self.learning.of_classifier(self)

    @property
    def n_pooled(self) -> int:
        """Patients that a classifier learns from; the reduction `discrete_time` pools their intervals."""
        return self.learning.n_pooled(self)


_BY_ITSELF = ByItself()
_REDUCTIONS: dict[Reduction, Learning] = {"discrete_time": ByIntervals(), "ipcw": ByHorizons()}


def _train_size(n: int, folds: int) -> int:
    """Size of the training part when the largest of `folds` parts of `n` is held out."""
    return n - -(-n // folds)


Input = Literal["missing", "negative", "categories", "collinear", "times", "weights"]
"""Inputs that an algorithm may accept: missing cells, negative values, codes of unordered levels, linearly dependent
columns, event times instead of a binary outcome, a weight for every patient."""

Build = Callable[[Mapping[str, Parameter], TableShape, int], BaseEstimator | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a fit at the defaults on one core, as a power law.

    Attributes
    ----------
    seconds : float
        Seconds for 1,000 patients and 20 columns.
    patients, columns : float
        Exponents: seconds grow with `n^patients` and `d^columns`.
    """

    seconds: float = 0.001
    patients: float = 1.0
    columns: float = 1.0

    def at(self, n_patients: int, n_columns: int) -> float:
        """Predicted seconds of a fit: an order of magnitude, the same on every machine."""
        return float(self.seconds * (n_patients / 1000) ** self.patients * (n_columns / 20) ** self.columns)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One entry of the space, from Table 1 or beyond it.

    Attributes
    ----------
    stage : str
        Its stage in the pipeline.
    name : str
        Unique within its stage.
    hyperparameters : tuple
        Its axes, in the order of the encoding.
    build : callable (parameters, shape, seed) -> estimator
        Makes the unfitted scikit-learn estimator: a transformer, a classifier, or None for a stage that does nothing.
    family : str
        Kind of method; algorithms of one family are expected to behave alike.
    modes : tuple of str
        Modes of the cohorts that it serves.
    takes : frozenset of str
        Inputs that it accepts; see `Input`. Without "missing", a pipeline that would pass it missing cells is invalid;
        without "negative", its columns are scaled to [0, 1]; without "collinear", linearly dependent columns are left
        out. Unordered levels stay codes only if all stages take "categories"; otherwise they become dummies.
    cost : Cost
        How the seconds of a fit at the defaults grow with the table.
    refits : float
        Cost of the fits of the earlier stages, in fits to all training patients: 1, or more for a calibration.
    max_columns : int or None
        Widest design matrix that it accepts; a wider one makes the pipeline invalid.
    max_cells : int or None
        Most cells of the training design matrix, where applying it takes long; more make the pipeline invalid.
    least_causes : int
        Fewest causes, the event of interest included, that a cohort must have: 2 for a competing-risks model.
    max_patients : int or None
        Most patients used in a fit; a larger cohort is subsampled with the share of events kept.
    subsample : {"fit", "member"}
        Whether the whole fit uses one subsample, or `build` gives each member (tree) of an ensemble its own.
    stored_types : tuple of str
        Dotted names of the types that a stored model may hold, beyond those that skops trusts by default.
    patients_in : str or None
        Dotted name of the fitted type that keeps rows of training patients (neighbours, landmarks); None if none does.
    modules : tuple of str
        Modules that take long to import and that few other algorithms need; a child imports them before a fit.
    reference : str
        Source of the method and of its hyperparameters' ranges.
    table_1 : bool
        Whether it is in the source's Table 1.
    path : str or None
        The hyperparameter whose smaller values come with one fit, as a booster's numbers of trees do; its estimator is
        a `PathLearner`.
    out_of_bag : bool
        Whether members are grown on bootstrap samples, so that one fit gives each patient's out-of-bag risk.
    threaded : bool
        Whether a fit uses the threads that are lent to it, and is the same bit by bit with any number of them.
    """

    stage: StageName
    name: str
    hyperparameters: tuple[Hyperparameter, ...]
    build: Build
    family: str
    modes: tuple[Mode, ...] = ("classification", "survival", "temporal")
    takes: frozenset[Input] = frozenset({"negative", "collinear"})
    cost: Cost = Cost()
    refits: float = 1.0
    max_columns: int | None = None
    max_cells: int | None = None
    least_causes: int = 1
    max_patients: int | None = None
    subsample: Literal["fit", "member"] = "fit"
    stored_types: tuple[str, ...] = ()
    patients_in: str | None = None
    modules: tuple[str, ...] = ()
    reference: str = ""
    table_1: bool = True
    path: str | None = None
    out_of_bag: bool = False
    threaded: bool = False

    @property
    def key(self) -> str:
        """Unique over all stages: `prediction/xgboost`."""
        return f"{self.stage}/{self.name}"

    def seconds(self, shape: TableShape) -> float:
        """Predicted seconds of a fit at the defaults to a table of this shape; see `Cost`."""
        if self.stage != "prediction":
            return self._seconds(shape)
        return shape.learning.n_fits(shape, self) * self._seconds(shape if self.takes_times else shape.of_classifier())

    @property
    def takes_times(self) -> bool:
        """Whether it is a learner of event times; any other predictor is a classifier."""
        return "times" in self.takes

    def _seconds(self, shape: TableShape) -> float:
        return self.cost.at(min(shape.n_patients, self.max_patients or shape.n_patients), shape.n_columns)

    def default_step(self) -> Step:
        """The algorithm at its defaults."""
        return Step.of(self.name, {h.name: h.default for h in self.hyperparameters})

    def step_from_unit(self, units: Mapping[str, float]) -> Step:
        """Make the step with hyperparameters at `units` of their axes.

        Parameters
        ----------
        units : mapping
            Place in [0, 1] of every hyperparameter, by name.

        Returns
        -------
        Step
            The values on the axes' scales.
        """
        return Step.of(self.name, {h.name: h.from_unit(units[h.name]) for h in self.hyperparameters})
