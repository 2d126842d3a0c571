"""Meta-features of the columns: sizes, missing values, moments, correlations, information on the outcome in bins.

======  ===============================================================================  ======  ========
symbol  meaning                                                                          shape   unit
======  ===============================================================================  ======  ========
c       bin of a feature: its level, or one of at most 8 by its quantiles                (k,)    0..m-1
y       label of the patients whose cell is observed                                     (k,)    {0, 1}
H       entropy of relative frequencies, plus (m - 1) / (2 k) for its bias (Miller)      scalar  nats
I       H(c) + H(y) - H(c, y), at least 0                                                scalar  nats
G       2 k I without the bias, about chi-square where c and y are independent           scalar  1
======  ===============================================================================  ======  ========

Correlations of the features.

======  ================================================================================  ======  =======
symbol  meaning                                                                           shape   range
======  ================================================================================  ======  =======
Z       numeric, ordinal and binary features, standardised; 0 where a cell is missing     (n, p)  real
R       their correlations                                                                (p, p)  [-1, 1]
lam     eigenvalues of R, the largest first; they sum to p                                (p,)    [0, p]
======  ================================================================================  ======  =======

The shapes of the numeric features' distributions.

======  ====================================================  ======  ====
symbol  meaning                                               shape   unit
======  ====================================================  ======  ====
x       observed cells of one numeric feature that varies     (k,)    own
z       x, centred and divided by its standard deviation      (k,)    1
g1, g2  mean of z^3, mean of z^4                              scalar  1
======  ====================================================  ======  ====

Missing cells of a cohort, and whether they tell about the outcome.

======  ==============================================================  ======  =======
symbol  meaning                                                         shape   range
======  ==============================================================  ======  =======
m       whether a cell is missing                                       (n, d)  bool
y       label; NaN where unknown                                        (n,)    {0, 1}
q, p    share of the missing in a column, of 1 among the known labels   (d,)    [0, 1]
phi     correlation of m and y                                          (d,)    [-1, 1]
======  ==============================================================  ======  =======

References
----------
Castiello, Castellano & Fanelli 2005, MDAI, LNCS 3558:457-468; Miller 1955, Information Theory in Psychology.
Bretherton et al. 1999, J. Climate 12:1990-2009, eq. 5: the effective dimension (sum lam)^2 / sum lam^2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from autoprog.cohort import Feature

BINS = 8
"""The most bins of a numeric feature."""

_LEVEL = 0.01
_FEWEST = 10  # patients with an observed cell and a known label


def information_features(
    features: Sequence[Feature], X: NDArray[np.float64], y: NDArray[np.float64]
) -> dict[str, float]:
    """Describe the features' entropies and their information on the outcome."""
    shares, entropies, significant = [], [], []
    for feature, x in zip(features, X.T, strict=True):
        usable = ~np.isnan(x) & ~np.isnan(y)
        entropy, share, depends = _of_column(feature, x[usable], y[usable].astype(np.intp))
        entropies.append(entropy)
        shares.append(share)
        significant.append(depends)
    return {
        "feature_entropy": float(np.mean(entropies or [0.0])),
        "mutual_information_mean": float(np.mean(shares or [0.0])),
        "mutual_information_max": float(max(shares, default=0.0)),
        "informative_share": sum(significant) / max(len(significant), 1),
    }


