"""What an algorithm of the space declares about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sklearn.base import BaseEstimator

from autoprog.cohort import Cohort, Mode
from autoprog.space.configuration import StageName, Step
from autoprog.space.design_matrix import n_columns
from autoprog.space.hyperparameters import Hyperparameter, Parameter


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
        Patients of the rarer class in such a fold.
    has_missing : bool
        Whether any cell is missing.
    mode : str
        The cohort's mode.
    """

    n_patients: int
    n_columns: int
    n_minority: int
    has_missing: bool
    mode: Mode = "classification"

    @classmethod
    def of(cls, cohort: Cohort, folds: int) -> TableShape:
        """Shape of the training folds of a cohort.

        Parameters
        ----------
        cohort : Cohort
            The patients.
        folds : int
            Number of folds, at least 2.

        Returns
        -------
        TableShape
            Of the smallest training fold.
        """
        minority = int(min(cohort.y.sum(), cohort.n_patients - cohort.y.sum()))
        return cls(
            n_patients=_train_size(cohort.n_patients, folds),
            n_columns=sum(n_columns(feature) for feature in cohort.features),
            n_minority=_train_size(minority, folds),
            has_missing=cohort.has_missing,
            mode=cohort.mode,
        )


def _train_size(n: int, folds: int) -> int:
    """What is left of `n` when the largest of `folds` parts is held out."""
    return n - -(-n // folds)


Build = Callable[[Mapping[str, Parameter], TableShape, int], BaseEstimator | None]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One entry of Table 1.

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
    takes_missing : bool
        Whether its input may hold NaN.
    max_columns : int or None
        Widest design matrix it accepts.
    stored_types : tuple of str
        Dotted names of the types in its fitted state, beyond those that skops trusts by itself: a stored model may
        hold these and no others.
    """

    stage: StageName
    name: str
    hyperparameters: tuple[Hyperparameter, ...]
    build: Build
    family: str
    modes: tuple[Mode, ...] = ("classification",)
    takes_missing: bool = False
    max_columns: int | None = None
    stored_types: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Unique over all stages: `prediction/xgboost`."""
        return f"{self.stage}/{self.name}"

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
