"""Checks of the rows that a fitted stage gets for prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data


def check_rows(estimator: BaseEstimator, X: ArrayLike, *, missing: bool = True) -> NDArray[np.float64]:
    """Check rows as scikit-learn does, in a twentieth of the time if they need no conversion.

    Parameters
    ----------
    estimator : estimator
        Fitted; its fit has validated the training rows.
    X : array-like, shape = (n_patients, n_features)
        Infinite cells are refused.
    missing : bool
        Whether cells may be NaN.

    Returns
    -------
    ndarray, shape = (n_patients, n_features)
        `X` itself if it needs no conversion.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If scikit-learn refuses the rows.
    """
    if _needs_no_conversion(estimator, X):
        refused = np.isinf(X) if missing else ~np.isfinite(X)
        if not refused.any():
            return X  # type: ignore[return-value]  # an array, as was seen
    check_is_fitted(estimator)
    rows: NDArray[np.float64] = validate_data(
        estimator, X, dtype=np.float64, ensure_all_finite="allow-nan" if missing else True, reset=False
    )
    return rows


def _needs_no_conversion(estimator: BaseEstimator, X: ArrayLike) -> bool:
    fitted = vars(estimator)
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == fitted.get("n_features_in_")
        and "feature_names_in_" not in fitted
    )
