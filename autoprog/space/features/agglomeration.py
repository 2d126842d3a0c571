"""Similar columns pooled into one, by hierarchical clustering of the standardised columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import FeatureAgglomeration
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.features.share_of_columns import SHARE_OF_COLUMNS, ShareOfColumns
from autoprog.space.features.varying_columns import VARYING_COLUMNS, VaryingColumns
from autoprog.space.hyperparameters import Choice, Float, Parameter


def _agglomeration(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    linkage = str(parameters["linkage"])
    # Ward's criterion is a sum of squares, defined only for Euclidean distances: it ignores the axis `metric`.
    metric = "euclidean" if linkage == "ward" else str(parameters["metric"])
    pooling: Any = {"mean": np.mean, "median": np.median, "max": np.max}[str(parameters["pooling"])]
    clusters = FeatureAgglomeration(linkage=linkage, metric=metric, pooling_func=pooling)
    # A constant column has no direction and therefore no cosine.
    return make_pipeline(
        StandardScaler(), VaryingColumns(), ShareOfColumns(clusters, "n_clusters", float(parameters["fraction"]))
    )


AGGLOMERATION = Algorithm(
    "features",
    "agglomeration",
    (
        Float("fraction", 0.1, 0.9, 0.5),
        Choice("linkage", ("ward", "complete", "average"), default="ward"),
        Choice("metric", ("euclidean", "manhattan", "cosine"), default="euclidean"),
        Choice("pooling", ("mean", "median", "max"), default="mean"),
    ),
    _agglomeration,
    family="projection",
    cost=Cost(0.007, 1.0, 0.5),
    stored_types=(SHARE_OF_COLUMNS, VARYING_COLUMNS, "numpy.max", "numpy.mean", "numpy.median"),
    reference="Ward (1963), J. Am. Stat. Assoc. 58:236-244; hyperparameters as in Feurer et al. (2015), NIPS 28",
)
