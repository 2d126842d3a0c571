"""The feature-processing stage of Table 1: it transforms the imputed columns for the predictor.

Processors that depend on the scale of their inputs standardise them on the training patients. With any settings, they
return at least one column and stay within the limits of the folds' patients and columns.
"""

from autoprog.space._base import Algorithm, Cost
from autoprog.space.features.agglomeration import AGGLOMERATION
from autoprog.space.features.components import FAST_ICA, PCA
from autoprog.space.features.kernel_maps import KERNEL_PCA, NYSTROEM, RANDOM_KITCHEN_SINKS
from autoprog.space.features.linear_svm_selection import LINEAR_SVM_SELECTION
from autoprog.space.features.polynomial import POLYNOMIAL
from autoprog.space.features.select_rates import SELECT_RATES

_NONE = Algorithm(
    "features",
    "none",
    (),
    lambda *_: None,
    family="identity",
    takes=frozenset({"missing", "negative", "categories", "collinear"}),
    cost=Cost(0.0),
    reference="the columns as they are",
)

FEATURES: tuple[Algorithm, ...] = (
    AGGLOMERATION,
    KERNEL_PCA,
    POLYNOMIAL,
    FAST_ICA,
    PCA,
    RANDOM_KITCHEN_SINKS,
    NYSTROEM,
    LINEAR_SVM_SELECTION,
    SELECT_RATES,
    _NONE,
)

__all__ = ["FEATURES"]