def _of_column(feature: Feature, x: NDArray[np.float64], y: NDArray[np.intp]) -> tuple[float, float, bool]:
    """H(c) relative to its maximum, I relative to H(y), and whether the G test rejects independence."""
    k = len(x)
    if k < _FEWEST:
        return 0.0, 0.0, False
    c = _quantile_bins(x) if feature.kind == "numeric" else np.unique(x, return_inverse=True)[1]
    m = int(c.max()) + 1
    joint = np.bincount(2 * c + y, minlength=2 * m).reshape(m, 2)
    of_c, of_y = joint.sum(axis=1), joint.sum(axis=0)
    H_c, H_y, H_cy = (compute_entropy(counts.ravel()) for counts in (of_c, of_y, joint))
    normalised = min(H_c / np.log(m), 1.0) if m > 1 else 0.0
    if m < 2 or H_y == 0:
        return normalised, 0.0, False
    plain = max(H_c + H_y - H_cy, 0.0)
    corrected = plain + (m - 1 + 2 - 1 - (np.count_nonzero(joint) - 1)) / (2 * k)
    H_y_corrected = H_y + 1 / (2 * k)
    depends = bool(2 * k * plain > chdtri(m - 1, _LEVEL))
    return float(normalised), float(np.clip(corrected / H_y_corrected, 0.0, 1.0)), depends


def compute_entropy(counts: NDArray[np.int64]) -> float:
    """Entropy of relative frequencies in nats, without bias correction; `counts` has any shape."""
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log(p)).sum())


def _quantile_bins(x: NDArray[np.float64]) -> NDArray[np.intp]:
    edges = np.unique(np.quantile(x, np.arange(1, BINS) / BINS, method="inverted_cdf"))
    # A value is in the bin of the first edge that it does not exceed; empty bins are left out.
    return np.asarray(np.unique(np.searchsorted(edges, x, side="left"), return_inverse=True)[1], dtype=np.intp)


MAX_COLUMNS = 500
"""Use 500 evenly spaced features if there are more."""

_CORRELATED = 0.5
_VARIANCE = 0.95
_ROUNDING = 1e-9


def correlation_features(ordered: NDArray[np.float64]) -> dict[str, float]:
    """Describe pairwise correlations and their spectrum; all 0 if no feature varies, correlations 0 if one does."""
    Z = _standardised(ordered[:, evenly_spaced(ordered.shape[1], MAX_COLUMNS)])
    p = Z.shape[1]
    if p == 0:
        return dict.fromkeys(_NAMES, 0.0)
    R = np.clip(Z.T @ Z / len(Z), -1.0, 1.0)
    pairs = np.abs(R[np.triu_indices(p, k=1)])
    if not len(pairs):
        pairs = np.zeros(1)
    lam = np.linalg.eigvalsh(R)[::-1]
    # Tolerance: the last of equal eigenvalues must not depend on rounding.
    n_components = int((np.cumsum(lam) < (_VARIANCE - _ROUNDING) * p).sum()) + 1
    values = (pairs.mean(), pairs.max(), (pairs > _CORRELATED).mean(), p / (R**2).sum(), min(n_components, p) / p)
    return {name: float(value) for name, value in zip(_NAMES, values, strict=True)}


_NAMES = ("correlation_mean", "correlation_max", "correlated_share", "effective_dimension", "components_95")


