"""The imputation stage of Table 1: how missing cells are filled.

Every imputer is fitted on the training patients alone, keeps all columns, and imputes a new patient independently of
other new patients. A column without any observed training cell is imputed by 0.
"""

from autoprog.space._base import Algorithm
from autoprog.space.imputation.em import EM
from autoprog.space.imputation.matrix_completion import MATRIX_COMPLETION
from autoprog.space.imputation.mice import MICE
from autoprog.space.imputation.miss_forest import MISS_FOREST
from autoprog.space.imputation.simple import MEAN, MEDIAN, MOST_FREQUENT, NONE

IMPUTATION: tuple[Algorithm, ...] = (
    MEAN,
    MEDIAN,
    MOST_FREQUENT,
    MICE,
    EM,
    MATRIX_COMPLETION,
    MISS_FOREST,
    NONE,
)

__all__ = ["IMPUTATION"]
