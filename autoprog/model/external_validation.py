"""A model in another cohort: the cohort in its form, its performance there, how alike the patients are.

References
----------
Steyerberg & Harrell 2016, Journal of Clinical Epidemiology 69:245; Collins et al. 2024, BMJ 384:e074819 (external
validation); Debray et al. 2015, Journal of Clinical Epidemiology 68:279 (how alike the patients are); McLernon et al.
2023, Annals of Internal Medicine 176:105 (of event times).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Feature, Visits, align, windowed
from autoprog.cohort.follow_up import horizon_fault
from autoprog.endpoints import CauseRisks, Endpoint, make_endpoint
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import THRESHOLDS, get_outcomes
from autoprog.model.model import PrognosticModel
from autoprog.model.prediction import Table, build_prediction
from autoprog.model.training_overlap import compare_with_training
from autoprog.space import time_grid
from autoprog.validation import usual_subgroups

_POINTER = "/cohort_id"


@dataclass(frozen=True, eq=False)
class ExternalCohort:
    """Patients, or visits, with known outcomes and the model's features."""

    cohort: Cohort  # unchanged, but with the model's horizons if the outcome has a time
    X: NDArray[np.float64]  # the model's inputs in its order and coding, (n_rows, n_inputs)
    table: Table  # as `PrognosticModel.risks` takes it

    @property
    def windowed(self) -> NDArray[np.float64]:
        """Values of the model's features, shape = (n_rows, n_features); for visits in the longest window."""
        return self.table if isinstance(self.table, np.ndarray) else self.table[max(self.table)]

    def endpoint(self, thresholds: tuple[float, float] = THRESHOLDS) -> Endpoint:
        """The outcome, with a grid of times where it has some."""
        return make_endpoint(self.cohort, time_grid(self.cohort) if self.cohort.has_times else (), thresholds)

    def risks(self, model: PrognosticModel, times: Sequence[float]) -> NDArray[np.float64]:
        """The model's risks until some times, shape = (n_rows, n_times), or (n_rows,) where there are none."""
        return build_prediction(model, self.table, times or None).risks

    def causes(self, model: PrognosticModel) -> CauseRisks | None:
        """Risks of the model's causes, and the outcomes in its codes; None where nothing competes."""
        # The cohort's event of interest stands for the model's, whatever its value; a cause that the model does not
        # know has the code after its last.
        event = model.time_to_event
        if event is None or event.n_causes == 1:
            return None
        names, here = event.causes, self.cohort.time_to_event
        others = () if here is None else here.causes[1:]
        known = [names.index(name, 1) + 1 if name in names[1:] else len(names) + 1 for name in others]
        y = get_outcomes(self.cohort).copy()
        y["event"] = np.array([0, 1, *known])[y["event"]]
        return CauseRisks(model.causes(self.table), y, tuple(names))


def check_outcome(model: PrognosticModel, cohort: Cohort, use: str) -> None:
    """Refuse a cohort of another mode, or one with labels where the model has times, or the reverse, at the visits."""
    if cohort.mode != (mode := _mode(model)):
        detail = f"{use} of this model takes a cohort of mode {mode}; this one is of mode {cohort.mode}"
    elif cohort.has_times != bool(model.horizons):
        kinds = ("labels", "times to an event")
        here, wanted = kinds[cohort.has_times], kinds[bool(model.horizons)]
        detail = f"{use} of this model takes visits with {wanted}; those of this cohort have {here}"
    else:
        return
    raise InvalidInputError([Fault(_POINTER, detail)])


def horizon_faults(horizons: Sequence[float], cohort: Cohort) -> list[Fault]:
    """Faults for horizons of a model beyond the cohort's follow-up; with visits a patient counts once."""
    if cohort.time is None:
        return []
    followed, events = cohort.time, cohort.time[cohort.y == 1]
    if cohort.visits is not None:
        patient = np.unique(cohort.visits.patient, return_inverse=True)[1]
        followed, events = np.full((2, cohort.n_patients), [[0.0], [np.inf]])
        np.maximum.at(followed, patient, cohort.time)
        np.minimum.at(events, patient[cohort.y == 1], cohort.time[cohort.y == 1])
        events = events[np.isfinite(events)]
    reasons = (horizon_fault(h, followed, events) for h in horizons)
    return [Fault(_POINTER, f"the model's horizon {reason}") for reason in reasons if reason]


