"""Many runs of a bandit at once, over gains that are drawn: what a form and a rate are worth.

    m         mean gain of every arm                                   (K,)
    R, T      runs, rounds
    regret    sum_t max_k m_k - m_{B_t}                                (R,)

Symbols of the bandit as in `autoprog.discretization.weights`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.discretization.options import BanditOptions
from autoprog.discretization.weights import bandit_scores, drawn, probabilities


@dataclass(frozen=True, eq=False)
class Runs:
    """What became of some runs.

    Attributes
    ----------
    regret : ndarray, shape = (R,)
        Pseudo-regret at the end.
    probabilities : ndarray, shape = (R, K)
        The law of the next draw at the end, without the mixing.
    """

    regret: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def stuck(self, m: NDArray[np.float64]) -> int:
        """Runs that end by drawing an arm other than the best at least nine times in ten."""
        wrong = np.delete(self.probabilities, int(np.argmax(m)), axis=1)
        return int((wrong.max(axis=1) >= 0.9).sum())


def simulate(m: NDArray[np.float64], options: BanditOptions, rounds: int, runs: int, rng: np.random.Generator) -> Runs:
    """Run a bandit against independent Bernoulli gains.

    Parameters
    ----------
    m : ndarray, shape = (K,)
        Mean gains, in [0, 1].
    options : BanditOptions
        Form, rate and mixing.
    rounds, runs : int
        T and R, at least 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Runs
        Regret and final law of every run.
    """
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
