"""What the simulated cohorts say of reported scores and of patients' intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta

_Row = dict[str, Any]


def coverage_figures(rows: list[_Row]) -> dict[str, Any]:
    """Figures of all cohorts, and by truth and size."""
    if not rows:
        return {"cohorts": 0}
    return {
        "cohorts": len(rows),
        "score": _score(rows),
        "patient_intervals": _intervals(rows),
        "time": {
            "most_total_over_budget": _rounded(max(r["total_s"] / r["time_s"] for r in rows)),
            "median_validation_share": _rounded(np.median([r["validation_s"] / r["time_s"] for r in rows])),
            "most_validation_share": _rounded(max(r["validation_s"] / r["time_s"] for r in rows)),
        },
        "by_truth": _by(rows, "truth"),
        "by_size": _by(rows, "n_patients"),
    }


def withheld_figures(rows: list[_Row]) -> dict[str, Any]:
    """Cohorts with intervals, and by how many values were withheld the mean share covered and the mean width."""
    told = [r["withheld"] for r in rows if r["covered"] is not None]
    means = np.mean(told, axis=0) if told else np.empty((0, 3))
    by_number = {str(int(k)): {"covered": _rounded(c), "width": _rounded(w)} for k, c, w in means}
    return {"cohorts": len(rows), "with_intervals": len(told), "by_withheld": by_number}


def _by(rows: list[_Row], key: str) -> dict[str, Any]:
    found = {}
    for value in sorted({r[key] for r in rows}):
        part = [r for r in rows if r[key] == value]
        found[str(value)] = {"score": _score(part), "patient_intervals": _intervals(part)}
    return found


def _score(rows: list[_Row]) -> dict[str, Any]:
    """How often the interval covers the true AUC, with Clopper and Pearson's interval; the biases of three scores."""
    covered = sum(r["lower"] <= r["true_auc"] <= r["upper"] for r in rows)
    n = len(rows)
    lower = 0.0 if covered == 0 else float(beta.ppf(0.025, covered, n - covered + 1))
    upper = 1.0 if covered == n else float(beta.ppf(0.975, covered + 1, n - covered))
    return {
        "n": n,
        "covered": _rounded(covered / n),
        "covered_lower": _rounded(lower),
        "covered_upper": _rounded(upper),
        "above": sum(r["true_auc"] > r["upper"] for r in rows),
        "below": sum(r["true_auc"] < r["lower"] for r in rows),
        **{
            f"bias_{name}": _rounded(np.mean([r[key] - r["true_auc"] for r in rows]))
            for name, key in (("reported", "estimate"), ("uncorrected", "uncorrected"), ("naive", "naive"))
        },
    }


def _intervals(rows: list[_Row]) -> dict[str, Any]:
    """Mean share of patients whose true risk is covered, and the cohorts that have no intervals."""
    there = [r for r in rows if r["covered"] is not None]
    if not there:
        return {"n": 0, "without": len(rows)}
    return {
        "n": len(there),
        "without": len(rows) - len(there),
        "covered": _rounded(np.mean([r["covered"] for r in there])),
        "covered_by_third_of_risk": np.mean([r["covered_by_risk"] for r in there], axis=0).round(4).tolist(),
        "least_tenth": _rounded(np.quantile([r["covered"] for r in there], 0.1)),
        "width": _rounded(np.mean([r["width"] for r in there])),
    }


def _rounded(x: Any) -> float:
    return round(float(x), 4)
