"""How far risks are from a smooth calibration curve, with intervals: of probabilities and of event times alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from autoprog.survival.estimates import Interval

_DRAWS, _MAX_POINTS = 400, 2000

_Floats = NDArray[np.float64]


def curve_distances(
    p: _Floats,
    x: _Floats,
    Z: _Floats,
    law: tuple[_Floats, _Floats],
    inverse_link: Callable[[_Floats], _Floats],
    level: float = 0.95,
) -> tuple[Interval, Interval, Interval]:
    """How far risks are from a smooth calibration curve: mean, median and 90th percentile of the distance.

    The intervals are basic ones of a bootstrap of the patients and of the curve, 2 d - quantiles of d(beta*): a curve
    that follows chance once more is further off than the curve is, and the basic interval takes that off. They begin
    at 0 where the curve may be that of calibrated risks, by Wald's test.

    Parameters
    ----------
    p : ndarray, shape = (n,)
        Risks.
    x : ndarray, shape = (n,)
        Their link: Z beta of a curve on which all lie.
    Z : ndarray, shape = (n, k)
        Design matrix of the curve.
    law : pair of ndarray, shapes = (k,) and (k, k)
        Estimates of its coefficients and their covariance: beta* is normal.
    inverse_link : callable (ndarray) -> ndarray
        From Z beta to risks.
    level : float
        Of the intervals.

    Returns
    -------
    tuple of three Interval
        ICI, E50 and E90.
    """
    beta, covariance = law
    found = _summaries(np.abs(p - inverse_link(Z @ beta)))
    rng = np.random.default_rng(0)
    # Of many patients an even part of them stands for all, and their luck is small beside the curve's.
    part = np.argsort(p, kind="stable")[np.unique(np.linspace(0, len(p) - 1, _MAX_POINTS).astype(np.intp))]
    again = np.empty((_DRAWS, 3))
    for b, drawn in enumerate(beta + rng.standard_normal((_DRAWS, len(beta))) @ _root(covariance)):
        rows = part if len(part) < len(p) else part[rng.integers(len(part), size=len(part))]
        again[b] = _summaries(np.abs(p[rows] - inverse_link(Z[rows] @ drawn)))
    lower, upper = 2 * found - np.quantile(again, [(1 + level) / 2, (1 - level) / 2], axis=0)
    off = beta - np.linalg.lstsq(Z, x)[0]
    may_be_calibrated = off @ np.linalg.pinv(covariance, hermitian=True) @ off < chdtri(len(beta), 1 - level)
    mean, median, most = (
        Interval(float(d), 0.0 if may_be_calibrated else float(np.clip(low, 0.0, d)), float(max(high, d)))
        for d, low, high in zip(found, lower, upper, strict=True)
    )
    return mean, median, most


def _root(covariance: _Floats) -> _Floats:
    """Its symmetric root; of few patients rounding may leave it a little below positive."""
    eigenvalues, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root: _Floats = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return root


def _summaries(distance: _Floats) -> _Floats:
    e50, e90 = np.quantile(distance, [0.5, 0.9], axis=-1)
    return np.stack([distance.mean(axis=-1), e50, e90], axis=-1)
