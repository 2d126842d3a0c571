"""Stacked logistic combination: pipelines averaged on the scale of log odds, with weights fitted to the outcome.

    x        log odds of the out-of-fold risks of the pipelines                         (t, n)
    y, c     outcomes, and how often each patient counts                                (n,)
    a, b     intercept and coefficients, b at least 0                                   scalar, (t,)

    maximise  sum_i c_i log P(y_i | logit = a + b x_i) - (kappa / 2) sum_j (b_j - 1/t)^2

The penalty shrinks to the plain average. Weights are b over its sum; the recalibration of the delivered ensemble
replaces the intercept and the sum.

References
----------
Wolpert 1992, Neural Networks 5:241; Breiman 1996, Machine Learning 24:49 (coefficients at least 0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

KAPPA = 1.0


def stacked_weights(x: NDArray[np.float64], y: NDArray[np.integer], c: NDArray[np.floating]) -> NDArray[np.float64]:
    """Weights, at least 0 and summing to 1; the plain average if every coefficient is 0."""
    t = len(x)
    start = np.append(np.full(t, 1 / t), 0.0)

    def loss(beta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        eta = beta[:t] @ x + beta[t]
        away = beta[:t] - 1 / t
        value = float(c @ (np.logaddexp(0.0, eta) - y * eta) + 0.5 * KAPPA * away @ away)
        residual = c * (expit(eta) - y)
        return value, np.append(x @ residual + KAPPA * away, residual.sum())

    fit = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * t + [(None, None)])
    b = np.asarray(fit.x[:t], dtype=np.float64)
    weights: NDArray[np.float64] = b / b.sum() if b.sum() > 0 else start[:t]
    return weights
