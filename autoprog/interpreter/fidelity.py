"""The rules as a classifier of strata, and its agreement with the model.

    r, s         strata of the rows, patients or visits, by the model and the rules  (n,)
    P            P_ij, share of patients with r = i and s = j                        (n_strata, n_strata)
    p_o, p_e     sum_i P_ii; sum_i P_i. P_.i
    kappa        (p_o - p_e) / (1 - p_e)

    w            1{r = s} - (1 - kappa)(P_.r + P_s.)                                 (n,)
    D            design effect of w: 1 where rows are independent

    var kappa = D var w / (n (1 - p_e)^2)

References
----------
Cohen 1960, Educational and Psychological Measurement 20:37; Fleiss, Cohen & Everitt 1969, Psychological Bulletin
72:323, eq. 13, by row; Li, Han & Pei 2001, ICDM, 369 (classification by several rules).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from autoprog.interpreter.clusters import Clusters
from autoprog.interpreter.rules import LEVEL, Fidelity, Rule, Stratum


def strata_by_rules(
    rules: Sequence[Rule], matches: NDArray[np.bool_], strata: Sequence[Stratum], default: int
) -> NDArray[np.int64]:
    """Place each patient in the stratum of the matching rule with the largest posterior mean, or in the default."""
    names = [stratum.name for stratum in strata]
    placed = np.full(matches.shape[1], default, dtype=np.int64)
    for k in sorted(range(len(rules)), key=lambda k: rules[k].stratum_probability.mean):
        placed[matches[k]] = names.index(rules[k].stratum)
    return placed


def compute_fidelity(
    r: NDArray[np.integer], s: NDArray[np.integer], strata: Sequence[Stratum], default: int, clusters: Clusters
) -> Fidelity:
    """Compute kappa with its large-sample interval; r needs at least two strata."""
    k, n = len(strata), len(r)
    P = np.bincount(r * k + s, minlength=k * k).reshape(k, k) / n
    by_model, by_rules = P.sum(axis=1), P.sum(axis=0)
    p_o, p_e = float(np.trace(P)), float(by_model @ by_rules)
    kappa = (p_o - p_e) / (1 - p_e)
    w = (r == s) - (1 - kappa) * (by_rules[r] + by_model[s])
    variance = float(clusters.design_effect(w) * w.var() / (n * (1 - p_e) ** 2))
    half = float(ndtri((1 + LEVEL) / 2)) * variance**0.5
    n_patients = clusters.n_patients(np.ones(n, dtype=np.bool_))
    return Fidelity(kappa, max(-1.0, kappa - half), min(1.0, kappa + half), p_o, n_patients, strata[default].name)
