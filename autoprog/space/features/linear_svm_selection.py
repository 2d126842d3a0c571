"""The columns that a sparse linear support vector machine uses.

X      standardised columns                              (n, d)
y      outcome, coded -1 and 1                           (n,)
w, b   weights and intercept                             (d,), scalar
C      weight of the mean loss against the penalty       float

w, b minimise |w|_1 + |b| + C mean_i max(0, 1 - y_i (x_i'w + b))^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.hyperparameters import Choice, Float, Parameter


# scikit-learn's `SelectFromModel` keeps no column if the penalty leaves none, and its penalty depends on the number of
# patients. Here the loss is a mean, and at least one column stays.
class SparseSVMSelection(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns with sufficient weight in a linear support vector machine with an L1 penalty."""

    def __init__(
        self,
        C: float = 100.0,
        threshold: float = 0.0,
        class_weight: str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.C = C
        self.threshold = threshold  # in [0, 1], share of the largest absolute weight
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the columns to keep, from standardised columns and an outcome of two values."""
        columns, outcome = validate_data(self, X, y, dtype=np.float64)
        svm = LinearSVC(
            penalty="l1",
            dual=False,
            C=self.C / len(columns),
            class_weight=self.class_weight,
            random_state=self.random_state,
        ).fit(columns, outcome)
        self.weights_: NDArray[np.float64] = svm.coef_[0]
        size = np.abs(self.weights_)
        if size.any():
            self.kept_: NDArray[np.bool_] = size > self.threshold * size.max()
        else:
            # Without any weight, the column with the largest difference of the outcomes' means.
            first, second = (columns[outcome == value].mean(axis=0) for value in svm.classes_)
            self.kept_ = np.arange(columns.shape[1]) == np.argmax(np.abs(second - first))
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.kept_

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _linear_svm_selection(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return make_pipeline(
        StandardScaler(),
        SparseSVMSelection(
            C=float(parameters["C"]),
            threshold=float(parameters["threshold"]),
            class_weight="balanced" if parameters["class_weight"] == "balanced" else None,
            random_state=seed,
        ),
    )


LINEAR_SVM_SELECTION = Algorithm(
    "features",
    "linear_svm_selection",
    (
        # No column has weight below C = 1 / (2 |difference of the outcomes' means|) or so; nearly all have at the top.
        Float("C", 3.0, 3000.0, 100.0, log=True),
        Float("threshold", 0.001, 0.3, 0.01, log=True),
        Choice("class_weight", ("none", "balanced"), default="none"),
    ),
    _linear_svm_selection,
    family="selection",
    cost=Cost(0.01, 1.0, 1.0),
    max_patients=50_000,  # more would not choose other columns
    stored_types=("autoprog.space.features.linear_svm_selection.SparseSVMSelection",),
    reference="Zhu, Rosset, Hastie & Tibshirani (2003), NIPS 16; threshold: van de Geer, Bühlmann & Zhou (2011), "
    "Electron. J. Stat. 5:688-749",
)
