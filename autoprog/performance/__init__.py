"""Performance of risks: metrics that a search can choose by, and all measures with intervals."""

from autoprog.performance.calibration import (
    Calibration,
    CalibrationCurve,
    SmoothCalibration,
    calibration_curve,
    compute_calibration,
    smooth_calibration,
)
from autoprog.performance.event_metrics import (
    EVENT_METRICS,
    Direction,
    ScoringContext,
    make_event_metric,
    measured_name,
    metric_direction,
)
from autoprog.performance.event_times.measures import (
    HorizonPerformance,
    calibration_document,
    compute_event_gains,
    distribution_document,
    horizon_document,
    horizon_documents,
    measure_event_subgroups,
    overall_performance,
    performance_at,
)
from autoprog.performance.event_times.pairs import can_be_scored, resampled_event_scores
from autoprog.performance.influence import MEASURES, Measure
from autoprog.performance.measures import (
    DecisionCurve,
    Performance,
    RiskDistribution,
    brier_skill,
    compute_performance,
    decision_curve,
    risk_distribution,
)
from autoprog.performance.metrics import (
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
from autoprog.performance.operating import operating_document
from autoprog.performance.resampled import bootstrap_rows
from autoprog.performance.score import ScoreEstimate, estimate_score
from autoprog.performance.stratified import observed_incidences, observed_shares
from autoprog.performance.subgroups import Subgroup, measure_subgroups, usual_subgroups

__all__ = [
    "EPSILON",
    "EVENT_METRICS",
    "MEASURES",
    "METRICS",
    "THRESHOLDS",
    "Calibration",
    "CalibrationCurve",
    "DecisionCurve",
    "Direction",
    "HorizonPerformance",
    "Measure",
    "Metric",
    "Performance",
    "RiskDistribution",
    "ScoreEstimate",
    "ScoringContext",
    "SmoothCalibration",
    "Subgroup",
    "benefit",
    "bootstrap_rows",
    "brier_skill",
    "calibration_curve",
    "calibration_document",
    "can_be_scored",
    "compute_calibration",
    "compute_event_gains",
    "compute_logit",
    "compute_performance",
    "decision_curve",
    "distribution_document",
    "estimate_score",
    "harm",
    "horizon_document",
    "horizon_documents",
    "make_event_metric",
    "make_metric",
    "measure_event_subgroups",
    "measure_subgroups",
    "measured_name",
    "metric_direction",
    "net_benefit",
    "net_benefit_of_all",
    "observed_incidences",
    "observed_shares",
    "operating_document",
    "overall_performance",
    "performance_at",
    "resampled_event_scores",
    "risk_distribution",
    "smooth_calibration",
    "usual_subgroups",
]
