"""The risk of a patient as the share of events among the nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.hyperparameters import Integer, Parameter
from autoprog.space.prediction.standardised import Standardised


def _k_nearest_neighbours(parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    # The inner folds of the calibration stage hold two thirds of the training patients.
    neighbours = max(1, min(int(parameters["neighbours"]), shape.n_patients // 2))
    return Standardised(KNeighborsClassifier(neighbours, n_jobs=1))


K_NEAREST_NEIGHBOURS = Algorithm(
    "prediction",
    "k_nearest_neighbours",
    (Integer("neighbours", 3, 150, 25, log=True),),
    _k_nearest_neighbours,
    family="local",
    cost=Cost(0.01, patients=2.0),
    max_patients=10_000,  # a prediction compares a patient with all of them
    stored_types=(
        "autoprog.space.prediction.standardised.Standardised",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
    ),
    patients_in="sklearn.neighbors._classification.KNeighborsClassifier",
    reference="Cover & Hart (1967), IEEE Trans. Inf. Theory 13:21-27; range after Feurer et al. (2015), NIPS 28",
)
