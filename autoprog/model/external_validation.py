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

from autoprog.cohort import Cohort, Feature, Outcome, align, units_differ, windowed
from autoprog.endpoints import CauseRisks, Endpoint, make_endpoint
from autoprog.errors import Fault, InvalidInputError
from autoprog.model.model import PrognosticModel
from autoprog.model.prediction import Table, build_prediction
from autoprog.model.training_overlap import compare_with_training
from autoprog.performance import THRESHOLDS, usual_subgroups

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
        return make_endpoint(self.cohort, self.cohort.time_grid, thresholds)

    def risks(self, model: PrognosticModel, times: Sequence[float]) -> NDArray[np.float64]:
        """The model's risks until some times, shape = (n_rows, n_times), or (n_rows,) where there are none."""
        return build_prediction(model, self.table, times).risks

    def causes(self, model: PrognosticModel) -> CauseRisks | None:
        """Risks of the model's causes, and the outcomes in its codes; None where nothing competes."""
        # The cohort's event of interest stands for the model's, whatever its value; a cause that the model does not
        # know has the code after its last.
        if model.outcome.target.n_causes == 1:
            return None
        names, others = model.outcome.target.causes, self.cohort.target.causes[1:]
        known = [names.index(name, 1) + 1 if name in names[1:] else len(names) + 1 for name in others]
        y = self.cohort.outcomes.copy()
        y["event"] = np.array([0, 1, *known])[y["event"]]
        return CauseRisks(model.causes(self.table), y, names)


def check_outcome(models: Sequence[PrognosticModel], cohort: Cohort, use: str) -> None:
    """Refuse a cohort whose outcome is of another kind than a model's, or has times in another unit."""
    details = dict.fromkeys(detail for model in models for detail in _outcome_faults(model.outcome, cohort, use))
    if details:
        raise InvalidInputError([Fault(_POINTER, detail) for detail in details])


def _outcome_faults(wanted: Outcome, cohort: Cohort, use: str) -> list[str]:
    here = cohort.outcome
    if here.mode != wanted.mode:
        return [f"{use} of this model takes a cohort of mode {wanted.mode}; this one is of mode {here.mode}"]
    if type(here.target) is not type(wanted.target):
        of_model, of_cohort = wanted.target.plural, here.target.plural
        return [f"{use} of this model takes visits with {of_model}; those of this cohort have {of_cohort}"]
    if units_differ(here.time_unit, wanted.time_unit):
        return [f"the times are in {here.time_unit} here and in {wanted.time_unit} in the model"]
    return []


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
    cohort = replace(cohort, outcome=cohort.outcome.until(model.horizons))
    X = aligned[: cohort.n_rows]
    if model.windows is None:
        return ExternalCohort(cohort, X, X)
    visits = cohort.visits
    if visits is not None and earlier is not None:
        visits = replace(visits, earlier=replace(earlier, X=aligned[cohort.n_rows :]))
    taken = replace(cohort, features=model.inputs, X=X, visits=visits)
    return ExternalCohort(cohort, X, {w: windowed(taken, w, model.windows).X for w in model.window_lengths})


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
        With all faults: another kind of outcome or unit of times, features absent or different in unit or categories,
        too few patients with or without the outcome (at a horizon), or unknown subgroup features.
    """
    check_outcome([model], cohort, "a validation")
    faults = [*outcome_faults(model.horizons, cohort), *_subgroup_faults(cohort, subgroups)]
    others = other_patients(model, cohort, faults)
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


def outcome_faults(horizons: Sequence[float], cohort: Cohort) -> list[Fault]:
    """Faults of a cohort with too few outcomes, or too short a follow-up, for a model's horizons."""
    return [Fault(_POINTER, detail) for detail in make_endpoint(cohort).validation_faults(horizons)]


def _subgroup_faults(cohort: Cohort, subgroups: Sequence[str] | None) -> list[Fault]:
    known = {feature.name for feature in cohort.features}
    return [
        Fault(f"/subgroups/{i}", f"the cohort has no feature {name!r}")
        for i, name in enumerate(subgroups or ())
        if name not in known
    ]