def evenly_spaced(n: int, most: int) -> NDArray[np.intp]:
    """Choose at most `most` of n indices, evenly spaced from the first to the last."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).round().astype(np.intp)


def _standardised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    observed = ~np.isnan(X)
    counts = np.maximum(observed.sum(axis=0), 1)
    filled = np.where(observed, X, 0.0)
    largest = np.abs(filled).max(axis=0, initial=0.0)
    filled /= np.where(largest > 0, largest, 1.0)
    centred = np.where(observed, filled - filled.sum(axis=0) / counts, 0.0)
    sd = np.sqrt((centred**2).mean(axis=0))
    varies = sd > _ROUNDING
    standardised: NDArray[np.float64] = centred[:, varies] / sd[varies]
    return standardised


_FENCE = 1.5  # in interquartile ranges
# a standard deviation below this share of the largest absolute value is rounding


def moment_features(numeric: NDArray[np.float64]) -> dict[str, float]:
    """Describe skewness, kurtosis, outliers, zeros and ties; 0 if no numeric feature varies."""
    shapes = [shape for x in numeric.T if (shape := _shape(x[~np.isnan(x)])) is not None]
    skewness, kurtosis, outliers, zeros, distinct = np.array(shapes).T if shapes else np.zeros((5, 1))
    return {
        "skewness_mean": float(skewness.mean()),
        "skewness_max": float(skewness.max()),
        "kurtosis_mean": float(kurtosis.mean()),
        "kurtosis_max": float(kurtosis.max()),
        "outlier_share": float(outliers.mean()),
        "zero_share": float(zeros.mean()),
        "distinct_share": float(distinct.mean()),
    }


def _shape(x: NDArray[np.float64]) -> tuple[float, float, float, float, float] | None:
    """|g1|, g2, and the shares of outliers, zeros and distinct values; None for a column that does not vary."""
    if len(x) < 2:
        return None
    # Divide first, because the fourth power of 1e100 overflows.
    largest = float(np.abs(x).max()) or 1.0
    unit = x / largest
    sd = float(unit.std())
    if sd <= _ROUNDING:
        return None
    z = (unit - unit.mean()) / sd
    lower, upper = np.quantile(z, (0.25, 0.75))
    fence = _FENCE * (upper - lower)
    outside = (z < lower - fence) | (z > upper + fence)
    g1, g2 = float((z**3).mean()), float((z**4).mean())
    return abs(g1), g2, float(outside.mean()), float((x == 0).mean()), len(np.unique(x)) / len(x)


def missingness_features(X: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, float]:
    """Describe shares of missing cells, and the largest |phi|."""
    m = np.isnan(X)
    q = m.mean(axis=0) if m.size else np.zeros(1)
    return {
        "missing_share": float(q.mean()),
        "incomplete_feature_share": float((q > 0).mean()),
        "complete_patient_share": float((~m.any(axis=1)).mean()),
        "missing_max": float(q.max()),
        "missing_informative": _largest_phi(m, y),
    }


def _largest_phi(m: NDArray[np.bool_], y: NDArray[np.float64]) -> float:
    known = ~np.isnan(y)
    n, n_events = int(known.sum()), int((y == 1).sum())
    if not 0 < n_events < n:
        return 0.0
    n_missing = m.sum(axis=0) - m[~known].sum(axis=0)
    varies = (n_missing > 0) & (n_missing < n)
    if not varies.any():
        return 0.0
    q, p = n_missing[varies] / n, n_events / n
    both = m[y == 1][:, varies].sum(axis=0) / n
    phi = (both - q * p) / np.sqrt(q * (1 - q) * p * (1 - p))
    return float(min(np.abs(phi).max(), 1.0))


RARE = 0.01
"""Share of the patients below which a level is rare."""


def size_features(
    features: Sequence[Feature], X: NDArray[np.float64], n_patients: int, n_columns: int
) -> dict[str, float]:
    """Describe the size of a cohort and the kinds of its features; `n_columns` counts the design matrix."""
    levels = [len(f.levels) for f in features if f.kind != "numeric"]
    shares = {
        f"{kind}_share": sum(f.kind == kind for f in features) / max(len(features), 1)
        for kind in ("numeric", "binary", "categorical", "ordinal")
    }
    return {
        "n_patients": float(n_patients),
        "n_features": float(len(features)),
        "n_columns": float(n_columns),
        "patients_per_column": n_patients / max(n_columns, 1),
        **shares,
        "levels_mean": float(np.mean(levels)) if levels else 0.0,
        "levels_max": float(max(levels, default=0)),
        "rare_level_share": _rare_levels(features, X) / max(sum(levels), 1),
    }


def _rare_levels(features: Sequence[Feature], X: NDArray[np.float64]) -> int:
    rare = 0
    for feature, x in zip(features, X.T, strict=True):
        if feature.kind != "numeric":
            codes = x[~np.isnan(x)].astype(np.intp)
            rare += int((np.bincount(codes, minlength=len(feature.levels)) < RARE * len(x)).sum())
    return rare
