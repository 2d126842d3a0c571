"""Survival analysis on arrays, with censoring and competing causes: estimates, measures and regressions."""

from autoprog.survival.aalen_johansen import AalenJohansen, aalen_johansen
from autoprog.survival.auc import cumulative_dynamic_auc
from autoprog.survival.brier import brier_score, integrated_brier, mean_over_grid, scaled_brier
from autoprog.survival.calibration import Calibration, DCalibration, calibration_at, d_calibration
from autoprog.survival.calibration_curve import (
    CalibrationCurve,
    CalibrationGroups,
    calibration_curve,
    calibration_groups,
    curve_distances,
    curve_reach,
    spline_columns,
    spline_knots,
)
from autoprog.survival.clusters import sandwich, summed_by_group
from autoprog.survival.concordance import (
    Concordance,
    cause_specific_c,
    harrell_c,
    subdistribution_c,
    uno_c,
    wolbers_c,
)
from autoprog.survival.estimates import Estimates, Interval, grouped_quantile
from autoprog.survival.kaplan_meier import KaplanMeier, censoring_survival, ipcw_weights, kaplan_meier
from autoprog.survival.net_benefit import net_benefit, net_benefit_of_all
from autoprog.survival.outcomes import (
    ConvergenceError,
    HorizonError,
    NoEventError,
    NoPairError,
    OutcomeError,
    SurvivalError,
    check_horizons,
    check_outcomes,
    largest_horizon,
)
from autoprog.survival.proportional_hazards import (
    ProportionalHazards,
    bounded_incidence,
    cause_specific_incidence,
    fit_cox,
    fit_fine_gray,
    rescale_causes,
)
from autoprog.survival.pseudo_values import pseudo_values
from autoprog.survival.step import StepFunction

__all__ = [
    "AalenJohansen",
    "Calibration",
    "CalibrationCurve",
    "CalibrationGroups",
    "Concordance",
    "ConvergenceError",
    "DCalibration",
    "Estimates",
    "HorizonError",
    "Interval",
    "KaplanMeier",
    "NoEventError",
    "NoPairError",
    "OutcomeError",
    "ProportionalHazards",
    "StepFunction",
    "SurvivalError",
    "aalen_johansen",
    "bounded_incidence",
    "brier_score",
    "calibration_at",
    "calibration_curve",
    "calibration_groups",
    "cause_specific_c",
    "cause_specific_incidence",
    "censoring_survival",
    "check_horizons",
    "check_outcomes",
    "cumulative_dynamic_auc",
    "curve_distances",
    "curve_reach",
    "d_calibration",
    "fit_cox",
    "fit_fine_gray",
    "grouped_quantile",
    "harrell_c",
    "integrated_brier",
    "ipcw_weights",
    "kaplan_meier",
    "largest_horizon",
    "mean_over_grid",
    "net_benefit",
    "net_benefit_of_all",
    "pseudo_values",
    "rescale_causes",
    "sandwich",
    "scaled_brier",
    "spline_columns",
    "spline_knots",
    "subdistribution_c",
    "summed_by_group",
    "uno_c",
    "wolbers_c",
]
