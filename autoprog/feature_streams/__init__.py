"""Online feature selection: learn which few features to look at, from whether predictions were right."""

from autoprog.feature_streams.algorithms import (
    EpsilonGreedyPerceptron,
    OnlineAlgorithm,
    OnlineFeatureSelection,
    SelectAndClassify,
    make_algorithm,
)
from autoprog.feature_streams.classifiers import Perceptron, TwoUnitMLP
from autoprog.feature_streams.family import Family, FeatureGroup
from autoprog.feature_streams.moments import GivenMoments, RunningMoments
from autoprog.feature_streams.options import LARGEST_STEP, MIN_SD, StreamOptions, default_subset_size
from autoprog.feature_streams.selectors import (
    Constraint,
    GaussianThompsonSelector,
    RandomSelector,
    ThompsonSelector,
)
from autoprog.feature_streams.stream import FeatureStream, Observation, OnlinePerformance

__all__ = [
    "LARGEST_STEP",
    "MIN_SD",
    "Constraint",
    "EpsilonGreedyPerceptron",
    "Family",
    "FeatureGroup",
    "FeatureStream",
    "GaussianThompsonSelector",
    "GivenMoments",
    "Observation",
    "OnlineAlgorithm",
    "OnlineFeatureSelection",
    "OnlinePerformance",
    "Perceptron",
    "RandomSelector",
    "RunningMoments",
    "SelectAndClassify",
    "StreamOptions",
    "ThompsonSelector",
    "TwoUnitMLP",
    "default_subset_size",
    "make_algorithm",
]
