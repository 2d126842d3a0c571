"""What an algorithm of the space declares about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from autoprog.cohort import Cohort, Mode
from autoprog.space.configuration import StageName, Step
from autoprog.space.design_matrix import n_columns
from autoprog.space.event_times.discrete_time import most_patients
from autoprog.space.hyperparameters import Hyperparameter, Parameter

Reduction = Literal["discrete_time", "ipcw"]
"""How a classifier serves event times: by the hazards of intervals, or by the event until each horizon with weights of
inverse probability of censoring."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """What validity and caps depend on: the size of the table that a pipeline will be fitted to.

    Attributes
    ----------
    n_patients : int
        Rows of the smallest training fold.
    n_columns : int
        Columns of the design matrix, dummies counted.
    n_minority : int
        Patients of the rarer class in such a fold; of a cohort with groups, the groups that hold any.
    has_missing : bool
        Whether any cell is missing.
    mode : str
        The cohort's mode.
    missing_indicators : bool
        Whether the design matrix ends with a column for every feature that has missing cells: 1 where the cell is.
    categorical : tuple of int
        Columns of the design matrix that hold codes of unordered levels; empty unless all stages take categories.
    times : tuple of float
        Where curves of risk are wanted, ascending, the horizons among them; empty where the outcome has no time.
    horizons : tuple of float
        Times that the client asked for, ascending.
    n_causes : int
        The event of interest and the causes that compete with it.
    n_periods : int
        Intervals between `times` in which patients of such a fold are at risk, over all of them.
    reduction : str
        How classifiers serve event times.
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
        """Shape of the training folds of a cohort that is split evenly.

        Parameters
        ----------
        cohort : Cohort
            The patients.
        folds : int
            Number of folds, at least 2.
        missing_indicators : bool
            Whether features with missing cells get an indicator.
        times : tuple of float
            Where curves of risk are wanted; of a cohort with event times.
        reduction : str
            How classifiers serve event times.

        Returns
        -------
        TableShape
            Of the smallest training fold.
        """
        events = int((cohort.y == 1).sum())
        # Everybody may have had the event, at some time.
        minority = events if cohort.has_times else min(events, cohort.n_rows - events)
        indicators = sum(f.missing_fraction > 0 for f in cohort.features) if missing_indicators else 0
        return cls(
            n_patients=_train_size(cohort.n_rows, folds),
            n_columns=sum(n_columns(feature) for feature in cohort.features) + indicators,
            n_minority=_train_size(minority, folds),
            has_missing=cohort.has_missing,
            mode=cohort.mode,
            missing_indicators=missing_indicators,
            times=times,
            horizons=cohort.horizons,
            n_causes=cohort.n_causes,
            n_periods=_train_size(_n_periods(cohort, times), folds),
            reduction=reduction,
        )

    def of_classifier(self) -> TableShape:
        """The shape of the table that a classifier is fitted to: of event times, the one that `reduction` makes."""
        if not self.times:
            return self
        binary = replace(self, times=(), horizons=(), n_causes=1, n_periods=0)
        if self.reduction == "ipcw":
            return binary
        n_rows = self.n_periods * self.n_pooled // self.n_patients
        return replace(binary, n_patients=n_rows, n_columns=self.n_columns + len(self.times) - 1)

    @property
    def n_pooled(self) -> int:
        """Patients whose intervals a classifier is fitted to by the reduction `discrete_time`."""
        return most_patients(self.n_patients, self.n_periods, self.n_columns + len(self.times) - 1)


