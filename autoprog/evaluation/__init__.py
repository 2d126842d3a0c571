"""The score of one configuration: folds, metrics, out-of-fold risks."""

from autoprog.evaluation.along import EvaluatedPath, FoldPath, Setting
from autoprog.evaluation.cross_validation import (
    CrossValidation,
    FoldResult,
    at_common_setting,
    cross_validate,
    evaluate_fold,
    evaluate_out_of_bag,
)
from autoprog.evaluation.decision_curve import benefit, harm, net_benefit, net_benefit_of_all
from autoprog.evaluation.evaluation import Evaluation, History, Status
from autoprog.evaluation.event_metrics import (
    EVENT_METRICS,
    Direction,
    FollowUp,
    direction_of,
    event_metric_of,
    measured_name,
)
from autoprog.evaluation.fitting import fit_pipeline, has_path, is_out_of_bag, outcomes_of, risks_of
from autoprog.evaluation.folds import Fold, make_folds
from autoprog.evaluation.grouped_folds import grouped_splits
from autoprog.evaluation.log_odds import EPSILON, logit_of
from autoprog.evaluation.metrics import METRICS, THRESHOLDS, Metric, metric_of
from autoprog.evaluation.notes import summarise
from autoprog.evaluation.plan import Plan
from autoprog.evaluation.prefixes import PrefixMemory
from autoprog.evaluation.racing import LEAST_FOLDS, Race, residual_variance
from autoprog.evaluation.redaction import without_values

__all__ = [
    "EPSILON",
    "EVENT_METRICS",
    "LEAST_FOLDS",
    "METRICS",
    "THRESHOLDS",
    "CrossValidation",
    "Direction",
    "EvaluatedPath",
    "Evaluation",
    "Fold",
    "FoldPath",
    "FoldResult",
    "FollowUp",
    "History",
    "Metric",
    "Plan",
    "PrefixMemory",
    "Race",
    "Setting",
    "Status",
    "at_common_setting",
    "benefit",
    "cross_validate",
    "direction_of",
    "evaluate_fold",
    "evaluate_out_of_bag",
    "event_metric_of",
    "fit_pipeline",
    "grouped_splits",
    "harm",
    "has_path",
    "is_out_of_bag",
    "logit_of",
    "make_folds",
    "measured_name",
    "metric_of",
    "net_benefit",
    "net_benefit_of_all",
    "outcomes_of",
    "residual_variance",
    "risks_of",
    "summarise",
    "without_values",
]
