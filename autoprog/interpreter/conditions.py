"""Candidate conditions on features, and the patients who satisfy them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.interpreter.clinical_cutoffs import clinical_cutoffs
from autoprog.interpreter.cuts import cuts_near
from autoprog.interpreter.rules import Condition, Operator, Rule

QUARTILES = (0.25, 0.5, 0.75)
VENTILES = tuple(k / 20 for k in range(1, 20))
_TOLERANCE = 0.1  # allowed deviation of a cut for readability, relative to the distance of two fractions

_COMPARE: dict[Operator, Callable[[NDArray[np.float64], float], NDArray[np.bool_]]] = {
    ">=": np.greater_equal,
    "<": np.less,
    "=": np.equal,
}


def candidate_conditions(
    feature: Feature, values: NDArray[np.float64], fractions: Sequence[float]
) -> Iterator[Condition]:
    """Yield the conditions on one feature: both sides of each cut, or equality with each level."""
    if feature.kind in {"binary", "categorical"}:
        yield from (Condition(feature.name, "=", level) for level in feature.levels)
        return
    for cut in _cuts(feature, values[~np.isnan(values)], fractions):
        bound = cut if feature.kind == "numeric" else feature.levels[int(np.ceil(cut))]
        yield Condition(feature.name, ">=", bound)
        yield Condition(feature.name, "<", bound)


def _cuts(feature: Feature, observed: NDArray[np.float64], fractions: Sequence[float]) -> list[float]:
    if len(observed) and feature.kind == "numeric":
        smallest, largest = observed.min(), observed.max()
        # Clinical cut-offs replace quantiles if any lies within the values.
        clinical = [cut for cut in clinical_cutoffs(feature) if smallest < cut <= largest]
        if clinical:
            return clinical
    return cuts_near(observed, fractions, _TOLERANCE * fractions[0])


def satisfies(condition: Condition, feature: Feature, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the patients who satisfy a condition, shape = (n_patients,); a missing value never does."""
    value = condition.value
    bound = float(feature.levels.index(value)) if isinstance(value, str) else value
    return _COMPARE[condition.operator](values, bound)


def all_satisfied(
    conditions: Sequence[Condition], features: Sequence[Feature], X: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Mask of the patients who satisfy all conditions, shape = (n_patients,)."""
    columns = {feature.name: (feature, X[:, j]) for j, feature in enumerate(features)}
    satisfied = np.ones(len(X), dtype=np.bool_)
    for condition in conditions:
        satisfied &= satisfies(condition, *columns[condition.feature])
    return satisfied


def matching(rule: Rule, features: Sequence[Feature], X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the patients who satisfy all conditions of a rule, shape = (n_patients,)."""
    return all_satisfied(rule.conditions, features, X)
