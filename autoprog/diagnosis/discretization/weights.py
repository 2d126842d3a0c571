"""Exponential weights over arms: the mathematics of Exp3 and Hedge, for one bandit or many at once.

========  =====================================================================  ==========  ========
symbol    meaning                                                                shape       unit
========  =====================================================================  ==========  ========
K         number of arms, the candidate thresholds of a feature                  scalar      1
S         score of each arm, an estimate of its summed gain                      (..., K)    gain
eta       learning rate                                                          scalar      1 / gain
gamma     mixing, the share of draws that are uniform                            scalar      1
P         probability that an arm is drawn                                       (..., K)    1
B         the arm drawn                                                          (...)       1
D         gain of the arm drawn, or for Hedge of every arm, in [0, 1]            (...)       gain
========  =====================================================================  ==========  ========

    P = (1 - gamma) softmax(eta S) + gamma / K

    gain, mixed   S_B += D / P(B)                                E[change of S_k] = D_k
    loss          S_k += 1 for all k,  S_B -= (1 - D) / P(B)     E[change of S_k] = D_k
    hedge         S_k += D_k for all k

References
----------
Auer, Cesa-Bianchi, Freund & Schapire 2002, SIAM Journal on Computing 32:48 (Exp3, with mixing); Bubeck & Cesa-Bianchi
2012, Foundations and Trends in Machine Learning 5(1), section 3.1 (losses, the anytime rate); Freund & Schapire 1997,
Journal of Computer and System Sciences 55:119 (Hedge).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autoprog.diagnosis.discretization.options import Form

_Floats = NDArray[np.float64]


def probabilities(S: _Floats, eta: float, gamma: float) -> _Floats:
    """P, shape (..., K), from finite scores S of that shape, eta >= 0 and gamma in [0, 1]; at least gamma / K."""
    weights = np.exp(eta * (S - S.max(axis=-1, keepdims=True)))
    softmax = weights / weights.sum(axis=-1, keepdims=True)
    mixed: _Floats = (1.0 - gamma) * softmax + gamma / S.shape[-1]
    return mixed


def drawn(P: _Floats, uniforms: _Floats) -> NDArray[np.intp]:
    """Arms drawn by inversion of P, shape (..., K), at uniforms on [0, 1), shape (...); none has probability 0."""
    cumulative = P.cumsum(axis=-1)
    # Scaled by the rounded sum, so that the last arm with positive probability ends exactly at the largest value.
    targets = uniforms * cumulative[..., -1]
    arms: NDArray[np.intp] = (cumulative <= targets[..., None]).sum(axis=-1)
    return arms


def bandit_scores(form: Form, S: _Floats, B: NDArray[np.intp], D: _Floats, p: _Floats) -> _Floats:
    """Scores, shape (..., K), after gains D of arms B drawn with probability p > 0, for `loss`, `gain` or `mixed`."""
    change = np.zeros_like(S)
    at_B = (D - 1.0) / p if form == "loss" else D / p
    np.put_along_axis(change, B[..., None], at_B[..., None], axis=-1)
    return S + change + (1.0 if form == "loss" else 0.0)
