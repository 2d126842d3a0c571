"""Online feature selection: learn which few features to look at, from whether predictions were right."""

from autoprog.test_selection.online.algorithms import (
    EpsilonGreedyPerceptron,
    OnlineAlgorithm,
    OnlineFeatureSelection,
    SelectAndClassify,
    make_algorithm,
)
from autoprog.test_selection.online.classifiers import Perceptron, TwoUnitMLP
from autoprog.test_selection.online.family import Family, FeatureGroup
from autoprog.test_selection.online.moments import GivenMoments, RunningMoments
from autoprog.test_selection.online.options import LARGEST_STEP, StreamOptions, default_subset_size
from autoprog.test_selection.online.performance import OnlinePerformance
from autoprog.test_selection.online.selectors import (
    Constraint,
    GaussianThompsonSelector,
    RandomSelector,
    ThompsonSelector,
)
from autoprog.test_selection.online.stream import FeatureStream, Observation

__all__ = [
    "LARGEST_STEP",
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
