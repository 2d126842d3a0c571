"""What risks do when one decides by them: thresholds with their intervals, and ROC and precision-recall curves.

    d        1 for a patient with the outcome, 0 for one without                                         (n,)
    w        weight: 1, or the inverse probability of being uncensored, 0 if d is unknown                 (n,)
    p        risk                                                                                        (n,)
    t        thresholds                                                                                  (m,)
    a, b     numerator and denominator of a share, of each patient: sensitivity has a = w d 1{p >= t}, b = w d
    s        the share, sum a / sum b
    e        effective number of patients behind it: s (1 - s) / V,  V = sum_u (sum_{i in u} a_i - s b_i)^2 / (sum b)^2
             over the groups u, or the patients where there are none, times m / (m - 1) for m groups; at most the
             number of patients in the denominator. For s of 0 and 1, the number of groups in it
    TP, FP   weight of the patients with and without the outcome whose risk reaches each cut

The interval of a share is Wilson's with e patients: without weights and groups it is the one of a binomial share. With
groups its quantile is Student's.
Bands of the curves are percentiles of a bootstrap of the groups. More than 2,000 groups are put together at random
into 2,000, and these are drawn, which leaves the distribution of the curves nearly as it is and takes no longer with
more patients.

References
----------
Wilson 1927, JASA 22:209. Kish 1965, Survey Sampling (effective number). Davis & Goadrich 2006, ICML:233 (precision
between two points: TP and FP are linear, precision is not). Uno et al. 2007, JASA 102:527 (sensitivity with censoring).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.performance.score import LEVEL
from autoprog.survival.estimates import normal_quantile, student_quantile

_Floats = NDArray[np.float64]

_POINTS = 50  # of a curve on a grid
_CUTS = 100  # quantiles of the risks of either outcome that a curve is drawn through
_RESAMPLES = 300
_MAX_UNITS = 2_000
_DECIMALS = 5
_THRESHOLDS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_ROUNDING = 1e-15
_TIED = 1e-9  # relative difference of a sensitivity from that of a cut that it equals but for rounding
_MIN_SHARE = 0.005  # of the patients on either side of a threshold


def operating_document(
    d: NDArray[np.integer],
    p: NDArray[np.floating],
    range_: tuple[float, float],
    w: _Floats | None = None,
    groups: NDArray[np.integer] | None = None,
    ranked: NDArray[np.floating] | None = None,
) -> dict[str, Any]:
    """Describe decisions by risks.

    Parameters
    ----------
    d, p : ndarray, shape = (n,)
        Outcomes 0 and 1, both with weight; out-of-sample risks in [0, 1].
    range_ : tuple of float
        Thresholds of interest; both ends are among those of the table.
    w : ndarray, shape = (n,), optional
        Weights, 0 for an unknown outcome; 1 by default.
    groups : ndarray of int, shape = (n,), or None
        Groups of correlated patients.
    ranked : ndarray, shape = (n,), optional
        Risks for the curves, if they differ from `p`: those before a recalibration by parts.

    Returns
    -------
    dict
        JSON document: `thresholds`, a list of documents; `roc` and `precision_recall`, each with a grid, a curve and
        its pointwise band.
    """
    weights = np.ones(len(d)) if w is None else w
    risks = np.asarray(p, dtype=np.float64)
    cases, controls = weights * d, weights * (1 - d)
    curves = _curves(cases, controls, risks if ranked is None else np.asarray(ranked, dtype=np.float64), groups)
    return {"thresholds": threshold_rows(cases, controls, risks, range_, groups), **curves}


def threshold_rows(
    cases: _Floats,
    controls: _Floats,
    p: _Floats,
    range_: tuple[float, float],
    groups: NDArray[np.integer] | None = None,
) -> list[dict[str, Any]]:
    """Measure decisions at round thresholds that part the patients, and at the ends of a range."""
    rows = []
    for t in sorted({*_THRESHOLDS, *range_}):
        above = p >= t
        if t not in range_ and not _MIN_SHARE <= above.mean() <= 1 - _MIN_SHARE:
            continue
        known = cases + controls
        shares = {
            "sensitivity": (cases * above, cases),
            "specificity": (controls * ~above, controls),
            "ppv": (cases * above, known * above),
            "npv": (controls * ~above, known * ~above),
            "alerts": (above.astype(np.float64), np.ones(len(p))),
        }
        rows.append({"threshold": t, **{name: weighted_share(*parts, groups) for name, parts in shares.items()}})
    return rows


def weighted_share(a: _Floats, b: _Floats, groups: NDArray[np.integer] | None) -> dict[str, float] | None:
    """A share with Wilson's interval; None if nobody is in the denominator."""
    total = float(b.sum())
    if total <= 0:
        return None
    s = float(a.sum()) / total
    residuals: _Floats = a - s * b
    inside = b > 0
    most = units = int(inside.sum())
    correction, quantile = 1.0, normal_quantile(LEVEL)
    if groups is not None:
        residuals = np.bincount(groups, residuals).astype(np.float64)
        units = int(np.count_nonzero(np.bincount(groups[inside])))
        correction, quantile = units / max(1, units - 1), student_quantile(LEVEL, units)
    variance = correction * float(residuals @ residuals) / total**2
    e = float(most if 0 < s < 1 and units > 1 else units)  # where the groups agree, or all patients do
    if 0 < s < 1 and variance > _ROUNDING:
        e = min(e, s * (1 - s) / variance)
    lower, upper = wilson(s, e, quantile)
    return {"estimate": s, "lower": lower, "upper": upper}


