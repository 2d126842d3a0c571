"""The honest score of a model: its interval, its calibration and what decisions by it are worth."""

from autoprog.validation.calibration import Calibration, Coefficient, calibration_of
from autoprog.validation.measures import MEASURES, Measure
from autoprog.validation.performance import DecisionCurve, Performance, brier_skill, decision_curve, performance_of
from autoprog.validation.recalibration import IDENTITY, Recalibration, cross_fitted, fit_recalibration
from autoprog.validation.score import ScoreEstimate, estimate_score
from autoprog.validation.selection import Patients, corrected_score, n_resamples
from autoprog.validation.smooth_calibration import SmoothCalibration, smooth_calibration
from autoprog.validation.subgroups import Subgroup, measure_subgroups, usual_subgroups

__all__ = [
    "IDENTITY",
    "MEASURES",
    "Calibration",
    "Coefficient",
    "DecisionCurve",
    "Measure",
    "Patients",
    "Performance",
    "Recalibration",
    "ScoreEstimate",
    "SmoothCalibration",
    "Subgroup",
    "brier_skill",
    "calibration_of",
    "corrected_score",
    "cross_fitted",
    "decision_curve",
    "estimate_score",
    "fit_recalibration",
    "measure_subgroups",
    "n_resamples",
    "performance_of",
    "smooth_calibration",
    "usual_subgroups",
]
