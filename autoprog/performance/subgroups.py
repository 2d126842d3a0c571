"""Performance by subgroup: by sex, age or any other feature (Collins et al. 2024, BMJ 385:e078378, TRIPOD+AI item 23).

Small subgroups are counted but not measured; the smallest are not even counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Feature
from autoprog.performance.calibration import expected_observed
from autoprog.performance.metrics import METRICS
from autoprog.performance.score import estimate_score_interval, n_rarer
from autoprog.survival import Interval

MIN_COUNTED = 10  # patients; the count of fewer could identify them
MIN_OF_EACH = 10  # patients with, and without, the outcome
MIN_GROUPS = 2  # groups of patients with, and without, the outcome

_SEX, _AGE = {"sex", "gender", "male", "female"}, {"age", "age_years", "age_at_baseline"}
_BANDS = (40.0, 65.0, 80.0)


@dataclass(frozen=True, slots=True)
class Subgroup:
    """Subgroup of the patients, with its performance."""

    feature: str
    label: str  # value of the feature that the patients share
    n: int | None  # patients or visits; None, as `events`, for fewer than `MIN_COUNTED` patients
    events: int | None
    # None for fewer than `MIN_OF_EACH` patients, or `MIN_GROUPS` groups, with or without the outcome. `auc_roc` is for
    # outcomes without a time. For those with a time there is `auc`, and all are until the last horizon.
    auc_roc: Interval | None = None
    auc: Interval | None = None
    brier: Interval | None = None
    expected_observed: Interval | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON document."""
        return asdict(self)


def usual_subgroups(features: Sequence[Feature]) -> tuple[str, ...]:
    """Names of the features that are sex or age, recognised by their usual names."""
    return tuple(f.name for f in features if f.name.strip().lower() in _SEX | _AGE)


def measure_subgroups(cohort: Cohort, p: NDArray[np.floating], names: Sequence[str]) -> tuple[Subgroup, ...]:
    """Measure risks in every subgroup of some features.

    Parameters
    ----------
    cohort : Cohort
        The patients.
    p : ndarray, shape = (n_patients,)
        Their risks in [0, 1], by models that were not fitted on them.
    names : sequence of str
        Features. Subgroups are levels, age cut at 40, 65 and 80 years, thirds of other numbers, and missing values.

    Returns
    -------
    tuple of Subgroup
        Feature by feature.
    """
    columns = {feature.name: j for j, feature in enumerate(cohort.features)}
    found = []
    for name in names:
        for label, rows in split_by_feature(cohort.features[columns[name]], cohort.X[:, columns[name]]):
            groups = None if cohort.groups is None else cohort.groups[rows]
            risks = np.asarray(p, dtype=np.float64)[rows]
            found.append(_measured(name, label, cohort.y[rows], risks, cohort.patient[rows], groups))
    return tuple(found)


def split_by_feature(feature: Feature, x: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the label and the rows (boolean mask, never empty) of each subgroup of a feature."""
    if feature.levels:
        yield from ((level, x == code) for code, level in enumerate(feature.levels) if (x == code).any())
    else:
        is_age = feature.name.strip().lower() in _AGE
        # Cuts that are values of patients, whose digits are those of the file.
        cuts = _BANDS if is_age else np.unique(np.nanquantile(x, [1 / 3, 2 / 3], method="higher")).tolist()
        edges = [-np.inf, *cuts, np.inf]
        for low, high in pairwise(edges):
            rows = (x >= low) & (x < high)
            if rows.any():
                yield _band(low, high), rows
    if np.isnan(x).any():
        yield "missing", np.isnan(x)


def _band(low: float, high: float) -> str:
    first, last = (f"{end:.12g}" for end in (low, high))  # as rules write their cuts
    if np.isinf(low):
        return "all" if np.isinf(high) else f"below {last}"
    return f"{first} and above" if np.isinf(high) else f"{first} to below {last}"


def _measured(
    feature: str,
    label: str,
    y: NDArray[np.integer],
    p: NDArray[np.float64],
    patient: NDArray[np.integer],
    groups: NDArray[np.integer] | None,
) -> Subgroup:
    n, events = len(y), int(y.sum())
    if len(np.unique(patient)) < MIN_COUNTED:
        return Subgroup(feature, label, None, None)
    if n_rarer(y, patient) < MIN_OF_EACH or n_rarer(y, groups) < MIN_GROUPS:
        return Subgroup(feature, label, n, events)
    auc, brier = (estimate_score_interval(METRICS[name], y, p, groups) for name in ("auc_roc", "brier"))
    return Subgroup(
        feature, label, n, events, auc_roc=auc, brier=brier, expected_observed=expected_observed(y, p, groups)
    )
