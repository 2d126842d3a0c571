"""The honest score of a model: its interval, its calibration and what decisions by it are worth."""

from autoprog.validation.bootstrap import bootstrap_rows
from autoprog.validation.calibration import Calibration, Coefficient, calibration_of
from autoprog.validation.estimate import Estimate
from autoprog.validation.event_times import (
    FollowedPatients,
    calibration_document,
    can_be_scored,
    corrected_event_score,
    cross_fitted_events,
    distribution_document,
    estimate_event_score,
    fit_event_recalibration,
    horizon_documents,
    measure_event_subgroups,
    n_event_resamples,
    overall_performance,
)
from autoprog.validation.instability import Instability, instability_of
from autoprog.validation.measures import MEASURES, Measure
from autoprog.validation.patient_intervals import (
    INTERVAL_LEVEL,
    LEAST_REFITS,
    PatientIntervals,
    Refit,
    fit_patient_intervals,
)
from autoprog.validation.performance import (
    DecisionCurve,
    Performance,
    brier_skill,
    decision_curve,
    gains_of,
    performance_of,
)
from autoprog.validation.recalibration import (
    IDENTITY,
    PRIOR_PRECISION,
    Recalibration,
    cross_fitted,
    delivered_slope,
    fit_recalibration,
    recalibration_covariance,
    shrunk_recalibration,
)
from autoprog.validation.risk_distribution import RiskDistribution, risk_distribution
from autoprog.validation.score import ScoreEstimate, estimate_score
from autoprog.validation.selection import Patients, Stop, Weighing, corrected_score, n_resamples, never
from autoprog.validation.smooth_calibration import (
    CalibrationCurve,
    SmoothCalibration,
    calibration_curve,
    smooth_calibration,
)
from autoprog.validation.subgroups import Subgroup, measure_subgroups, usual_subgroups

__all__ = [
    "IDENTITY",
    "INTERVAL_LEVEL",
    "LEAST_REFITS",
    "MEASURES",
    "PRIOR_PRECISION",
    "Calibration",
    "CalibrationCurve",
    "Coefficient",
    "DecisionCurve",
    "Estimate",
    "FollowedPatients",
    "Instability",
    "Measure",
    "PatientIntervals",
    "Patients",
    "Performance",
    "Recalibration",
    "Refit",
    "RiskDistribution",
    "ScoreEstimate",
    "SmoothCalibration",
    "Stop",
    "Subgroup",
    "Weighing",
    "bootstrap_rows",
    "brier_skill",
    "calibration_curve",
    "calibration_document",
    "calibration_of",
    "can_be_scored",
    "corrected_event_score",
    "corrected_score",
    "cross_fitted",
    "cross_fitted_events",
    "decision_curve",
    "delivered_slope",
    "distribution_document",
    "estimate_event_score",
    "estimate_score",
    "fit_event_recalibration",
    "fit_patient_intervals",
    "fit_recalibration",
    "gains_of",
    "horizon_documents",
    "instability_of",
    "measure_event_subgroups",
    "measure_subgroups",
    "n_event_resamples",
    "n_resamples",
    "never",
    "overall_performance",
    "performance_of",
    "recalibration_covariance",
    "risk_distribution",
    "shrunk_recalibration",
    "smooth_calibration",
    "usual_subgroups",
]
