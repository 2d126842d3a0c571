"""Limits of hyperparameters that depend on the size of the training folds."""

from __future__ import annotations

from collections.abc import Mapping

from autoprog.space._base import TableShape
from autoprog.space.hyperparameters import Parameter


def least_in_leaf(parameters: Mapping[str, Parameter], shape: TableShape) -> int:
    """Fewest patients in a leaf: `min_leaf`, capped so that the smallest fit has room for four leaves."""
    # The smallest fit, on an inner fold of the calibration stage, has two thirds of the training patients. A larger
    # leaf would leave no split, or only one at the median.
    return max(1, min(int(parameters["min_leaf"]), shape.n_patients // 6))


def least_weight(parameters: Mapping[str, Parameter], shape: TableShape) -> float:
    """Least weight of an XGBoost leaf: `min_child_weight`, capped so that the smallest fit has room for four leaves."""
    # A patient with risk p has weight p (1 - p); a fit to n patients with a share p of events starts with n p (1 - p).
    n = shape.n_patients
    p = min(shape.n_minority / n, 0.5)
    return min(float(parameters["min_child_weight"]), n * p * (1 - p) / 6)


def member_fraction(shape: TableShape, most: int, most_in_fit: int | None = None) -> float | None:
    """Share of the patients on which each forest member is grown, None for all: at most `most` of `most_in_fit`."""
    # A share, not a count: fits on inner folds may have fewer patients than the count. The final fit, and each of its
    # members, has more patients than a training fold, with five folds a quarter more.
    in_fit = shape.n_patients if most_in_fit is None else min(shape.n_patients, most_in_fit)
    return most / in_fit if in_fit > most else None
