"""Tests of rules on held-out patients.

    n, n_r       patients held out; those of them in stratum r
    n_A, n_Ar    of these, who satisfy a rule                              (n_rules,)
    p_k          P(N >= n_Ar), N hypergeometric: n_A drawn from n, n_r of them in the stratum
    D            design effect of the rule and its stratum: with groups n, n_r, n_A and n_Ar are divided by it
    m            mined rules tested, of all strata together
    h_m          1 + 1/2 + .. + 1/m

    adjusted p_(k) = min over j >= k of p_(j) m h_m / j, at most 1

A rule was chosen for its fit to the mined patients; the held-out ones do not favour it. If it is not associated with
the stratum, p is uniform or larger, exactly (Fisher's one-sided test), or approximately with groups. Rules overlap and
strata exclude each other, so the tests are dependent; the factor h_m controls the false-discovery rate under any
dependence.

References
----------
Fisher 1922, JRSS 85:87; Benjamini & Yekutieli 2001, Annals of Statistics 29:1165; Webb 2007, Machine Learning 68:1
(rules on held-out data).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

SHARE = 0.25  # held-out share of the patients
FALSE_DISCOVERY_RATE = 0.1

_BLOCK = 8  # neighbours in risk, two of whom are held out


def hold_out(
    risks: NDArray[np.floating], groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Hold out about a quarter of the patients, evenly over the risks, groups together; nobody of a single group."""
    members = np.arange(len(risks)) if groups is None else np.unique(groups, return_inverse=True)[1]
    means = np.bincount(members, weights=risks) / np.bincount(members)
    order = np.argsort(means, kind="stable")
    if len(order) < _BLOCK:
        few = rng.permutation(len(order)) < min(max(1, round(SHARE * len(order))), len(order) - 1)
        return np.asarray(few[members], dtype=np.bool_)
    blocks = rng.permuted(np.tile(np.arange(_BLOCK), (-(-len(order) // _BLOCK), 1)), axis=1).ravel()[: len(order)]
    chosen = np.empty(len(order), dtype=np.bool_)
    chosen[order] = blocks < SHARE * _BLOCK
    held_out: NDArray[np.bool_] = chosen[members]
    return held_out


def p_values(
    n_A: NDArray[np.integer],
    n_Ar: NDArray[np.integer],
    n: int,
    n_r: NDArray[np.integer],
    D: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """One-sided p-value of each rule, in (0, 1], with its design effect D."""
    matching, in_both, rows, in_stratum = (np.rint(count / D).astype(np.int64) for count in (n_A, n_Ar, n, n_r))
    p: NDArray[np.float64] = hypergeom.sf(in_both - 1, rows, in_stratum, matching)
    return p


def adjusted(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjusted p-values of all tests made, in [0, 1]."""
    m = len(p)
    rank = np.arange(1, m + 1)
    falling = np.argsort(p, kind="stable")[::-1]
    scaled = p[falling] * m * (1 / rank).sum() / rank[::-1]
    q = np.empty(m)
    q[falling] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return q
