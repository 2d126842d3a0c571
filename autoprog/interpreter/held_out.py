"""Checking rules on patients who had no part in finding them.

    n, n_r       patients held out; those of them in stratum r
    n_A, n_Ar    of these, who satisfy a rule                              (n_rules,)
    p_k          P(N >= n_Ar), N hypergeometric: n_A drawn from n, n_r of them in the stratum
    D            design effect of the rule and its stratum: with groups n, n_r, n_A and n_Ar are divided by it
    m            mined rules tested, of all strata together
    h_m          1 + 1/2 + .. + 1/m

    adjusted p_(k) = min over j >= k of p_(j) m h_m / j, at most 1

A rule was chosen because it did well on the patients it was mined from; on those held out nothing favours it, so that
under "the rule tells nothing of the stratum" p is uniform or larger, exactly (Fisher's test, one-sided). Rows of one
group are alike, and count as the fewer independent ones that they are worth (`clusters`): p is approximate then. Rules
overlap and strata exclude each other, so the tests depend on each other in either direction: Benjamini and Yekutieli's
factor h_m holds the expected share of false rules among those kept whatever the dependence.

References
----------
Fisher 1922, JRSS 85:87; Benjamini & Yekutieli 2001, Annals of Statistics 29:1165; Webb 2007, Machine Learning 68:1
(rules on held-out data).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

SHARE = 0.25  # of the patients, held out
FALSE_DISCOVERY_RATE = 0.1

_BLOCK = 8  # neighbours in risk, of whom a share is held out


def hold_out(
    risks: NDArray[np.floating], groups: NDArray[np.integer] | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Choose the patients to check rules on, evenly over the range of risks.

    Parameters
    ----------
    risks : ndarray, shape = (n_patients,)
        Whom to spread evenly.
    groups : ndarray, shape = (n_patients,), or None
        Patients of one group stay together; spread are then the groups, by their mean risks.
    rng : Generator
        Draws from every eight neighbours two; of fewer in all a quarter.

    Returns
    -------
    ndarray, shape = (n_patients,)
        bool; about a quarter, some and not all; nobody where there is one group alone.
    """
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
    """Probability of so many matching patients in the stratum, were the rule to tell nothing.

    Parameters
    ----------
    n_A, n_Ar : ndarray, shape = (n_rules,)
        Matching patients held out, and those of them in the rule's stratum.
    n : int
        Patients held out.
    n_r : ndarray, shape = (n_rules,)
        Those of them in the rule's stratum.
    D : ndarray, shape = (n_rules,), or float
        Design effects, at least 1.

    Returns
    -------
    ndarray, shape = (n_rules,)
        One-sided, in (0, 1].
    """
    matching, in_both, rows, in_stratum = (np.rint(count / D).astype(np.int64) for count in (n_A, n_Ar, n, n_r))
    p: NDArray[np.float64] = hypergeom.sf(in_both - 1, rows, in_stratum, matching)
    return p


def adjusted(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest false-discovery rate at which each test would be counted a discovery.

    Parameters
    ----------
    p : ndarray, shape = (n_rules,)
        Of all tests made.

    Returns
    -------
    ndarray, shape = (n_rules,)
        In [0, 1].
    """
    m = len(p)
    rank = np.arange(1, m + 1)
    falling = np.argsort(p, kind="stable")[::-1]
    scaled = p[falling] * m * (1 / rank).sum() / rank[::-1]
    q = np.empty(m)
    q[falling] = np.minimum(1.0, np.minimum.accumulate(scaled))
    return q
