"""External validation: a model's performance in other patients, and how alike these are.

References
----------
Steyerberg & Harrell 2016, Journal of Clinical Epidemiology 69:245; Collins et al. 2024, BMJ 384:e074819 (external
validation); Debray et al. 2015, Journal of Clinical Epidemiology 68:279 (how alike the patients are); McLernon et al.
2023, Annals of Internal Medicine 176:105 (of event times).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from autoprog.cohort import Cohort
from autoprog.errors import Fault
from autoprog.evaluation import (
    EVENT_METRICS,
    ScoringContext,
    get_outcomes,
    make_event_metric,
    make_metric,
    measured_name,
)
from autoprog.model.external_cohort import ExternalCohort, check_outcome, horizon_faults, other_patients
from autoprog.model.feature_shift import FeatureShift
from autoprog.model.model import PrognosticModel
from autoprog.space import time_grid
from autoprog.validation import (
    FollowedPatients,
    calibration_curve,
    calibration_document,
    cause_documents,
    compute_calibration,
    compute_performance,
    decision_curve,
    distribution_document,
    estimate_event_score,
    estimate_score,
    horizon_documents,
    measure_event_subgroups,
    measure_subgroups,
    overall_performance,
    risk_distribution,
    usual_subgroups,
)

_SCORES = ("auc_roc", "auc_prc", "brier", "log_loss", "net_benefit")
_MIN_OF_EACH = 2


def external_validation(
    model: PrognosticModel,
    cohort: Cohort,
    thresholds: tuple[float, float],
    subgroups: Sequence[str] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure a model in another cohort.

    Parameters
    ----------
    model, cohort
        The model, and other patients with known outcomes and all of the model's features.
    thresholds : tuple of float
        Range of the net benefit.
    subgroups : sequence of str or None
        Features of the cohort to measure by; None for sex and age.
    seed : int
        Seed of the bootstrap.

    Returns
    -------
    dict
        JSON document: `n_patients`, `n_rows`, `n_events`, `expected_events`, `scores` with intervals, `calibration`,
        `subgroups`, `features`, `warnings`; without a time `performance`, `calibration_curve`, `net_benefit`,
        `risk_distribution`; with times `overall`, `d_calibration` and, at every horizon of the model, `horizons`.
        With times, events and risks are those until the last horizon.

    Raises
    ------
    InvalidInputError
        With all faults: another kind of outcome, features absent or different in unit or categories, too few patients
        with or without the outcome (at a horizon), or unknown subgroup features.
    """
    check_outcome(model, cohort, "a validation")
    faults = horizon_faults(model, cohort) if cohort.has_times else _outcome_faults(cohort)
    others = other_patients(model, cohort, [*faults, *_subgroup_faults(cohort, subgroups)])
    names = usual_subgroups(cohort.features) if subgroups is None else tuple(subgroups)
    told = (
        _of_event_times(model, others, thresholds, names, seed)
        if cohort.has_times
        else _of_outcomes(model, others, thresholds, names)
    )
    shifts = [FeatureShift.of(feature, x) for feature, x in zip(model.inputs, others.X.T, strict=True)]
    return {
        "n_patients": cohort.n_patients,
        "n_rows": cohort.n_rows,
        **told,
        "features": [asdict(shift) for shift in shifts],
        "warnings": [text for shift in shifts for text in shift.doubts],
    }


def _of_outcomes(
    model: PrognosticModel, others: ExternalCohort, thresholds: tuple[float, float], names: Sequence[str]
) -> dict[str, Any]:
    y, groups, p = others.cohort.y, others.cohort.groups, model.risks(others.table)
    scores = {
        name: estimate_score(make_metric(name, thresholds), y, p, groups, out_of_fold=False).to_json()
        for name in _SCORES
    }
    curve = calibration_curve(y, p, groups=groups)
    return {
        "n_events": int(y.sum()),
        "expected_events": float(p.sum()),
        "scores": scores,
        "performance": compute_performance(y, p, thresholds, groups).to_json(),
        "calibration": compute_calibration(y, p, groups).to_json(),
        "net_benefit": decision_curve(y, p, None, thresholds, groups).to_json(),
        "calibration_curve": None if curve is None else curve.to_json(),
        "risk_distribution": risk_distribution(y, p).to_json(),
        "subgroups": [s.to_json() for s in measure_subgroups(others.cohort, p, names)],
    }


def _of_event_times(
    model: PrognosticModel, others: ExternalCohort, thresholds: tuple[float, float], names: Sequence[str], seed: int
) -> dict[str, Any]:
    cohort = others.cohort
    follow_up, y = ScoringContext.of(cohort, time_grid(cohort)), get_outcomes(cohort)
    F = model.risks_until(others.table, follow_up.times)
    patients = FollowedPatients(y, follow_up, cohort.groups)
    scores = {
        measured_name(name, follow_up): estimate_event_score(
            make_event_metric(name, follow_up), patients, F, np.random.default_rng(seed), out_of_fold=False
        ).to_json()
        for name in EVENT_METRICS
    }
    horizons = horizon_documents(y, F, None, follow_up, thresholds, cohort.groups)
    event = model.time_to_event
    if event is not None and event.n_causes > 1:
        causes, coded = model.causes(others.table), others.outcomes_by(event.causes)
        for k, document in enumerate(horizons):
            document["causes"] = cause_documents(
                coded, causes[:, :, k], event.causes, document["horizon"], cohort.groups
            )
    found = measure_event_subgroups(cohort, F, follow_up, names)
    return {
        "n_events": int(((y["event"] == 1) & (y["time"] <= follow_up.horizons[-1])).sum()),
        "expected_events": float(F[:, -1].sum()),
        "scores": scores,
        "overall": overall_performance(y, F, follow_up),
        "d_calibration": distribution_document(y, F, follow_up),
        "calibration": calibration_document(horizons),
        "horizons": horizons,
        "subgroups": [s.to_json() for s in found],
    }


def _outcome_faults(cohort: Cohort) -> list[Fault]:
    events = int(cohort.y.sum())
    if min(events, cohort.n_rows - events) >= _MIN_OF_EACH:
        return []
    wanted = f"at least {_MIN_OF_EACH} must have it, and {_MIN_OF_EACH} not"
    of = "patients" if cohort.visits is None else "visits"
    return [Fault("/cohort_id", f"of {cohort.n_rows} {of} {events} have the outcome; {wanted}")]


def _subgroup_faults(cohort: Cohort, subgroups: Sequence[str] | None) -> list[Fault]:
    known = {feature.name for feature in cohort.features}
    return [
        Fault(f"/subgroups/{i}", f"the cohort has no feature {name!r}")
        for i, name in enumerate(subgroups or ())
        if name not in known
    ]
