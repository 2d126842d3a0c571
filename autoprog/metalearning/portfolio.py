"""A portfolio: a few pipelines of which one or another does well on every earlier cohort.

======  ================================================================================  ======  =====
symbol  meaning                                                                           shape   range
======  ================================================================================  ======  =====
g       normalised gain of configuration i on cohort j; 0 the median pipeline, 1 the      (n, m)  real
        best that is known
w       weight of a cohort, summing to 1                                                  (m,)    [0, 1]
b       best gain of the portfolio so far on each cohort                                  (m,)    real
======  ================================================================================  ======  =====

The next member is the one of a prediction algorithm not yet in the portfolio that raises sum_j w_j max(b_j, g_ij) most.
For gains bounded below this sum is monotone and submodular, so that without the rule of distinct algorithms the greedy
choice reaches at least 1 - 1/e of the best portfolio's value (above that of an empty one), and with it, a matroid's
rule, at least 1/2.

References
----------
Feurer et al. 2022, JMLR 23:261, section 4.1; Nemhauser, Wolsey & Fisher 1978, Mathematical Programming 14:265; Fisher,
Nemhauser & Wolsey 1978, Mathematical Programming Study 8:73.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoprog.errors import Fault, InvalidInputError

# Gains that differ by less are equal but for rounding.
_TIE = 1e-12


def greedy_portfolio(
    gains: ArrayLike, predictors: Sequence[Hashable], size: int, weights: ArrayLike | None = None
) -> tuple[int, ...]:
    """Choose configurations that complement each other, each with another prediction algorithm.

    Parameters
    ----------
    gains : array-like, shape = (n_configurations, n_cohorts)
        More is better; comparable between cohorts, so normalise before: the median pipeline's gain as 0 and the best
        known one's as 1. NaN where a configuration failed or is not valid: as poor as the worst on that cohort.
    predictors : sequence of hashable, length n_configurations
        The prediction algorithm of each.
    size : int
        The most members, at least 1.
    weights : array-like, shape = (n_cohorts,), or None
        How much each cohort counts, at least 0; None for all alike. Copies of one study should share one weight.

    Returns
    -------
    tuple of int
        Rows of `gains`, in the order in which they are to be tried; `size`, or as many as there are prediction
        algorithms that succeed somewhere. Among equals the one with the greater mean gain, then the earlier row.

    Raises
    ------
    InvalidInputError
        If shapes, size or weights are not as above, or a gain is infinite; names every fault.

    References
    ----------
    Feurer et al. 2022, section 4.1, where the pipelines themselves are all distinct and nothing else.
    """
    g, w = np.asarray(gains, dtype=np.float64), None if weights is None else np.asarray(weights, dtype=np.float64)
    if faults := [*_faults(g, len(predictors), size), *_weight_faults(g, w)]:
        raise InvalidInputError(faults)
    tried, known = ~np.isnan(g).all(axis=1), ~np.isnan(g).all(axis=0)
    if not tried.any():
        return ()
    g, w = g[:, known], np.ones(known.sum()) if w is None else w[known]
    worst = np.nanmin(g, axis=0)
    g = np.where(np.isnan(g), worst, g)
    means, best = g @ w, worst
    members: list[int] = []
    open_ = tried.copy()
    while len(members) < size and open_.any():
        values = np.where(open_, np.maximum(g, best) @ w, -np.inf)
        equal = np.flatnonzero(values >= values.max() - _TIE)
        chosen = int(equal[np.argmax(means[equal])])
        members.append(chosen)
        best = np.maximum(best, g[chosen])
        open_ &= np.array([p != predictors[chosen] for p in predictors])
    return tuple(members)


def _faults(g: NDArray[np.float64], n_predictors: int, size: int) -> list[Fault]:
    faults = []
    if g.ndim != 2 or g.size == 0:
        shape = " x ".join(str(n) for n in g.shape) or "no axes"
        faults.append(Fault("/gains", f"must be configurations x cohorts, at least one of each; the shape is {shape}"))
    elif n_predictors != len(g):
        faults.append(Fault("/predictors", f"must be one a configuration: {n_predictors} for {len(g)} rows of gains"))
    if infinite := int(np.isinf(g).sum()):
        faults.append(Fault("/gains", f"must be finite, or NaN for a failure; {infinite} are infinite"))
    if size < 1:
        faults.append(Fault("/size", f"must be at least 1, and is {size}"))
    return faults


def _weight_faults(g: NDArray[np.float64], w: NDArray[np.float64] | None) -> list[Fault]:
    if w is None:
        return []
    faults = []
    if g.ndim == 2 and w.shape != g.shape[1:]:
        faults.append(Fault("/weights", f"must be one a cohort: shape {w.shape} for {g.shape[1]} columns of gains"))
    if not (np.isfinite(w) & (w >= 0)).all():
        faults.append(Fault("/weights", "must be finite and at least 0"))
    elif not w.any():
        faults.append(Fault("/weights", "must not all be 0"))
    return faults
