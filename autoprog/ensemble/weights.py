"""Weights of an ensemble by likelihood: the likeliest average, greedy selection, a logistic combination.

Stacking of predictive distributions: the average of the pipelines' risks with the highest likelihood.

    q        probability of each patient's outcome by each pipeline, see `pseudo_bma`                   (t, n)
    c        how often each patient counts                                                              (n,)
    w        weights, at least 0                                                                        (t,)

    maximise  sum_i c_i log(sum_k w_k q_ki) - (sum_i c_i) sum_k w_k

This is concave, and the weights sum to 1 at its maximum. Newton's steps lead there: each goes to the maximum of a
quadratic under w >= 0. Greedy selection (Caruana et al. 2004) approaches the same average step by step.

Stacked logistic combination: pipelines averaged on the scale of log odds, with weights fitted to the outcome.

    x        log odds of the out-of-fold risks of the pipelines                         (t, n)
    y, c     outcomes, and how often each patient counts                                (n,)
    a, b     intercept and coefficients, b at least 0                                   scalar, (t,)

    maximise  sum_i c_i log P(y_i | logit = a + b x_i) - (kappa / 2) sum_j (b_j - 1/t)^2

The penalty shrinks to the plain average. Weights are b over its sum; the recalibration of the delivered ensemble
replaces the intercept and the sum.

Greedy selection with bagging: pipelines are added one by one, each as often as it improves the average.

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
Yao, Vehtari, Simpson & Gelman 2018, Bayesian Analysis 13:917, section 3.1; Hastie, Tibshirani & Friedman 2009, section
8.8 (stacking with weights at least 0).
Wolpert 1992, Neural Networks 5:241; Breiman 1996, Machine Learning 24:49 (coefficients at least 0).
Caruana, Niculescu-Mizil, Crew & Ksikes 2004, ICML; Caruana, Munson & Niculescu-Mizil 2006, ICDM (bagging).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize, nnls
from scipy.special import expit

_Floats = NDArray[np.float64]

# The slopes that are left make the mean log score exact to 1e-5, far below its standard error.
_SLOPE, _STEPS_MOST = 1e-5, 50
# Share of the curvature's largest entry added to its diagonal: pipelines may be alike.
_ALIKE = 1e-9
# Share of a step's expected gain that is enough.
_ENOUGH = 1e-4


def likeliest(q: _Floats, c: NDArray[np.floating], most: int) -> NDArray[np.intp]:
    """Indices of at most `most` pipelines with the best log scores, the earliest among equals."""
    if len(q) <= most:
        return np.arange(len(q))
    return np.argsort(-(np.log(q) @ c), kind="stable")[:most]


def pooled_weights(q: _Floats, c: NDArray[np.floating]) -> _Floats:
    """Weights, at least 0 and summing to 1, of the average with the highest likelihood."""
    counted = c > 0
    q, c = q[:, counted], np.asarray(c[counted], dtype=np.float64)
    share = c / c.sum()
    w = np.full(len(q), 1.0 / len(q))
    for _ in range(_STEPS_MOST):
        pooled = w @ q
        slopes = q @ (share / pooled) - 1.0
        # At the maximum, slopes are 0, or negative where a weight is 0.
        if np.abs(np.where(w > 0, slopes, np.maximum(slopes, 0.0))).max() <= _SLOPE:
            break
        step = _best_point(w, slopes, (q * (share / pooled**2)) @ q.T) - w
        w = np.maximum(w + _length(w, step, slopes @ step, q, share) * step, 0.0)
    weights: _Floats = w / w.sum()
    return weights


def _best_point(w: _Floats, slopes: _Floats, curvature: _Floats) -> _Floats:
    """The weights, at least 0, at which the quadratic about w is largest."""
    curvature[np.diag_indices(len(w))] += _ALIKE * curvature.max()
    root = np.linalg.cholesky(curvature)
    return np.asarray(nnls(root.T, solve_triangular(root, curvature @ w + slopes, lower=True))[0])


def _length(w: _Floats, step: _Floats, expected: float, q: _Floats, share: _Floats) -> float:
    """How much of a step to take, so that the likelihood grows as expected."""
    length, before = 1.0, share @ np.log(w @ q) - w.sum()
    while length > _SLOPE:
        tried = np.maximum(w + length * step, 0.0)
        pooled = tried @ q
        if pooled.min() > 0 and share @ np.log(pooled) - tried.sum() >= before + _ENOUGH * length * expected:
            break
        length /= 2
    return length


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
