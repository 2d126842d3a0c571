"""Cuts of a set of values: near given quantiles, at readable numbers.

u_1 < .. < u_K   distinct observed values                        (K,)
F_k              share of patients with a value below u_k         (K,)
c                a cut: a value x lies above it when x >= c
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray

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
