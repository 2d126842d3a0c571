"""Candidate conditions of a cohort's rules, and the conjunctions that rules begin as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.interpreter.conditions import QUARTILES, VENTILES, candidate_conditions, satisfies
from autoprog.interpreter.mining import (
    Conjunctions,
    Evidence,
    Words,
    frequent_conjunctions,
    log_prior,
    pack,
    raises_odds,
    unpack,
)
from autoprog.interpreter.rules import Condition
from autoprog.interpreter.selection import MIN_ODDS_RATIO, Conjunction

_MAX_MINED = 300  # conditions to mine; the cost grows with their cube
_MAX_CONDITIONS = 1_500  # conditions to refine rules with; the cost grows with their number
_MAX_STARTS = 10_000  # conjunctions of a stratum that selection considers


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate conditions, and mined conjunctions of them."""

    conditions: tuple[Condition, ...]  # in the order of the features
    B: Words  # patients who satisfy each condition, shape = (n_conditions, w)
    conjunctions: Conjunctions  # of the mined conditions
    mined: NDArray[np.intp]  # indices of the mined conditions, shape = (n_mined,)
    min_count: int  # fewest patients that a conjunction matches

    @classmethod
    def of(
        cls, features: Sequence[Feature], X: NDArray[np.float64], r: NDArray[np.integer], n_strata: int, min_count: int
    ) -> Candidates:
        """Mine a cohort; of many conditions keep those with the most evidence by themselves."""
        coarse, columns = _screened(features, X, r, n_strata, min_count, fractions=QUARTILES, most=_MAX_MINED)
        fine, _ = _screened(features, X, r, n_strata, min_count, fractions=VENTILES, most=_MAX_CONDITIONS)
        place = {feature.name: j for j, feature in enumerate(features)}
        table = sorted({*coarse, *fine}, key=lambda c: (place[c.feature], c.operator, c.value))
        index = {condition: i for i, condition in enumerate(table)}
        B = np.empty((len(table), len(pack(np.zeros(len(r), dtype=np.bool_)))), dtype=np.uint64)
        for i, condition in enumerate(table):
            j = place[condition.feature]
            B[i] = pack(satisfies(condition, features[j], X[:, j]))
        conjunctions = frequent_conjunctions(columns, r, n_strata, min_count)
        return cls(tuple(table), B, conjunctions, np.array([index[c] for c in coarse], dtype=np.intp), min_count)

    def starts(self, stratum: int, n: int, n_r: int) -> list[Conjunction]:
        """List the conjunctions that raise the odds of a stratum, best first, with only the best of similar ones."""
        n_A, n_Ar = self.conjunctions.counts.sum(axis=1), self.conjunctions.counts[:, stratum]
        rising = np.flatnonzero(raises_odds(n_A, n_Ar, n_r / n, MIN_ODDS_RATIO))
        if len(rising) == 0:
            return []
        score = Evidence(n, n_r)(n_A[rising], n_Ar[rising])
        score += log_prior(len(self.conditions))[self.conjunctions.lengths[rising]]
        members = self.conjunctions.members[rising][np.argsort(-score, kind="stable")]
        # Conjunctions that bound the same features in the same directions differ only in their cuts; refining finds
        # the cuts.
        _, first = np.unique(self._directions(members), return_index=True)
        best = members[np.sort(first)[:_MAX_STARTS]]
        return [tuple(sorted(int(self.mined[m]) for m in row if m >= 0)) for row in best]

    def _directions(self, members: NDArray[np.integer]) -> NDArray[np.integer]:
        """Number the features and directions of each conjunction; similar ones have equal numbers."""
        codes: dict[object, int] = {}
        of = [
            codes.setdefault((c.feature, c.operator, c.value if c.operator == "=" else None), len(codes))
            for c in (self.conditions[i] for i in self.mined)
        ]
        digits = np.sort(np.append(np.array(of, dtype=np.int64), -1)[members], axis=1) + 1
        numbers: NDArray[np.integer] = digits @ (len(codes) + 1) ** np.arange(digits.shape[1])
        return numbers


def _screened(
    features: Sequence[Feature],
    X: NDArray[np.float64],
    r: NDArray[np.integer],
    n_strata: int,
    min_count: int,
    *,
    fractions: Sequence[float],
    most: int,
) -> tuple[list[Condition], NDArray[np.bool_]]:
    """Select the conditions with the most evidence by themselves, in the order of the features, with their masks."""
    conditions, columns, scores = [], [], []
    in_strata = np.bincount(r, minlength=n_strata)
    evidence = {k: Evidence(len(r), int(n_r)) for k, n_r in enumerate(in_strata) if 0 < n_r < len(r)}
    for j, feature in enumerate(features):
        for condition in candidate_conditions(feature, X[:, j], fractions):
            column = satisfies(condition, feature, X[:, j])
            n_A = int(np.count_nonzero(column))
            if min_count <= n_A < len(r):
                counts = np.bincount(r[column], minlength=n_strata)
                conditions.append(condition)
                columns.append(pack(column))
                scores.append(max((float(E(n_A, int(counts[k]))) for k, E in evidence.items()), default=0.0))
    kept = np.sort(np.argsort(-np.array(scores), kind="stable")[:most])
    masks = unpack(np.array([columns[i] for i in kept]), len(r)).T if len(kept) else np.empty((len(r), 0), np.bool_)
    return [conditions[i] for i in kept], masks
