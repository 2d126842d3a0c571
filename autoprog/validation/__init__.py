"""The honest score of a model: its interval and its calibration."""

from autoprog.validation.calibration import Calibration, Coefficient, calibration_of
from autoprog.validation.recalibration import IDENTITY, Recalibration, cross_fitted, fit_recalibration
from autoprog.validation.score import ScoreEstimate, estimate_score

__all__ = [
    "IDENTITY",
    "Calibration",
    "Coefficient",
    "Recalibration",
    "ScoreEstimate",
    "calibration_of",
    "cross_fitted",
    "estimate_score",
    "fit_recalibration",
]
