"""The score of one configuration: folds, metrics, out-of-fold risks."""

from autoprog.evaluation.cross_validation import CrossValidation, Plan, cross_validate
from autoprog.evaluation.evaluation import Evaluation, History, Status
from autoprog.evaluation.folds import Fold, make_folds
from autoprog.evaluation.metrics import METRICS, Metric

__all__ = [
    "METRICS",
    "CrossValidation",
    "Evaluation",
    "Fold",
    "History",
    "Metric",
    "Plan",
    "Status",
    "cross_validate",
    "make_folds",
]
