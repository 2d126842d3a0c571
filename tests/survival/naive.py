"""The same quantities by plain loops over patients and pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def simulated(
    seed: int, n: int = 60, causes: int = 2, distinct: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, codes and risks without any relation; with `distinct`, times and risks from so few values."""
    rng = np.random.default_rng(seed)
    time, risk = rng.exponential(size=n), rng.random(n)
    if distinct is not None:
        time, risk = 1.0 + rng.integers(0, distinct, n), rng.integers(1, distinct, n) / distinct
    return time, rng.integers(0, causes + 1, n), risk


def incidence(time: np.ndarray, event: np.ndarray, cause: int, horizon: float) -> float:
    """Aalen-Johansen, time by time."""
    survival, total = 1.0, 0.0
    for s in np.unique(time[time <= horizon]):
        at_risk = np.sum(time >= s)
        total += survival * np.sum((time == s) & (event == cause)) / at_risk
        survival *= 1 - np.sum((time == s) & (event > 0)) / at_risk
    return total


def censoring(time: np.ndarray, event: np.ndarray, at: float, *, left: bool = False) -> float:
    """G(at), or G(at-): those who fail at a time are not at risk of being censored at it."""
    G = 1.0
    for s in np.unique(time):
        if s < at or (s == at and not left):
            at_risk = np.sum(time >= s) - np.sum((time == s) & (event > 0))
            if at_risk:
                G *= 1 - np.sum((time == s) & (event == 0)) / at_risk
    return G


def pair_totals(risk: np.ndarray, weight: Callable[[int, int], float]) -> tuple[float, float, float]:
    """Concordant, discordant and tied weight over all ordered pairs (i, j)."""
    totals = [0.0, 0.0, 0.0]
    for i in range(len(risk)):
        for j in range(len(risk)):
            kind = 0 if risk[i] > risk[j] else 1 if risk[i] < risk[j] else 2
            totals[kind] += weight(i, j)
    return totals[0], totals[1], totals[2]