def _train_size(n: int, folds: int) -> int:
    """What is left of `n` when the largest of `folds` parts is held out."""
    return n - -(-n // folds)


def _n_periods(cohort: Cohort, times: tuple[float, ...]) -> int:
    if cohort.time is None or not times:
        return 0
    return int(np.minimum(np.searchsorted(times, cohort.time) + 1, len(times)).sum())


Input = Literal["missing", "negative", "categories", "collinear", "times", "weights"]
"""What an algorithm may be given: missing cells, negative values, codes of unordered levels beside numbers, columns
that depend on others linearly, event times in place of a binary outcome, a weight for every patient."""

Build = Callable[[Mapping[str, Parameter], TableShape, int], BaseEstimator | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a fit at the defaults costs on one core, as a power law.

    Attributes
    ----------
    seconds : float
        Of 1,000 patients and 20 columns.
    patients, columns : float
        Exponents: seconds grow with `n^patients` and `d^columns`.
    """

    seconds: float = 0.001
    patients: float = 1.0
    columns: float = 1.0

    def at(self, n_patients: int, n_columns: int) -> float:
        """Predicted seconds of a fit; a prediction of the order of magnitude, the same on every machine."""
        return float(self.seconds * (n_patients / 1000) ** self.patients * (n_columns / 20) ** self.columns)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One entry of the space: of Table 1, or beyond it.

    Attributes
    ----------
    stage : str
        Where it stands in the pipeline.
    name : str
        Unique within its stage.
    hyperparameters : tuple
        Its axes, in the order of the encoding.
    build : callable (parameters, shape, seed) -> estimator
        Makes the unfitted scikit-learn estimator: a transformer, a classifier, or None for a stage that does nothing.
    family : str
        Kind of method; algorithms that are expected to behave alike share one.
    modes : tuple of str
        Kinds of outcome it serves.
    takes : frozenset of str
        What it can be given; see `Input`. The pipeline sees to the rest: a kind of pipeline that would hand missing
        cells to an algorithm without "missing" is not valid; in front of one without "negative" columns are scaled to
        [0, 1]; in front of one without "collinear" columns that others determine are left out; unordered levels are
        left as codes only where all stages of the pipeline take "categories", and are dummies elsewhere.
    cost : Cost
        How a fit at the defaults grows with the table.
    refits : float
        How often it has the stages before it fitted, in fits to all training patients: 1, more for a calibration.
    max_columns : int or None
        Widest design matrix it accepts; a kind of pipeline that exceeds it is not valid.
    max_cells : int or None
        Most cells of the training patients' design matrix it accepts, where to apply it to so many is what takes long;
        a kind of pipeline that exceeds it is not valid.
    least_causes : int
        Competing causes, that of interest among them, that a cohort must have at least: 2 for a model of competing
        risks.
    max_patients : int or None
        Most patients that a fit uses: of more, a subsample that keeps the share of events.
    subsample : {"fit", "member"}
        Whether the whole fit uses one subsample, or each member (tree) of an ensemble its own, which is then the
        business of `build`.
    stored_types : tuple of str
        Dotted names of the types in its fitted state, beyond those that skops trusts by itself: a stored model may
        hold these and no others.
    reference : str
        Where the method and the ranges of its hyperparameters come from.
    table_1 : bool
        Whether the source's Table 1 has it.
    path : str or None
        The hyperparameter of which one fit gives every smaller value, as boosting gives every smaller number of trees;
        its estimator is a `PathLearner`.
    out_of_bag : bool
        Whether its members are grown on bootstrap samples, so that one fit gives every patient's risk by the members
        that did not see him.
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
    reference: str = ""
    table_1: bool = True
    path: str | None = None
    out_of_bag: bool = False

    @property
    def key(self) -> str:
        """Unique over all stages: `prediction/xgboost`."""
        return f"{self.stage}/{self.name}"

    def seconds(self, shape: TableShape) -> float:
        """Predicted seconds of a fit at the defaults to a table of this shape; see `Cost`."""
        if shape.times and self.stage == "prediction":
            fits = shape.n_causes * (len(shape.horizons) if shape.reduction == "ipcw" and not self.takes_times else 1)
            return fits * self._seconds(shape if self.takes_times else shape.of_classifier())
        return self._seconds(shape)

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
        """The step whose hyperparameters lie at `units` of their axes.

        Parameters
        ----------
        units : mapping
            Hyperparameter name -> place in [0, 1]; every hyperparameter must be there.

        Returns
        -------
        Step
            With values on the axes' scales.
        """
        return Step.of(self.name, {h.name: h.from_unit(units[h.name]) for h in self.hyperparameters})
