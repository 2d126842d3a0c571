"""Candidate conditions on features, and the patients who satisfy them.

Cuts of a set of values: near given quantiles, at readable numbers.

u_1 < .. < u_K   distinct observed values                        (K,)
F_k              share of patients with a value below u_k         (K,)
c                a cut: a value x lies above it when x >= c
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.interpreter.clinical_cutoffs import clinical_cutoffs
from autoprog.interpreter.rules import Condition, Operator, Rule

_MAX_DIGITS = 17  # digits of a float64
_LARGEST_EXPONENT = 308


def cuts_near(values: NDArray[np.floating], fractions: Sequence[float], tolerance: float) -> list[float]:
    """Find distinct ascending cuts with about these fractions of the values below; none if all values are equal."""
    u, counts = np.unique(values, return_counts=True)
    if len(u) < 2:
        return []
    F = np.cumsum(counts)[:-1] / len(values)  # share below u_2, .., u_K
    cuts = set()
    for fraction in fractions:
        off = np.abs(F - fraction)
        # Tied values stay on one side, so the nearest cut may lie beyond the tolerance.
        near = np.flatnonzero(off <= max(tolerance, off.min()))
        cuts.add(readable_cut(float(u[near[0]]), float(u[near[-1] + 1])))
    return sorted(cuts)


def readable_cut(below: float, above: float) -> float:
    """The number c with the fewest digits and below < c <= above; of several, the nearest to the middle."""
    middle = below / 2 + above / 2
    coarsest = min(ceil(log10(max(abs(below), abs(above)))), _LARGEST_EXPONENT)
    for exponent in range(coarsest, coarsest - _MAX_DIGITS, -1):
        step = 10.0**exponent
        if step == 0.0:
            break
        multiples = {floor(middle / step), ceil(middle / step), floor(above / step)}
        candidates = [c for m in multiples if below < (c := round(m * step, max(0, -exponent))) <= above]
        if candidates:
            return min(candidates, key=lambda c: (abs(c - middle), c))
    return above  # rounding errors leave no shorter number between the two


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