def wilson(s: float, n: float, z: float) -> tuple[float, float]:
    """Interval of a share s of n patients, z standard errors on either side."""
    middle, reach = s + z**2 / (2 * n), z * np.sqrt(s * (1 - s) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return max(0.0, float((middle - reach) / scale)), min(1.0, float((middle + reach) / scale))


def _curves(
    cases: _Floats, controls: _Floats, p: _Floats, groups: NDArray[np.integer] | None
) -> dict[str, dict[str, list[float]]]:
    cuts = _cuts(p, cases > 0, controls > 0)
    unit = _units(len(p), groups)
    n_units = int(unit.max()) + 1
    # Cell 0 is below every cut, and the last one reaches the largest.
    cell = np.searchsorted(cuts, p, side="right")
    size = len(cuts) + 1
    by_unit = [np.bincount(unit * size + cell, w, n_units * size).reshape(n_units, size) for w in (cases, controls)]
    drawn = np.random.default_rng(0).multinomial(n_units, np.full(n_units, 1 / n_units), _RESAMPLES).astype(np.float64)
    drawn = np.concatenate([np.ones((1, n_units)), drawn])
    TP, FP = (_above(drawn @ sums) for sums in by_unit)
    usable = (TP[:, -1] > 0) & (FP[:, -1] > 0)
    TP, FP = TP[usable], FP[usable]
    grid = np.linspace(0, 1, _POINTS + 1)
    roc = np.array([_at_rate(grid, fp / fp[-1], tp / tp[-1]) for tp, fp in zip(TP, FP, strict=True)])
    precision = np.array([_precision(grid[1:], tp, fp) for tp, fp in zip(TP, FP, strict=True)])
    return {
        "roc": {"false_positive_rate": _round(grid), **_named("sensitivity", roc)},
        "precision_recall": {"sensitivity": _round(grid[1:]), **_named("ppv", precision)},
    }


def _cuts(p: _Floats, is_case: NDArray[np.bool_], is_control: NDArray[np.bool_]) -> _Floats:
    """Risks that the curves are drawn through: quantiles of either outcome's, or all where they are few."""
    shares = np.linspace(0, 1, _CUTS + 1)
    quantiles = [np.quantile(p[rows], shares, method="higher") for rows in (is_case, is_control)]
    return np.unique(np.concatenate(quantiles))


def _units(n: int, groups: NDArray[np.integer] | None) -> NDArray[np.intp]:
    """The unit of each patient that the bootstrap draws, from 0."""
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    if n_units <= _MAX_UNITS:
        return unit
    return np.asarray((np.random.default_rng(0).permutation(n_units) % _MAX_UNITS)[unit])


def _above(sums: _Floats) -> _Floats:
    """Weight at or above each cut, the largest cut first, from 0."""
    above = np.cumsum(sums[:, ::-1], axis=1)
    return np.concatenate([np.zeros((len(sums), 1)), above], axis=1)


def _at_rate(grid: _Floats, fpr: _Floats, sensitivity: _Floats) -> _Floats:
    """Sensitivity at false positive rates; the upper end where the curve rises."""
    last = np.append(np.flatnonzero(np.diff(fpr) > 0), len(fpr) - 1)
    return np.asarray(np.interp(grid, fpr[last], sensitivity[last]), dtype=np.float64)


def _precision(recall: _Floats, tp: _Floats, fp: _Floats) -> _Floats:
    """Positive predictive value at sensitivities above 0: FP is linear in TP between two cuts."""
    found = recall * tp[-1]
    # The first cut that reaches each sensitivity. All who come between it and the case before are false positives.
    k = np.searchsorted(tp, found * (1 - _TIED))
    share = (found - tp[k - 1]) / (tp[k] - tp[k - 1])
    false = fp[k - 1] + share * (fp[k] - fp[k - 1])
    return np.asarray(found / (found + false))


def _named(name: str, curves: _Floats) -> dict[str, list[float]]:
    """The curve, first of all, and the percentiles of the resampled others."""
    tail = 100 * (1 - LEVEL) / 2
    lower, upper = np.percentile(curves[1:], [tail, 100 - tail], axis=0)
    return {name: _round(curves[0]), "lower": _round(lower), "upper": _round(upper)}


def _round(values: _Floats) -> list[float]:
    found: list[float] = values.round(_DECIMALS).tolist()
    return found
