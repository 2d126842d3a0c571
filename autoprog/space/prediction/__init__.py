"""The prediction stage, of Table 1 and beyond it: the learners, one file per family.

Learners that depend on the scale of their inputs standardise them on the training patients. Each runs on one thread,
since the engine runs one evaluation per core.
"""

from __future__ import annotations

from autoprog.space._base import Algorithm
from autoprog.space.prediction.boosting import (
    ADA_BOOST,
    GRADIENT_BOOSTING,
    LIGHTGBM,
    STOCHASTIC_BOOSTING,
    XGBOOST,
)
from autoprog.space.prediction.competing_risks import FINE_GRAY
from autoprog.space.prediction.gaussian_process import GAUSSIAN_PROCESS
from autoprog.space.prediction.linear import LDA, LINEAR_SVM, LOGISTIC_REGRESSION, RIDGE
from autoprog.space.prediction.mlp import MLP
from autoprog.space.prediction.naive_bayes import BERNOULLI_NB, GAUSSIAN_NB, MULTINOMIAL_NB
from autoprog.space.prediction.neighbours import K_NEAREST_NEIGHBOURS
from autoprog.space.prediction.neural_network import NEURAL_NETWORK
from autoprog.space.prediction.penalised import KERNEL_LOGISTIC, PENALISED_LOGISTIC, SPLINE_LOGISTIC
from autoprog.space.prediction.smooth_hazards import ACCELERATED_FAILURE_TIME, PENALISED_COX, SPLINE_COX
from autoprog.space.prediction.survival import COX, SURVIVAL_FOREST
from autoprog.space.prediction.trees import BAGGING, DECISION_TREE, EXTRA_TREES, RANDOM_FOREST

PREDICTION: tuple[Algorithm, ...] = (
    LOGISTIC_REGRESSION,
    RIDGE,
    LDA,
    LINEAR_SVM,
    BERNOULLI_NB,
    GAUSSIAN_NB,
    MULTINOMIAL_NB,
    K_NEAREST_NEIGHBOURS,
    DECISION_TREE,
    RANDOM_FOREST,
    EXTRA_TREES,
    BAGGING,
    ADA_BOOST,
    GRADIENT_BOOSTING,
    XGBOOST,
    LIGHTGBM,
    GAUSSIAN_PROCESS,
    NEURAL_NETWORK,
    SURVIVAL_FOREST,
    COX,
)

FOR_COMPETING_RISKS: tuple[Algorithm, ...] = (FINE_GRAY,)
"""Beyond Table 1: additional learners for cohorts with competing risks."""

BEYOND_TABLE_1: tuple[Algorithm, ...] = (
    PENALISED_LOGISTIC,
    SPLINE_LOGISTIC,
    KERNEL_LOGISTIC,
    STOCHASTIC_BOOSTING,
    MLP,
    PENALISED_COX,
    SPLINE_COX,
    ACCELERATED_FAILURE_TIME,
)
"""Beyond Table 1: penalties along a path, splines, kernel components, stochastic boosting, networks stopped early on
held-out folds, smooth models of event times."""

__all__ = ["BEYOND_TABLE_1", "FOR_COMPETING_RISKS", "PREDICTION"]
