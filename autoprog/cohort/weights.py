"""Weights of patients: whole numbers that say how many patients each row of a file stands for.

A row of weight w becomes w equal rows of one group. Folds, resamples and standard errors keep groups together, so every
estimate is the weighted one, and its uncertainty that of the patients who were sampled: sums of influences within
copies give the linearised variance of a weighted estimate (Binder DA. On the variances of asymptotically normal
estimators from complex surveys. Int Stat Rev 1983;51:279-92).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from autoprog.cohort.cells import read_cells
from autoprog.cohort.cohort import Cohort
from autoprog.cohort.messages import column_pointer, count_text, examples, rows_text
from autoprog.cohort.spec import CohortSpec
from autoprog.cohort.table import ReadLimits, Table
from autoprog.errors import Fault


def read_weights(table: Table, spec: CohortSpec, limits: ReadLimits) -> tuple[NDArray[np.int64] | None, list[Fault]]:
    """Read how many patients each row stands for; None without a column of weights, or with faults."""
    if spec.weights is None or spec.weights not in table.columns:
        return None, []
    cells = read_cells(
        table.columns[spec.weights], numeric=True, na_values=spec.na_values, decimal_comma=table.decimal_comma
    )
    place = column_pointer(spec.weights)
    faults = []
    if len(rows := cells.rows_with(cells.missing)):
        detail = f"{count_text(len(rows), 'row')} without a weight: {rows_text(table.lines[rows])}"
        faults.append(Fault(place, detail))
    w = cells.numbers
    wrong = ~cells.missing & ~((w >= 1) & (w <= limits.rows) & (w == np.rint(w)))
    if len(rows := cells.rows_with(wrong)):
        detail = (
            f"{count_text(len(rows), 'row')} with a weight that is no whole number from 1: "
            f"{rows_text(table.lines[rows])}; divide the weights of a sample by the smallest and round"
        )
        faults.append(Fault(place, detail, examples(cells.column.texts.filter(pa.array(wrong)).to_pylist())))
    if faults:
        return None, faults
    weights = w[cells.column.codes].astype(np.int64)
    total, n_cells = int(weights.sum()), int(weights.sum()) * len(table.columns)
    if total > limits.rows or n_cells > limits.cells:
        most = min(limits.rows, limits.cells // len(table.columns))
        return None, [
            Fault(place, f"the weights sum to {total:,}, at most {most:,} is possible: divide them and round")
        ]
    return weights, []


def weigh(cohort: Cohort, weights: NDArray[np.int64]) -> Cohort:
    """Repeat each row as often as its weight says; the cohort itself if all weights are 1."""
    if (weights == 1).all():
        return cohort
    sampled = np.repeat(np.arange(cohort.n_rows), weights)
    weighed = cohort.take(sampled)
    missing = (1 - (~np.isnan(weighed.X)).sum(axis=0) / weighed.n_rows).tolist()
    return replace(
        weighed,
        features=tuple(replace(f, missing_fraction=share) for f, share in zip(cohort.features, missing, strict=True)),
        groups=sampled if weighed.groups is None else weighed.groups,
        sampled=sampled,
    )
