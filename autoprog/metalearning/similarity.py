"""Similarity of earlier cohorts, by their meta-features.

=======  ==================================================================================  =======  ==========
symbol   meaning                                                                             shape    range
=======  ==================================================================================  =======  ==========
u, u_j   meta-features of the cohort, of earlier cohort j: shares as they are, counts by     (55,)    real
         log1p
s        spread of each over the earlier cohorts, shrunk to a typical one                    (55,)    > 0
l_j      sum_i |u_i - u_ji| / s_i, the distance to cohort j                                  (K,)     >= 0
D        typical distance of two different cohorts                                           scalar   > 0
tau      median of the l_j                                                                   scalar   >= 0
eta_j    weight of cohort j; they sum to 1                                                   (K,)     [0, 1]
n_eff    1 / sum_j eta_j^2, the effective number of cohorts                                  scalar   [1, K]
=======  ==================================================================================  =======  ==========

    eta_j = exp(-l_j / tau) / sum_k exp(-l_k / tau)

Without a spread the number of patients would decide alone. The spread of one or two cohorts is chance, so it is shrunk.

References
----------
Alaa & van der Schaar 2018, ICML, section 4.2. Their printed weights, l_j / sum_k l_k, are largest for the least similar
cohort, and 0 for an identical one. The form `printed` has them, for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.metalearning.meta_features.catalogue import META_FEATURES
from autoprog.metalearning.meta_features.computation import MetaFeatures

WeightForm = Literal["softmin", "printed"]

TYPICAL_SPREAD = {"share": 0.25, "count": 1.5}
"""Expected standard deviation of a meta-feature over cohorts, by its scale."""

SPREAD_COHORTS = 5.0
"""Weight of the expected spread, in cohorts."""

TYPICAL_DISTANCE = 2.0 / np.sqrt(np.pi)
"""Expected distance in one meta-feature: that of two draws from a standard normal distribution."""

DISTANCE_PAIRS = 10.0
"""Weight of the expected distance, in pairs of cohorts."""

_SCALES = tuple(m.scale for m in META_FEATURES)
_COUNTS = np.array([scale == "count" for scale in _SCALES])
_EXPECTED = np.array([TYPICAL_SPREAD[scale] for scale in _SCALES])


@dataclass(frozen=True, eq=False)
class Similarity:
    """Earlier cohorts as seen from one cohort.

    Attributes
    ----------
    distances : ndarray, shape = (K,)
        l, 0 for a cohort with the same meta-features.
    weights : ndarray, shape = (K,)
        eta, summing to 1.
    reach : float
        D; cohorts farther away are as different as any two are.
    """

    distances: NDArray[np.float64]
    weights: NDArray[np.float64]
    reach: float

    @property
    def similar(self) -> NDArray[np.bool_]:
        """Mask of the cohorts within reach, shape = (K,)."""
        return self.distances <= self.reach

    @property
    def n_effective(self) -> float:
        """n_eff, at least 1; 0 without earlier cohorts."""
        return float(1.0 / (self.weights**2).sum()) if len(self.weights) else 0.0

    @property
    def trust(self) -> float:
        """Trust in the weighted average of these cohorts, n / (n + 1), in [0, 1)."""
        # The agnostic prior counts as one cohort. Cohorts beyond reach count less; twice as far, a quarter.
        mean_distance = float(self.weights @ self.distances)
        nearness = 1.0 if mean_distance <= self.reach else (self.reach / mean_distance) ** 2
        n = self.n_effective * nearness
        return n / (n + 1.0)


def similarity(target: MetaFeatures, earlier: Sequence[MetaFeatures], form: WeightForm = "softmin") -> Similarity:
    """Compare a cohort with earlier ones.

    Parameters
    ----------
    target : MetaFeatures
        Meta-features of the cohort.
    earlier : sequence of MetaFeatures, length K
        Meta-features of the earlier cohorts.
    form : {"softmin", "printed"}
        Form of the weights; `printed` prefers the least similar cohort and is only for comparison.

    Returns
    -------
    Similarity
        In the order of `earlier`.
    """
    u = np.array([_comparable(m) for m in earlier]).reshape(len(earlier), len(META_FEATURES))
    s = compute_spread(u)
    distances = np.abs(u - _comparable(target)) @ (1.0 / s)
    return Similarity(distances, similarity_weights(distances, form), _reach(u / s))


def similarity_weights(distances: NDArray[np.float64], form: WeightForm = "softmin") -> NDArray[np.float64]:
    """Compute eta from the distances; if half of them or more are 0, these cohorts share all weight."""
    if not len(distances):
        return np.zeros(0)
    if form == "printed":
        total = distances.sum()
        return distances / total if total > 0 else np.full(len(distances), 1.0 / len(distances))
    tau = float(np.median(distances))
    raw = np.exp(-(distances - distances.min()) / tau) if tau > 0 else (distances == 0).astype(np.float64)
    weights: NDArray[np.float64] = raw / raw.sum()
    return weights


def compute_spread(comparable: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute s, shape = (55,), from u of the earlier cohorts, shape = (K, 55)."""
    K = len(comparable)
    squares = ((comparable - comparable.mean(axis=0)) ** 2).sum(axis=0) if K else np.zeros(len(_EXPECTED))
    pooled: NDArray[np.float64] = np.sqrt((squares + SPREAD_COHORTS * _EXPECTED**2) / (K + SPREAD_COHORTS))
    return pooled


def _comparable(m: MetaFeatures) -> NDArray[np.float64]:
    values = m.to_array()
    return np.where(_COUNTS, np.log1p(values), values)


def _reach(scaled: NDArray[np.float64]) -> float:
    """Compute D: the mean distance of two earlier cohorts, averaged with the expected one."""
    expected = TYPICAL_DISTANCE * len(_EXPECTED)
    K = len(scaled)
    # Of K sorted values x_k, the differences of all pairs sum to sum_k (2k - K + 1) x_k, k from 0.
    total = float(((2 * np.arange(K) - K + 1) @ np.sort(scaled, axis=0)).sum())
    return float((total + DISTANCE_PAIRS * expected) / (K * (K - 1) / 2 + DISTANCE_PAIRS))
