"""Net benefit: the value of decisions by risk, in true positives per patient.

    y          outcomes, 1 for a patient with the outcome                                 (n,)
    p          risks                                                                      (n,)
    t          threshold: a patient is treated where p >= t; in (0, 1)                    (n_thresholds,)
    t/(1 - t)  harm of treating a patient without the outcome, in units of the benefit of treating one with it
    rate       share of patients with the outcome
    a, b       range of thresholds, 0 < a <= b < 1

    NB(t)  =  (1/n) sum_i 1[p_i >= t] (y_i - (1 - y_i) t/(1 - t))

Its mean over thresholds in [a, b] has a closed form, which needs no grid:

    (1/n) sum_i y_i B(p_i) - (1 - y_i) H(p_i)
    B(p)  =  (c - a) / (b - a),   c = p cut to [a, b]           benefit of a risk
    H(p)  =  (G(c) - G(a)) / (b - a),   G(u) = -u - ln(1 - u)   harm of a risk

References
----------
Vickers & Elkin 2006, Medical Decision Making 26:565; the mean over a range: Talluri & Shete 2016, BMC Medical
Informatics and Decision Making 16:94, there the standard area under the curve, unweighted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


def net_benefit(y: NDArray[Any], p: NDArray[np.floating[Any]], t: _Floats) -> _Floats:
    """Net benefit of treating the patients whose risk reaches each threshold t, in (0, 1); at most the event rate."""
    with_outcome, without = np.sort(p[y == 1]), np.sort(p[y == 0])
    true_positives = len(with_outcome) - np.searchsorted(with_outcome, t)
    false_positives = len(without) - np.searchsorted(without, t)
    benefit: _Floats = (true_positives - false_positives * t / (1 - t)) / len(y)
    return benefit


def net_benefit_of_all(rate: float, t: _Floats) -> _Floats:
    """Net benefit of treating everybody at thresholds t in (0, 1): 0 at the event rate, and negative above it."""
    return rate - (1 - rate) * t / (1 - t)


def mean_net_benefit(y: NDArray[Any], p: NDArray[np.floating[Any]], a: float, b: float) -> float:
    """Mean net benefit over thresholds in [a, b]: a proper score, but blind to differences outside the range."""
    return float((benefit(p[y == 1], a, b).sum() - harm(p[y == 0], a, b).sum()) / len(y))


def benefit(p: NDArray[np.floating[Any]], a: float, b: float) -> _Floats:
    """B(p), in [0, 1]: the share of the thresholds in [a, b] that a risk reaches."""
    if a == b:
        return (np.asarray(p) >= a).astype(np.float64)
    return (np.clip(np.asarray(p, dtype=np.float64), a, b) - a) / (b - a)


def harm(p: NDArray[np.floating[Any]], a: float, b: float) -> _Floats:
    """H(p), at least 0: the harm of treating a patient without the outcome at the thresholds that the risk reaches."""
    if a == b:
        return benefit(p, a, b) * a / (1 - a)
    c = np.clip(np.asarray(p, dtype=np.float64), a, b)
    at_least_0: _Floats = (a - c - np.log1p(-c) + np.log1p(-a)) / (b - a)
    return at_least_0
