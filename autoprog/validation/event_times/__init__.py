"""Validation of risk curves: scores corrected for the choice, recalibration."""

from autoprog.validation.event_times.competing import (
    cause_documents,
    cross_fitted_competing,
    fit_competing,
    with_competing,
)
from autoprog.validation.event_times.corrections import correct_horizons, correct_overall, event_figures
from autoprog.validation.event_times.recalibration import cross_fitted_events, fit_event_recalibration
from autoprog.validation.event_times.score import (
    FollowedPatients,
    corrected_event_score,
    estimate_event_score,
    n_event_resamples,
)

__all__ = [
    "FollowedPatients",
    "cause_documents",
    "correct_horizons",
    "correct_overall",
    "corrected_event_score",
    "cross_fitted_competing",
    "cross_fitted_events",
    "estimate_event_score",
    "event_figures",
    "fit_competing",
    "fit_event_recalibration",
    "n_event_resamples",
    "with_competing",
]
