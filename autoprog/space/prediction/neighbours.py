"""The risk of a patient as the share of events among the nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.hyperparameters import Integer, Parameter
from autoprog.space.prediction.standardised import Standardised
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes


# The pooled table of event times has far fewer rows than planned where few events merge its intervals.
class NearestNeighbours(BinaryClassifier):
    """The share of events among so many neighbours, but no more than half of the rows."""

    def __init__(self, neighbours: int = 25) -> None:
        self.neighbours = neighbours

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the rows; ValueError without two classes."""
        outcome = np.asarray(y)
        self.classes_, _ = two_classes(outcome)
        neighbours = max(1, min(self.neighbours, len(outcome) // 2))
        self.estimator_ = KNeighborsClassifier(neighbours, n_jobs=1).fit(X, outcome)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        check_is_fitted(self)
        probability: NDArray[np.float64] = self.estimator_.predict_proba(X)
        return probability


def _k_nearest_neighbours(parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    # All folds and the final fit take as many, unless a fit has fewer rows.
    return Standardised(NearestNeighbours(max(1, min(int(parameters["neighbours"]), shape.n_patients // 2))))


K_NEAREST_NEIGHBOURS = Algorithm(
    "prediction",
    "k_nearest_neighbours",
    (Integer("neighbours", 3, 150, 25, log=True),),
    _k_nearest_neighbours,
    family="local",
    cost=Cost(0.01, patients=2.0),
    max_patients=10_000,  # a prediction compares a patient with all of them
    stored_types=(
        "autoprog.space.prediction.neighbours.NearestNeighbours",
        "autoprog.space.prediction.standardised.Standardised",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
    ),
    patients_in="sklearn.neighbors._classification.KNeighborsClassifier",
    reference="Cover & Hart (1967), IEEE Trans. Inf. Theory 13:21-27; range after Feurer et al. (2015), NIPS 28",
)
