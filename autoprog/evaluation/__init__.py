"""Evaluation of one configuration: folds, out-of-fold risks, races."""

from autoprog.evaluation.cross_validation import (
    CrossValidation,
    EvaluatedPath,
    FoldPath,
    FoldResult,
    Setting,
    at_common_setting,
    cross_validate,
    evaluate_fold,
    evaluate_out_of_bag,
    is_of_fold,
)
from autoprog.evaluation.evaluation import MIN_FOLDS, Evaluation, History, Race, Status, residual_variance
from autoprog.evaluation.fitting import at_setting, fit_pipeline, has_path, is_out_of_bag
from autoprog.evaluation.folds import Fold, make_folds
from autoprog.evaluation.notes import summarise, without_values
from autoprog.evaluation.plan import Plan
from autoprog.evaluation.prefixes import PrefixMemory

__all__ = [
    "MIN_FOLDS",
    "CrossValidation",
    "EvaluatedPath",
    "Evaluation",
    "Fold",
    "FoldPath",
    "FoldResult",
    "History",
    "Plan",
    "PrefixMemory",
    "Race",
    "Setting",
    "Status",
    "at_common_setting",
    "at_setting",
    "cross_validate",
    "evaluate_fold",
    "evaluate_out_of_bag",
    "fit_pipeline",
    "has_path",
    "is_of_fold",
    "is_out_of_bag",
    "make_folds",
    "residual_variance",
    "summarise",
    "without_values",
]
