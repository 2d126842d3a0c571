"""The outcome of a binary classifier of ours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets


def two_classes(y: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
    """The two values of an outcome, sorted, and 1 for every patient who has the second.

    Parameters
    ----------
    y : ndarray, shape = (n_patients,)
        The outcome.

    Returns
    -------
    tuple of ndarray
        The values, shape = (2,), and the indicator, shape = (n_patients,).

    Raises
    ------
    ValueError
        If there are not two values.
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        msg = f"Only binary classification is supported: the outcome has {len(classes)} class(es), not two"
        raise ValueError(msg)
    return classes, codes.astype(np.float64)