def other_patients(model: PrognosticModel, cohort: Cohort, faults: Sequence[Fault]) -> ExternalCohort:
    """Align a cohort with a model; InvalidInputError has the given faults and every absent or different feature."""
    earlier = None if cohort.visits is None else cohort.visits.earlier
    cells = cohort.X if earlier is None else np.concatenate([cohort.X, earlier.X])
    try:
        aligned = align(model.inputs, cohort.features, cells, _POINTER)
    except InvalidInputError as error:
        raise InvalidInputError([*error.faults, *faults]) from None
    if faults:
        raise InvalidInputError(list(faults))
    outcome = cohort.outcome
    if cohort.time_to_event is not None:
        event = replace(cohort.time_to_event, horizons=model.horizons)
        outcome = replace(outcome, of=event) if isinstance(outcome, Visits) else event
    cohort = replace(cohort, outcome=outcome)
    X = aligned[: cohort.n_rows]
    if model.windows is None:
        return ExternalCohort(cohort, X, X)
    visits = cohort.visits
    if visits is not None and earlier is not None:
        visits = replace(visits, earlier=replace(earlier, X=aligned[cohort.n_rows :]))
    taken = replace(cohort, features=model.inputs, X=X, visits=visits)
    lengths = sorted({member.window or 1 for member in model.members})
    return ExternalCohort(cohort, X, {w: windowed(taken, w, model.windows).X for w in lengths})


def _mode(model: PrognosticModel) -> str:
    if isinstance(model.outcome, Visits):
        return "temporal"
    return "survival" if model.horizons else "classification"


# Shares above which to warn: values outside the training range, and additional missing values.
_MANY_OUTSIDE, _MANY_MORE_MISSING = 0.05, 0.2


@dataclass(frozen=True, slots=True)
class FeatureShift:
    """One feature in the model's patients and in others."""

    feature: str
    training_range: tuple[float, float] | None  # None if the feature is no number, or nothing was observed
    range: tuple[float, float] | None
    outside: float  # share of the observed values outside the training range
    training_missing: float  # share of rows without a value
    missing: float

    @classmethod
    def of(cls, feature: Feature, x: NDArray[np.float64]) -> FeatureShift:
        """Compare a model's feature with other patients' values x, in which NaN is missing."""
        seen = x[~np.isnan(x)]
        training = here = None
        outside = 0.0
        if feature.kind == "numeric" and len(seen):
            here = (float(seen.min()), float(seen.max()))
            if feature.minimum is not None and feature.maximum is not None:
                training = (feature.minimum, feature.maximum)
                outside = float(np.mean((seen < feature.minimum) | (seen > feature.maximum)))
        return cls(feature.name, training, here, outside, feature.missing_fraction, 1 - len(seen) / len(x))

    @property
    def doubts(self) -> list[str]:
        """Warnings as text."""
        doubts = []
        if self.outside > _MANY_OUTSIDE and self.training_range:
            low, high = self.training_range
            doubts.append(f"{self.outside:.0%} of the values of {self.feature} lie outside {low:g} to {high:g}")
        if self.missing > self.training_missing + _MANY_MORE_MISSING:
            before = f"{self.training_missing:.0%}"
            doubts.append(f"{self.feature} is missing in {self.missing:.0%}, in training in {before}")
        return doubts


_MIN_OF_EACH = 2


def external_validation(
    model: PrognosticModel,
    cohort: Cohort,
    thresholds: tuple[float, float],
    subgroups: Sequence[str] | None = None,
    seed: int = 0,
    training: Sequence[Cohort] = (),
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
    training : sequence of Cohort
        Cohorts that the model was fitted on or recalibrated to, to warn if the patients are the same.

    Returns
    -------
    dict
        JSON document: `n_patients`, `n_rows`, `n_events`, `expected_events`, `scores` with intervals, `calibration`,
        `subgroups`, `features`, `warnings`, `training_share`, `is_training_cohort`; without a time `performance`,
        `calibration_curve`, `net_benefit`, `risk_distribution`; with times `overall`, `d_calibration` and, at every
        horizon of the model, `horizons`. With times, events and risks are those until the last horizon.

    Raises
    ------
    InvalidInputError
        With all faults: another kind of outcome, features absent or different in unit or categories, too few patients
        with or without the outcome (at a horizon), or unknown subgroup features.
    """
    check_outcome(model, cohort, "a validation")
    faults = horizon_faults(model.horizons, cohort) if cohort.has_times else outcome_faults(cohort)
    others = other_patients(model, cohort, [*faults, *_subgroup_faults(cohort, subgroups)])
    names = usual_subgroups(cohort.features) if subgroups is None else tuple(subgroups)
    endpoint = others.endpoint(thresholds)
    P = others.risks(model, endpoint.times)
    shifts = [FeatureShift.of(feature, x) for feature, x in zip(model.inputs, others.X.T, strict=True)]
    same = compare_with_training(model.metadata, cohort, training)
    return {
        "n_patients": cohort.n_patients,
        "n_rows": cohort.n_rows,
        **endpoint.validation(P, others.causes(model), seed),
        "subgroups": endpoint.subgroups(P, names),
        "features": [asdict(shift) for shift in shifts],
        "warnings": [*same.warnings, *(text for shift in shifts for text in shift.doubts)],
        "training_share": same.share,
        "is_training_cohort": same.is_training,
    }


def outcome_faults(cohort: Cohort) -> list[Fault]:
    """Faults of a cohort with too few patients with or without the outcome."""
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
