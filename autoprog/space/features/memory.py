"""Limit on the width of a table of features, so that it fits into memory beside its cohort."""

from __future__ import annotations

from autoprog.space._base import TableShape

# 400 MB of float64; the learner standardises or sorts its own copy.
_MAX_CELLS = 50_000_000


def most_columns(shape: TableShape) -> int:
    """Most columns of a stage for the patients of a training fold, at least 1: 125 for 400,000 patients."""
    return max(1, _MAX_CELLS // shape.n_patients)
