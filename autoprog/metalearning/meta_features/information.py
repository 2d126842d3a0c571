"""Information of single features on the outcome, in bins.

======  ===============================================================================  ======  ========
symbol  meaning                                                                          shape   unit
======  ===============================================================================  ======  ========
c       bin of a feature: its level, or one of at most 8 by its quantiles                (k,)    0..m-1
y       label of the patients whose cell is observed                                     (k,)    {0, 1}
H       entropy of relative frequencies, plus (m - 1) / (2 k) for its bias (Miller)      scalar  nats
I       H(c) + H(y) - H(c, y), at least 0                                                scalar  nats
G       2 k I without the bias, about chi-square where c and y are independent           scalar  1
======  ===============================================================================  ======  ========

References
----------
Castiello, Castellano & Fanelli 2005, MDAI, LNCS 3558:457-468; Miller 1955, Information Theory in Psychology.
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
