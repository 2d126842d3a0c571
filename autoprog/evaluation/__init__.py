"""Evaluation of one configuration: folds, metrics, out-of-fold risks."""

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
)
from autoprog.evaluation.evaluation import MIN_FOLDS, Evaluation, History, Race, Status, residual_variance
from autoprog.evaluation.event_metrics import (
    EVENT_METRICS,
    Direction,
    ScoringContext,
    make_event_metric,
    measured_name,
    metric_direction,
)
from autoprog.evaluation.fitting import fit_pipeline, get_outcomes, has_path, is_out_of_bag, predict_risks
from autoprog.evaluation.folds import Fold, grouped_splits, make_folds
from autoprog.evaluation.metrics import (
    EPSILON,
    METRICS,
    THRESHOLDS,
    Metric,
    benefit,
    compute_logit,
    harm,
    make_metric,
    net_benefit,
    net_benefit_of_all,
)
from autoprog.evaluation.notes import summarise, without_values
from autoprog.evaluation.plan import Plan
from autoprog.evaluation.prefixes import PrefixMemory

__all__ = [
    "EPSILON",
    "EVENT_METRICS",
    "METRICS",
    "MIN_FOLDS",
    "THRESHOLDS",
    "CrossValidation",
    "Direction",
    "EvaluatedPath",
    "Evaluation",
    "Fold",
    "FoldPath",
    "FoldResult",
    "History",
    "Metric",
    "Plan",
    "PrefixMemory",
    "Race",
    "ScoringContext",
    "Setting",
    "Status",
    "at_common_setting",
    "benefit",
    "compute_logit",
    "cross_validate",
    "evaluate_fold",
    "evaluate_out_of_bag",
    "fit_pipeline",
    "get_outcomes",
    "grouped_splits",
    "harm",
    "has_path",
    "is_out_of_bag",
    "make_event_metric",
    "make_folds",
    "make_metric",
    "measured_name",
    "metric_direction",
    "net_benefit",
    "net_benefit_of_all",
    "predict_risks",
    "residual_variance",
    "summarise",
    "without_values",
]
