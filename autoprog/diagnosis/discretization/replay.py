"""Many simulated runs of a bandit at once, to compare forms and rates.

    m         mean gain of every arm                                   (K,)
    R, T      runs, rounds
    regret    sum_t max_k m_k - m_{B_t}                                (R,)

Symbols of the bandit as in `autoprog.diagnosis.discretization.weights`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.discretization.options import BanditOptions
from autoprog.diagnosis.discretization.weights import bandit_scores, drawn, probabilities


@dataclass(frozen=True, eq=False)
class Runs:
    """Result of simulated runs."""

    regret: NDArray[np.float64]  # pseudo-regret at the end, shape (R,)
    probabilities: NDArray[np.float64]  # of the next draw at the end, without the mixing, shape (R, K)

    def stuck(self, m: NDArray[np.float64]) -> int:
        """Number of runs that end by drawing a suboptimal arm at least nine times in ten."""
        wrong = np.delete(self.probabilities, int(np.argmax(m)), axis=1)
        return int((wrong.max(axis=1) >= 0.9).sum())


def simulate(m: NDArray[np.float64], options: BanditOptions, rounds: int, runs: int, rng: np.random.Generator) -> Runs:
    """Run a bandit R times for T rounds against independent Bernoulli gains of means m (K,), in [0, 1]."""
    K = len(m)
    S = np.zeros((runs, K))
    played = np.zeros((runs, K), dtype=np.int64)
    each = np.arange(runs)
    for n in range(rounds):
        eta = options.rate_at(K, n)
        P = probabilities(S, eta, options.mixing_at(K, eta))
        B = drawn(P, rng.random(runs))
        if options.form == "hedge":
            S += rng.random((runs, K)) < m
        else:
            D = (rng.random(runs) < m[B]).astype(np.float64)
            S = bandit_scores(options.form, S, B, D, P[each, B])
        played[each, B] += 1
    return Runs(played @ (m.max() - m), probabilities(S, options.rate_at(K, rounds), 0.0))
