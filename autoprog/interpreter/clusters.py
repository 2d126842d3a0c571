"""Effective number of rows: rows of one patient or of one group are similar.

    n            rows
    a_i, b_i     deviations of two values of row i from their means                                   (n,)
    d            class of a pair of rows of one group: the distance of two rows of one patient, up to 20; and one class
                 for all that are further apart or of different patients
    n_d          pairs of class d
    c            mean of a_i a_j over the pairs of different groups
    rho_d(a)     (mean of a_i a_j over the pairs of class d - c) / (mean of a_i^2 - c), at most 1
    D            design effect, 1 + 2/n sum_d n_d rho_d(a) rho_d(b)

If a and b are not associated, D is the variance of sum a_i b_i over that of independent rows; without b, of sum a_i.
Counts divided by D are about as certain as those of independent rows. The correlations of a and of b are separate, so
that their association does not count as similarity. Consecutive visits are more similar than distant ones: with one
correlation for all pairs D would be too small, as the mean of the products exceeds the product of the means.

References
----------
Scott & Holt 1982, JASA 77:848 (the product of two correlations); Rao & Scott 1992, Biometrics 48:577 (counts divided by
the design effect).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort

_FURTHEST = 20
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows of a cohort are similar.

    Attributes
    ----------
    patient : ndarray, shape = (n_rows,), or None
        The patient of each visit; None if every row is a patient.
    group : ndarray, shape = (n_rows,), or None
        The patients, or coarser groups; None if all rows are independent.
    sampled : ndarray, shape = (n_rows,), or None
        The patient of whom each row is a copy, where patients have weights; None if no row is a copy.
    """

    patient: NDArray[np.int64] | None = None
    group: NDArray[np.int64] | None = None
    sampled: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, cohort: Cohort) -> Self:
        """Make the clusters of a cohort's rows."""
        return cls(None if cohort.visits is None else cohort.visits.patient, cohort.groups, cohort.sampled)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Clusters:
        """Select some of the rows."""
        parts = (self.patient, self.group, self.sampled)
        return Clusters(*(None if codes is None else codes[rows] for codes in parts))

    @property
    def row(self) -> str:
        """Name of a row's unit: patient or visit."""
        return "patient" if self.patient is None else "visit"

    def n_patients(self, rows: NDArray[np.bool_]) -> int:
        """Count the distinct patients of some rows; with weights, all those for whom they stand."""
        return int(np.count_nonzero(rows)) if self.patient is None else len(np.unique(self.patient[rows]))

    def n_different(self, rows: NDArray[np.bool_]) -> int:
        """Count the distinct patients of some rows, each once whatever the weight."""
        return self.n_patients(rows) if self.sampled is None else len(np.unique(self.sampled[rows]))

    def counted(self, rows: NDArray[np.bool_]) -> str:
        """Row and patient counts as text."""
        told = f"{np.count_nonzero(rows):,} {self.row}s"
        return told if self.patient is None else f"{told} of {self.n_patients(rows):,} patients"

    def design_effect(self, *values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Compute D >= 1 of the mean of one array, or of the association of two; each is (n_rows,) or (m, n_rows)."""
        if self.group is None or len(self.group) == 0:
            return np.ones(values[0].shape[:-1])
        unit = self.group if self.patient is None else self.patient
        order = np.lexsort((unit, self.group))  # stable: a patient's visits stay in order
        pairs = _Pairs(unit[order], self.group[order])
        rho = np.prod([pairs.correlations(value[..., order].astype(np.float64)) for value in values], axis=0)
        return np.asarray(np.maximum(1.0, 1 + 2 / len(order) * rho @ pairs.counts))


class _Pairs:
    """The pairs of rows of one group, by class."""

    def __init__(self, unit: NDArray[np.int64], group: NDArray[np.int64]) -> None:
        self._unit = unit
        self._starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
        self.counts = self._sums(np.ones(len(group)))  # n_d
        self._n_between = len(group) * (len(group) - 1) / 2 - self.counts.sum()

    def correlations(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """rho_d, shape = (n_classes,) or (m, n_classes)."""
        a = x - x.mean(axis=-1, keepdims=True)
        sums, square = self._sums(a), (a**2).sum(axis=-1, keepdims=True)
        within = sums.sum(axis=-1, keepdims=True)
        # A single group has no other to differ from.
        c = (-square / 2 - within) / self._n_between if self._n_between else within / max(self.counts.sum(), 1.0)
        excess, variance = sums / np.maximum(self.counts, 1) - c, square / x.shape[-1] - c
        # A value that is constant counts as fully correlated.
        rho = np.divide(excess, variance, out=np.ones_like(excess), where=variance > _ROUNDING)
        return np.asarray(np.minimum(rho, 1.0))

    def _sums(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the products of each class of pairs, shape = (n_classes,) or (m, n_classes)."""
        of_groups = np.add.reduceat(x, self._starts, axis=-1)
        pairs = ((of_groups**2).sum(axis=-1) - (x**2).sum(axis=-1)) / 2
        near = [
            (x[..., d:] * x[..., :-d])[..., self._unit[d:] == self._unit[:-d]].sum(axis=-1)
            for d in range(1, _FURTHEST + 1)
        ]
        return np.stack([*near, pairs - np.sum(near, axis=0)], axis=-1)
