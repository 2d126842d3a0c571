"""What the outer folds say.

d_cf     AUC of the ensemble less that of another on fold f of cohort c                            (cohorts, J)
dbar_c   its mean over the J folds; n1, n2 training and test patients
s_c      corrected standard error, sqrt((1/J + n2/n1) var_f d_cf)

A cohort is flagged where dbar_c + t_{J-1, .95} s_c < 0: the ensemble is worse there than chance explains. The bound of
the mean over cohorts is the 5th percentile of a bootstrap of the cohorts. Calibration is of all test patients of a
repeat together, as a fold has too few.

z        reported score less that on the outer fold, over the two standard errors together: standardised optimism

References
----------
Nadeau & Bengio 2003, Machine Learning 52:239; Hanley & McNeil 1982, Radiology 143:29 (standard error of an AUC).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t
from sklearn.metrics import roc_auc_score

from autoprog.performance import compute_calibration, smooth_calibration

OTHERS = ("simple", "lightgbm", "best_single")

_ENSEMBLE = "delivered"
_FOLDS = 5
_RESAMPLES = 10_000
_LEVEL = 0.95

_Floats = NDArray[np.float64]
Shard = dict[str, Any]


def outer_figures(shards: list[Shard]) -> dict[str, Any]:
    """Figures of the cohorts of which there are at least two folds."""
    by_cohort: dict[str, list[Shard]] = defaultdict(list)
    for shard in sorted(shards, key=lambda s: (s["cohort"], s["fold"])):
        by_cohort[shard["cohort"]].append(shard)
    cohorts = {name: found for name, found in by_cohort.items() if len(found) > 1}
    if not cohorts:
        return {"shards": len(shards)}
    methods = sorted(set.intersection(*(set(s["risks"]) for found in cohorts.values() for s in found)))
    auc = {m: np.array([_aucs(found, m).mean() for found in cohorts.values()]) for m in methods}
    others = [m for m in OTHERS if m in methods]
    best = max(others, key=lambda m: float(auc[m].mean()))
    return {
        "shards": len(shards),
        "cohorts": {name: _of_cohort(found, methods, best) for name, found in cohorts.items()},
        "mean_auc": {m: _rounded(auc[m].mean()) for m in methods},
        "best_of_three": best,
        "differences": {m: _difference(auc[_ENSEMBLE] - auc[m]) for m in methods if m != _ENSEMBLE},
        "rules": {m: _difference(auc[m] - auc[best]) for m in methods if m.startswith("rule/")},
        "rules_less_delivered": _rules(list(cohorts.values()), [m for m in methods if m.startswith("rule/")]),
        "flagged": [name for name, found in cohorts.items() if _corrected_t(found, best)["upper"] < 0],
        "calibration": {m: _mean_calibration(list(cohorts.values()), m) for m in methods},
        "reported_score": _reported(list(cohorts.values())),
        "time": _time([s for found in cohorts.values() for s in found]),
    }


def _aucs(found: list[Shard], method: str) -> _Floats:
    return np.array([roc_auc_score(s["y"], s["risks"][method]) for s in found])


def _difference(d: _Floats) -> dict[str, float]:
    """Mean over cohorts, with its one-sided bound."""
    rng = np.random.default_rng(0)
    means = rng.choice(d, size=(_RESAMPLES, len(d))).mean(axis=1)
    return {"mean": _rounded(d.mean()), "lower": _rounded(np.quantile(means, 1 - _LEVEL)), "n_cohorts": len(d)}


def _rules(cohorts: list[list[Shard]], rules: list[str]) -> dict[str, dict[str, list[float]]]:
    """By measure the mean difference of each rule from what is delivered, and its two-sided interval over cohorts."""
    measures: dict[str, Callable[[list[Shard], str], float]] = {
        "auc": lambda found, m: float(_aucs(found, m).mean()),
        "brier": lambda found, m: float(np.mean([_scaled_brier(s, m) for s in found])),
        "ici": lambda found, m: float(np.nanmean([_calibration(part, m)[0] for part in _repeats(found)])),
        "slope_from_1": lambda found, m: float(np.nanmean([_calibration(part, m)[1] for part in _repeats(found)])),
    }
    figures = {}
    for rule in rules:
        figures[rule] = {
            name: _with_interval(np.array([of(found, rule) - of(found, _ENSEMBLE) for found in cohorts]))
            for name, of in measures.items()
        }
    return figures


def _scaled_brier(shard: Shard, method: str) -> float:
    """Over that of the event rate: 1 is as good as knowing nothing of a patient."""
    y = np.array(shard["y"])
    return float(np.mean((np.array(shard["risks"][method]) - y) ** 2) / (y.mean() * (1 - y.mean())))


def _with_interval(d: _Floats) -> list[float]:
    means = np.random.default_rng(0).choice(d, size=(_RESAMPLES, len(d))).mean(axis=1)
    lower, upper = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return [_rounded(d.mean()), _rounded(lower), _rounded(upper)]


def _corrected_t(found: list[Shard], other: str) -> dict[str, float]:
    d = _aucs(found, _ENSEMBLE) - _aucs(found, other)
    ratio = float(np.mean([len(s["y"]) / s["n_train"] for s in found]))
    error = np.sqrt((1 / len(d) + ratio) * d.var(ddof=1))
    reach = float(t.ppf(_LEVEL, len(d) - 1) * error)
    return {"mean": _rounded(d.mean()), "lower": _rounded(d.mean() - reach), "upper": _rounded(d.mean() + reach)}


def _of_cohort(found: list[Shard], methods: list[str], best: str) -> dict[str, Any]:
    return {
        "folds": len(found),
        "auc": {m: _rounded(_aucs(found, m).mean()) for m in methods},
        "against_best_of_three": _corrected_t(found, best),
        "reported": _rounded(np.mean([s["score"]["estimate"] for s in found])),
        "naive": _rounded(np.mean([s["naive"] for s in found])),
        "interval_width": _median_of(found, "interval_width"),
        "instability": _median_of(found, "instability"),
    }


def _median_of(found: list[Shard], key: str) -> float | None:
    there = [s[key] for s in found if s[key] is not None]
    return _rounded(np.median(there)) if there else None


def _mean_calibration(cohorts: list[list[Shard]], method: str) -> dict[str, float]:
    """Means over cohorts of ICI and |slope - 1|, of which each is the mean over repeats whose slope is finite."""
    pairs = []
    for found in cohorts:
        of_repeats = [_calibration(part, method) for part in _repeats(found)]
        pairs.append(np.nanmean(np.array(of_repeats, dtype=np.float64), axis=0))
    ici, slope = np.nanmean(np.array(pairs), axis=0)
    return {"ici": _rounded(ici), "slope_from_1": _rounded(slope)}


def _repeats(found: list[Shard]) -> list[list[Shard]]:
    parts: dict[int, list[Shard]] = defaultdict(list)
    for shard in found:
        parts[shard["fold"] // _FOLDS].append(shard)
    return list(parts.values())


def _calibration(part: list[Shard], method: str) -> tuple[float, float]:
    y = np.concatenate([s["y"] for s in part]).astype(int)
    q = np.concatenate([s["risks"][method] for s in part])
    smooth, slope = smooth_calibration(y, q), compute_calibration(y, q).slope
    return (
        float("nan") if smooth is None else smooth.ici,
        float("nan") if slope is None else abs(slope.estimate - 1),
    )


def _reported(cohorts: list[list[Shard]]) -> dict[str, float]:
    """Optimism of the reported score and of the naive one, in AUC and standardised; means over cohorts."""
    figures = {}
    for name in ("reported", "naive"):
        plain, standardised = [], []
        for found in cohorts:
            scores = [s["score"]["estimate"] if name == "reported" else s["naive"] for s in found]
            d = np.array(scores) - _aucs(found, _ENSEMBLE)
            z = d / np.array([_standard_error(s) for s in found])
            plain.append(d.mean())
            standardised.append(z.mean())
        figures[f"{name}_optimism"] = _rounded(np.mean(plain))
        figures[f"{name}_standardised_optimism"] = _rounded(np.mean(standardised))
    return figures


def _standard_error(shard: Shard) -> float:
    y = np.array(shard["y"])
    a = float(roc_auc_score(y, shard["risks"][_ENSEMBLE]))
    n1, n0 = int(y.sum()), int(len(y) - y.sum())
    variance = a * (1 - a) + (n1 - 1) * (a / (2 - a) - a**2) + (n0 - 1) * (2 * a**2 / (1 + a) - a**2)
    reported = (shard["score"]["upper"] - shard["score"]["lower"]) / (2 * norm.ppf(0.975))
    # A fold that is ranked without a fault has an error of 0; half a pair is the least that can be told apart.
    return float(np.sqrt(max(variance / (n1 * n0), (0.5 / (n1 * n0)) ** 2) + reported**2))


def _time(shards: list[Shard]) -> dict[str, float]:
    return {
        "most_total_over_budget": _rounded(max(s["total_s"] / s["time_s"] for s in shards)),
        "median_validation_share": _rounded(np.median([s["validation_s"] / s["time_s"] for s in shards])),
        "most_validation_share": _rounded(max(s["validation_s"] / s["time_s"] for s in shards)),
        "without_intervals": sum(s["interval_width"] is None for s in shards),
    }


def _rounded(x: Any) -> float:
    return round(float(x), 4)
