"""What the size of the training folds allows, for learners that have a say in it."""

from __future__ import annotations

from collections.abc import Mapping

from autoprog.space._base import TableShape
from autoprog.space.hyperparameters import Parameter


def least_in_leaf(parameters: Mapping[str, Parameter], shape: TableShape) -> int:
    """Least patients of a leaf: the hyperparameter `min_leaf`, but few enough for four leaves in the smallest fit.

    A larger one leaves no split, or none but at the median: a constant in place of a risk. The smallest fit is that on
    an inner fold of the calibration stage, two thirds of the training patients.

    Parameters
    ----------
    parameters : mapping
        Holds `min_leaf`.
    shape : TableShape
        The training folds.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, min(int(parameters["min_leaf"]), shape.n_patients // 6))


def least_weight(parameters: Mapping[str, Parameter], shape: TableShape) -> float:
    """Least weight of a leaf of XGBoost: the hyperparameter, but little enough for four leaves in the smallest fit.

    A patient's weight is p (1 - p) of his risk, so that a fit to n patients, a share p of them with the event, starts
    with n p (1 - p). A leaf that must hold more leaves no split.

    Parameters
    ----------
    parameters : mapping
        Holds `min_child_weight`.
    shape : TableShape
        The training folds.

    Returns
    -------
    float
        Above 0.
    """
    n = shape.n_patients
    p = min(shape.n_minority / n, 0.5)
    return min(float(parameters["min_child_weight"]), n * p * (1 - p) / 6)


def member_fraction(shape: TableShape, most: int, most_in_fit: int | None = None) -> float | None:
    """Share of the patients of a fit that each member of a forest is grown on.

    A share and not a count: the fits on inner folds may have fewer patients than the count. The delivered fit has more
    patients than a training fold, a quarter more with five folds, and so has each member of its forests.

    Parameters
    ----------
    shape : TableShape
        The training folds.
    most : int
        Patients that a member needs at most.
    most_in_fit : int or None
        Patients to which the pipeline cuts a larger fold down before the forest sees it; None if it does not.

    Returns
    -------
    float or None
        In (0, 1); None where the fit has no more than `most` patients.
    """
    in_fit = shape.n_patients if most_in_fit is None else min(shape.n_patients, most_in_fit)
    return most / in_fit if in_fit > most else None
