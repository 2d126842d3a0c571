"""External validation: a model's performance in other patients, and how alike these are.

References
----------
Steyerberg & Harrell 2016, Journal of Clinical Epidemiology 69:245; Collins et al. 2024, BMJ 384:e074819 (external
validation); Debray et al. 2015, Journal of Clinical Epidemiology 68:279 (how alike the patients are); McLernon et al.
2023, Annals of Internal Medicine 176:105 (of event times).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Feature
from autoprog.errors import Fault
from autoprog.model.external_cohort import check_outcome, horizon_faults, other_patients
from autoprog.model.model import PrognosticModel
from autoprog.validation import usual_subgroups

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
    endpoint = others.endpoint(thresholds)
    P = others.risks(model, endpoint.times)
    shifts = [FeatureShift.of(feature, x) for feature, x in zip(model.inputs, others.X.T, strict=True)]
    return {
        "n_patients": cohort.n_patients,
        "n_rows": cohort.n_rows,
        **endpoint.validation(P, others.causes(model), seed),
        "subgroups": endpoint.subgroups(P, names),
        "features": [asdict(shift) for shift in shifts],
        "warnings": [text for shift in shifts for text in shift.doubts],
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
