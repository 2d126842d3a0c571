"""Distance of risks from a smooth calibration curve, with intervals, for probabilities and event times."""

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
    """Mean, median and 90th percentile of the distance d of risks from a smooth calibration curve.

    The intervals are basic ones, 2 d - quantiles of d(beta*), of a bootstrap of the patients and of the curve. A
    resampled curve follows chance twice and is further off, which the basic interval subtracts. If the risks may be
    calibrated by Wald's test, intervals begin at 0.

    Parameters
    ----------
    p : ndarray, shape = (n,)
        Risks.
    x : ndarray, shape = (n,)
        Link of the risks: Z beta of a curve on which all lie.
    Z : ndarray, shape = (n, k)
        Design matrix of the curve.
    law : pair of ndarray, shapes = (k,) and (k, k), coefficients and covariance of the normal beta*
    inverse_link : callable (ndarray) -> ndarray
        From Z beta to risks.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    tuple of three Interval
        ICI, E50 and E90.
    """
    beta, covariance = law
    found = _summaries(np.abs(p - inverse_link(Z @ beta)))
    rng = np.random.default_rng(0)
    # Many patients are thinned evenly and not redrawn: their variation is small compared with the curve's.
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
    """Symmetric root; clips eigenvalues that rounding leaves below 0."""
    eigenvalues, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root: _Floats = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return root


def _summaries(distance: _Floats) -> _Floats:
    e50, e90 = np.quantile(distance, [0.5, 0.9], axis=-1)
    return np.stack([distance.mean(axis=-1), e50, e90], axis=-1)
