"""A model among patients whom it has never seen: its whole performance there, and whether they are like its own.

References
----------
Steyerberg & Harrell 2016, Journal of Clinical Epidemiology 69:245; Collins et al. 2024, BMJ 384:e074819 (external
validation); Debray et al. 2015, Journal of Clinical Epidemiology 68:279 (how alike the patients are).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Binary, Cohort, Feature, align, classified
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import metric_of
from autoprog.model.model import PrognosticModel
from autoprog.validation import (
    calibration_curve,
    calibration_of,
    decision_curve,
    estimate_score,
    measure_subgroups,
    performance_of,
    risk_distribution,
    usual_subgroups,
)

_SCORES = ("auc_roc", "auc_prc", "brier", "log_loss", "net_benefit")
_LEAST_OF_EACH = 2


@dataclass(frozen=True, slots=True)
class FeatureShift:
    """One feature in the model's patients and in these.

    Attributes
    ----------
    feature : str
        Its name.
    training_range, range : tuple of (float, float) or None
        Smallest and largest value; None of a feature that is no number, and where nothing was observed.
    outside : float
        Share of the observed values that lie outside the training range, in [0, 1].
    training_missing, missing : float
        Share of patients without a value, in [0, 1].
    """

    feature: str
    training_range: tuple[float, float] | None
    range: tuple[float, float] | None
    outside: float
    training_missing: float
    missing: float


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
    model : PrognosticModel
        Fitted on other patients.
    cohort : Cohort
        Patients with known outcomes and all of the model's features.
    thresholds : tuple of float
        Range of the net benefit.
    subgroups : sequence of str or None
        Features of the cohort to measure by; None for those that tell sex and age.
    seed : int
        Of the bootstrap.

    Returns
    -------
    dict
        Ready for JSON: `n_patients`, `n_events`, `expected_events`, `scores` with intervals, `performance`,
        `calibration`, `calibration_curve`, `net_benefit`, `risk_distribution`, `subgroups`, `features`, `warnings`.

    Raises
    ------
    InvalidInputError
        If features are absent or differ in unit or categories, if fewer than two patients have, or have not, the
        outcome, or if a subgroup is named by no feature; names all faults.
    """
    faults = _outcome_faults(cohort, _LEAST_OF_EACH) + _subgroup_faults(cohort, subgroups)
    X, y = aligned(model, cohort, faults), cohort.y
    p = model.risks(X)
    names = usual_subgroups(cohort.features) if subgroups is None else subgroups
    scores = {
        name: estimate_score(metric_of(name, thresholds), y, p, np.random.default_rng(seed)).to_json()
        for name in _SCORES
    }
    for score in scores.values():
        score["method"] = "percentile interval of a bootstrap of these patients, stratified by outcome"
    curve = calibration_curve(y, p)
    shifts = [_shift(feature, x) for feature, x in zip(model.features, X.T, strict=True)]
    return {
        "n_patients": len(y),
        "n_events": int(y.sum()),
        "expected_events": float(p.sum()),
        "scores": scores,
        "performance": performance_of(y, p, thresholds).to_json(),
        "calibration": calibration_of(y, p).to_json(),
        "net_benefit": decision_curve(y, p, None, thresholds).to_json(),
        "calibration_curve": None if curve is None else curve.to_json(),
        "risk_distribution": risk_distribution(y, p).to_json(),
        "subgroups": [s.to_json() for s in measure_subgroups(cohort, p, names, np.random.default_rng(seed))],
        "features": [asdict(shift) for shift in shifts],
        "warnings": [text for shift in shifts for text in _doubts(shift)],
    }


def aligned(model: PrognosticModel, cohort: Cohort, faults: Sequence[Fault]) -> NDArray[np.float64]:
    """The cohort's matrix as the model wants it; raises with these faults and all of the cohort's own."""
    classified(cohort, "a validation or recalibration")
    if not isinstance(model.outcome, Binary):
        detail = "the model is of event times or visits; only one without a time can be measured on another cohort"
        raise InvalidInputError([Fault("", detail)])
    try:
        X = align(model.features, cohort, "/cohort_id")
    except InvalidInputError as error:
        raise InvalidInputError([*error.faults, *faults]) from None
    if faults:
        raise InvalidInputError(list(faults))
    return X


def _outcome_faults(cohort: Cohort, least: int) -> list[Fault]:
    events = int(cohort.y.sum())
    if min(events, cohort.n_patients - events) >= least:
        return []
    wanted = f"at least {least} must have it, and {least} not"
    return [Fault("/cohort_id", f"of {cohort.n_patients} patients {events} have the outcome; {wanted}")]


def _subgroup_faults(cohort: Cohort, subgroups: Sequence[str] | None) -> list[Fault]:
    known = {feature.name for feature in cohort.features}
    return [
        Fault(f"/subgroups/{i}", f"the cohort has no feature {name!r}")
        for i, name in enumerate(subgroups or ())
        if name not in known
    ]


def _shift(feature: Feature, x: NDArray[np.float64]) -> FeatureShift:
    seen = x[~np.isnan(x)]
    training = here = None
    outside = 0.0
    if feature.kind == "numeric" and len(seen):
        here = (float(seen.min()), float(seen.max()))
        if feature.minimum is not None and feature.maximum is not None:
            training = (feature.minimum, feature.maximum)
            outside = float(np.mean((seen < feature.minimum) | (seen > feature.maximum)))
    return FeatureShift(feature.name, training, here, outside, feature.missing_fraction, 1 - len(seen) / len(x))


# More than a few patients beyond what the model has learnt from, or far more of them without a value.
_MANY_OUTSIDE, _MANY_MORE_MISSING = 0.05, 0.2


def _doubts(shift: FeatureShift) -> list[str]:
    doubts = []
    if shift.outside > _MANY_OUTSIDE and shift.training_range:
        low, high = shift.training_range
        doubts.append(f"{shift.outside:.0%} of the values of {shift.feature} lie outside {low:g} to {high:g}")
    if shift.missing > shift.training_missing + _MANY_MORE_MISSING:
        doubts.append(f"{shift.feature} is missing in {shift.missing:.0%}, in training in {shift.training_missing:.0%}")
    return doubts
