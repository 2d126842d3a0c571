"""What the rules of a cohort may be made of, and the conjunctions that they begin as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.interpreter.association import Evidence, log_prior, raises_odds
from autoprog.interpreter.bits import Words, pack, unpack
from autoprog.interpreter.conditions import QUARTILES, VENTILES, candidate_conditions, satisfies
from autoprog.interpreter.mining import Conjunctions, frequent_conjunctions
from autoprog.interpreter.rules import Condition
from autoprog.interpreter.selection import MIN_ODDS_RATIO, Conjunction

_MAX_MINED = 300  # conditions; the cost of mining grows with its cube
_MAX_CONDITIONS = 1_500  # to refine by; the cost of refining grows with them
_MAX_STARTS = 10_000  # conjunctions of a stratum that selection looks at


@dataclass(frozen=True, eq=False)
class Candidates:
    """Conditions that rules may be made of, and conjunctions of them.

    Attributes
    ----------
    conditions : tuple of Condition, length n_conditions
        In the order of the features.
    B : ndarray, shape = (n_conditions, w)
        Who satisfies what, packed.
    conjunctions : Conjunctions
        Mined, of some of the conditions.
    mined : ndarray, shape = (n_mined,)
        Indices of those.
    min_count : int
        Fewest patients that a conjunction matches.
    """

    conditions: tuple[Condition, ...]
    B: Words
    conjunctions: Conjunctions
    mined: NDArray[np.intp]
    min_count: int

    @classmethod
    def of(
        cls, features: Sequence[Feature], X: NDArray[np.float64], r: NDArray[np.integer], n_strata: int, min_count: int
    ) -> Candidates:
        """Mine a cohort.

        Parameters
        ----------
        features : sequence of Feature, length n_features
            The columns of `X`.
        X : ndarray, shape = (n_patients, n_features)
            Numbers and codes of levels; NaN is missing.
        r : ndarray, shape = (n_patients,)
            Strata of the patients, in 0 .. n_strata - 1.
        n_strata : int
            Number of strata.
        min_count : int
            Fewest patients that a conjunction must match, at least 1.

        Returns
        -------
        Candidates
            Of many conditions those that tell most of any stratum by themselves.
        """
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
        """The conjunctions that raise the odds of a stratum, best first, and of like ones the best alone.

        Two are alike that bound the same features in the same direction: they differ in where they cut, and refining
        finds the cut.

        Parameters
        ----------
        stratum : int
            Its index.
        n, n_r : int
            All patients, and those in the stratum, 0 < n_r < n.

        Returns
        -------
        list of tuple of int
            Indices of conditions.
        """
        n_A, n_Ar = self.conjunctions.counts.sum(axis=1), self.conjunctions.counts[:, stratum]
        rising = np.flatnonzero(raises_odds(n_A, n_Ar, n_r / n, MIN_ODDS_RATIO))
        if len(rising) == 0:
            return []
        score = Evidence(n, n_r)(n_A[rising], n_Ar[rising])
        score += log_prior(len(self.conditions))[self.conjunctions.lengths[rising]]
        members = self.conjunctions.members[rising][np.argsort(-score, kind="stable")]
        _, first = np.unique(self._directions(members), axis=0, return_index=True)
        best = members[np.sort(first)[:_MAX_STARTS]]
        return [tuple(sorted(int(self.mined[m]) for m in row if m >= 0)) for row in best]

    def _directions(self, members: NDArray[np.integer]) -> NDArray[np.integer]:
        """What each member bounds, and in which direction; the same numbers for alike conjunctions."""
        codes: dict[object, int] = {}
        of = [
            codes.setdefault((c.feature, c.operator, c.value if c.operator == "=" else None), len(codes))
            for c in (self.conditions[i] for i in self.mined)
        ]
        return np.sort(np.append(np.array(of, dtype=np.int64), -1)[members], axis=1)


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
    """Conditions with the most evidence by themselves, in the order of the features, and who satisfies them."""
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
