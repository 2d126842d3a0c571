"""Greedy selection with bagging: pipelines are added one by one, each as often as it improves the average.

    p        out-of-fold risks of the pipelines                                         (t, n)
    y, c     outcomes, and how often each patient counts                                (n,)
    G        p diag(c) p'                                                               (t, t)
    h        p diag(c) y                                                                (t,)
    m        how often a bag has taken each pipeline; k in all                          (bags, t)

    sum_i c_i (y_i - (m p)_i / k)^2 = m G m' / k^2 - 2 h m' / k + constant

Thus a step needs no pass over the patients. The Brier score replaces the search's metric: it depends on ranking and
calibration, and in a few hundred patients it is less noisy than a rank measure.

References
----------
Caruana, Niculescu-Mizil, Crew & Ksikes 2004, ICML; Caruana, Munson & Niculescu-Mizil 2006, ICDM (bagging).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BAGS, SHARE, STEPS = 20, 0.5, 50

# A loss must fall by more than rounding to count as better.
_MIN_GAIN = 1e-12


def greedy_weights(
    p: NDArray[np.floating], y: NDArray[np.integer], c: NDArray[np.floating], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Mean weights of `BAGS` greedy averages, each of a random half of the pipelines; they sum to 1."""
    weighted = np.asarray(p, dtype=np.float64) * c
    G, h = weighted @ np.asarray(p, dtype=np.float64).T, weighted @ y
    t = len(p)
    allowed = rng.random((BAGS, t)).argsort(axis=1) < max(1, round(SHARE * t))
    weights: NDArray[np.float64] = select(G, h, allowed).mean(axis=0)
    return weights


def select(G: NDArray[np.float64], h: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Shares of the pipelines in each bag's best average among its first `STEPS`, shape = (bags, t)."""
    bags, t = allowed.shape
    rows, diagonal = np.arange(bags), np.diag(G)
    m, Gm, shares = np.zeros((bags, t)), np.zeros((bags, t)), np.zeros((bags, t))
    quadratic, linear, least = np.zeros(bags), np.zeros(bags), np.full(bags, np.inf)
    for k in range(1, STEPS + 1):
        loss = (quadratic[:, None] + 2 * Gm + diagonal) / k**2 - 2 * (linear[:, None] + h) / k
        taken = np.where(allowed, loss, np.inf).argmin(axis=1)
        quadratic += 2 * Gm[rows, taken] + diagonal[taken]
        linear += h[taken]
        Gm += G[taken]
        m[rows, taken] += 1
        better = loss[rows, taken] < least - _MIN_GAIN
        least[better], shares[better] = loss[rows, taken][better], m[better] / k
    return shares
