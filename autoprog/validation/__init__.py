"""The honest score of a model: its interval and its calibration."""

from autoprog.validation.calibration import Calibration, Coefficient, calibration_of
from autoprog.validation.score import ScoreEstimate, estimate_score

__all__ = ["Calibration", "Coefficient", "ScoreEstimate", "calibration_of", "estimate_score"]
