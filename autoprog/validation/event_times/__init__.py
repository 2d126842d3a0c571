"""Validation of risk curves: scores with intervals, recalibration, and performance at every horizon."""

from autoprog.validation.event_times.competing import (
    CausesOfPatients,
    cause_documents,
    cross_fitted_competing,
    fit_competing,
    with_competing,
)
from autoprog.validation.event_times.corrections import correct_horizons, correct_overall, event_figures
from autoprog.validation.event_times.pairs import can_be_scored, resampled_event_scores
from autoprog.validation.event_times.performance import (
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
from autoprog.validation.event_times.recalibration import cross_fitted_events, fit_event_recalibration
from autoprog.validation.event_times.score import (
    FollowedPatients,
    corrected_event_score,
    estimate_event_score,
    n_event_resamples,
)

__all__ = [
    "CausesOfPatients",
    "FollowedPatients",
    "HorizonPerformance",
    "calibration_document",
    "can_be_scored",
    "cause_documents",
    "compute_event_gains",
    "correct_horizons",
    "correct_overall",
    "corrected_event_score",
    "cross_fitted_competing",
    "cross_fitted_events",
    "distribution_document",
    "estimate_event_score",
    "event_figures",
    "fit_competing",
    "fit_event_recalibration",
    "horizon_document",
    "horizon_documents",
    "measure_event_subgroups",
    "n_event_resamples",
    "overall_performance",
    "performance_at",
    "resampled_event_scores",
    "with_competing",
]
