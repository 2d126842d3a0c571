"""Conditions on the features of a cohort: which ones a rule may be made of, and who satisfies them."""

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
_TOLERANCE = 0.1  # of the distance of two fractions: how far off a cut may lie where that makes it easier to read

_COMPARE: dict[Operator, Callable[[NDArray[np.float64], float], NDArray[np.bool_]]] = {
    ">=": np.greater_equal,
    "<": np.less,
    "=": np.equal,
}


def candidate_conditions(
    feature: Feature, values: NDArray[np.float64], fractions: Sequence[float]
) -> Iterator[Condition]:
    """Conditions on one feature: its clinical cut-offs, cuts near some quantiles, or its levels.

    Parameters
    ----------
    feature : Feature
        The column. The clinical cut-offs that its name and unit have are taken where any lies within the values.
    values : ndarray, shape = (n_patients,)
        Numbers or codes of levels; NaN is missing.
    fractions : sequence of float
        Quantiles to cut at elsewhere, evenly spaced in (0, 1).

    Yields
    ------
    Condition
        Both sides of every cut of a numeric or ordinal feature; equality with every level of the others.
    """
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
        clinical = [cut for cut in clinical_cutoffs(feature) if smallest < cut <= largest]
        if clinical:
            return clinical
    return cuts_near(observed, fractions, _TOLERANCE * fractions[0])


def satisfies(condition: Condition, feature: Feature, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Who satisfies a condition.

    Parameters
    ----------
    condition : Condition
        On this feature.
    feature : Feature
        The column.
    values : ndarray, shape = (n_patients,)
        Numbers or codes of levels; NaN is missing and satisfies nothing.

    Returns
    -------
    ndarray, shape = (n_patients,)
        bool.
    """
    value = condition.value
    bound = float(feature.levels.index(value)) if isinstance(value, str) else value
    return _COMPARE[condition.operator](values, bound)


def all_satisfied(
    conditions: Sequence[Condition], features: Sequence[Feature], X: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Who satisfies all of some conditions.

    Parameters
    ----------
    conditions : sequence of Condition
        On these features.
    features : sequence of Feature, length n_features
        The columns of `X`, in order.
    X : ndarray, shape = (n_patients, n_features)
        Numbers and codes of levels; NaN is missing.

    Returns
    -------
    ndarray, shape = (n_patients,)
        bool.
    """
    columns = {feature.name: (feature, X[:, j]) for j, feature in enumerate(features)}
    satisfied = np.ones(len(X), dtype=np.bool_)
    for condition in conditions:
        satisfied &= satisfies(condition, *columns[condition.feature])
    return satisfied


def matching(rule: Rule, features: Sequence[Feature], X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Who satisfies all conditions of a rule.

    Parameters
    ----------
    rule : Rule
        Mined on these features.
    features : sequence of Feature, length n_features
        The columns of `X`, in order.
    X : ndarray, shape = (n_patients, n_features)
        Numbers and codes of levels; NaN is missing.

    Returns
    -------
    ndarray, shape = (n_patients,)
        bool.
    """
    return all_satisfied(rule.conditions, features, X)
