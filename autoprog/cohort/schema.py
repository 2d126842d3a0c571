"""The features of a cohort: what a column means and how a cell becomes a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FeatureKind = Literal["numeric", "binary", "categorical", "ordinal"]


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of the cohort's matrix.

    A numeric feature is stored as it is. Every other kind is stored as the index of its level, so that the whole cohort
    is one matrix of float64 in which a missing cell is NaN.

    Attributes
    ----------
    name : str
        The column's name in the file.
    kind : {"numeric", "binary", "categorical", "ordinal"}
        What the numbers mean.
    levels : tuple of str
        Canonical texts of the levels, in the order of their codes; empty for a numeric feature. An ordinal feature's
        order is meaningful; a binary feature has two.
    unit : str or None
        As the client gave it.
    meta_group : str or None
        The clinical group (laboratory, medication, ...), when given.
    missing_fraction : float
        Share of patients without a value, in [0, 1].
    minimum, maximum : float or None
        Range of the observed values of a numeric feature; None for the other kinds and where nothing was observed.
    """

    name: str
    kind: FeatureKind
    levels: tuple[str, ...] = ()
    unit: str | None = None
    meta_group: str | None = None
    missing_fraction: float = 0.0
    minimum: float | None = None
    maximum: float | None = None
