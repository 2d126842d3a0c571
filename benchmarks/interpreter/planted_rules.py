"""Cohorts whose strata follow planted rules, and how many of these a list of rules finds.

X        features, normal with correlation .5^|j - k| (AR(1))                    (n, d), d = 20
A_k      planted: 2 or 3 distinct features, a side and a quantile of each at random, drawn again until 8 to 15 % of
         the patients match                                                      k = 1 .. 5
r        any of the A_k matches, one in ten turned over                          (n,)
J        Jaccard index of the patients of a planted and of a found rule; a match is J >= .8
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.interpreter import RuleSet, explain, make_strata, matching

N_FEATURES, CORRELATION, N_RULES, NOISE = 20, 0.5, 5, 0.1
SUPPORT = (0.08, 0.15)
MATCH = 0.8


@dataclass(frozen=True, eq=False)
class Planted:
    """A cohort, its risks (.9 or .1), and whom each planted rule matches, shape = (N_RULES, n)."""

    cohort: Cohort
    risks: NDArray[np.float64]
    rules: NDArray[np.bool_]


def plant(seed: int, n: int = 1_000) -> Planted:
    """Draw a cohort."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    for j in range(1, N_FEATURES):
        X[:, j] = CORRELATION * X[:, j - 1] + (1 - CORRELATION**2) ** 0.5 * X[:, j]
    rules: list[NDArray[np.bool_]] = []
    while len(rules) < N_RULES:
        length = rng.integers(2, 4)
        columns = rng.choice(N_FEATURES, length, replace=False)
        above, share = rng.random(length) < 0.5, rng.uniform(0.2, 0.7, length)
        sides = [
            X[:, j] >= np.quantile(X[:, j], 1 - p) if up else X[:, j] < np.quantile(X[:, j], p)
            for j, up, p in zip(columns, above, share, strict=True)
        ]
        matches = np.all(sides, axis=0)
        if SUPPORT[0] <= matches.mean() <= SUPPORT[1]:
            rules.append(matches)
    r = np.any(rules, axis=0) ^ (rng.random(n) < NOISE)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(N_FEATURES))
    cohort = Cohort("planted", Binary("y", "1", "0"), features, X, r.astype(np.int8))
    return Planted(cohort, np.where(r, 0.9, 0.1), np.array(rules))


def found(planted: Planted, rules: RuleSet) -> tuple[int, int, int]:
    """Planted rules that some rule of the upper stratum matches; rules that match none; rules of the upper stratum."""
    cohort = planted.cohort
    mined = [matching(rule, cohort.features, cohort.X) for rule in rules.rules if rule.stratum == "high"]
    J = np.array([[(A & B).sum() / (A | B).sum() for B in mined] for A in planted.rules]).reshape(N_RULES, -1)
    is_match = J >= MATCH
    return int(is_match.any(axis=1).sum()), int((~is_match.any(axis=0)).sum()), len(mined)


def recovered(seed: int) -> tuple[int, int, int]:
    """What `found` says of one seed."""
    planted = plant(seed)
    return found(planted, explain(planted.cohort, planted.risks, make_strata(planted.risks), seed))
