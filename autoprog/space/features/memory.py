"""How wide a table of features may become before it does not fit beside its cohort."""

from __future__ import annotations

from autoprog.space._base import TableShape

# 400 MB of float64. The learner behind standardises, or sorts, a copy of its own.
_MAX_CELLS = 50_000_000


def most_columns(shape: TableShape) -> int:
    """Columns that a stage may put out for the patients of a training fold: 125 for 400,000 of them.

    Parameters
    ----------
    shape : TableShape
        The training folds.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, _MAX_CELLS // shape.n_patients)
