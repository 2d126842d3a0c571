"""Measures of performance by other libraries: writes `tests/data/measures_reference.json`.

    python -m tests.performance.reference

Needs statsmodels and dcurves, which nothing else here does. The risks are rounded, so that the file holds all of them.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dcurves
import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit, logit

FILE = Path(__file__).parents[1] / "data" / "measures_reference.json"
N = 400
THRESHOLDS = [0.05, 0.1, 0.2, 0.35, 0.5, 0.8]
PERCENTILES = [0.05, 0.275, 0.5, 0.725, 0.95]
_FIT = {"tol": 1e-14, "tol_criterion": "params", "maxiter": 100}


def _spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Harrell's restricted cubic spline, term by term as in his book, eq. 2.25."""
    first, last, before = knots[0], knots[-1], knots[-2]
    columns = [x]
    for t in knots[:-2]:
        tail = (x - before).clip(0) ** 3 * (last - t) / (last - before)
        tail -= (x - last).clip(0) ** 3 * (before - t) / (last - before)
        columns.append(((x - t).clip(0) ** 3 - tail) / (last - first) ** 2)
    return sm.add_constant(np.column_stack(columns))


def _glm(y: np.ndarray, design: np.ndarray, offset: np.ndarray | None = None) -> Any:
    return sm.GLM(y, design, family=sm.families.Binomial(), offset=offset).fit(**_FIT)


def reference() -> dict[str, Any]:
    """Everything in the file."""
    rng = np.random.default_rng(11)
    p = expit(rng.normal(-0.8, 1.3, N)).round(6)
    y = (rng.random(N) < expit(0.3 + 0.75 * logit(p) + 0.1 * logit(p) ** 2)).astype(int)
    x = logit(p)
    both, shift = _glm(y, sm.add_constant(x)), _glm(y, np.ones((N, 1)), x)
    knots = np.quantile(x, PERCENTILES, method="inverted_cdf").round(6)  # what a knot is, and no matter of the fit
    curve = _glm(y, _spline(x, knots)).get_prediction(_spline(x, knots)).summary_frame(alpha=0.05)
    distance = np.abs(p - curve["mean"].to_numpy())
    frame = dcurves.dca(data=pd.DataFrame({"y": y, "p": p}), outcome="y", modelnames=["p"], thresholds=THRESHOLDS)
    net = {name: frame.loc[frame["model"] == name, "net_benefit"].tolist() for name in ("p", "all", "none")}
    return {
        "versions": {name: version(name) for name in ("dcurves", "numpy", "statsmodels")},
        "y": y.tolist(),
        "p": p.tolist(),
        "slope": [both.params[1], *both.conf_int(alpha=0.05)[1]],
        "intercept": [shift.params[0], *shift.conf_int(alpha=0.05)[0]],
        "recalibration_covariance": both.cov_params().tolist(),
        "curve": curve[["mean", "mean_ci_lower", "mean_ci_upper"]].to_numpy().tolist(),
        "ici": float(distance.mean()),
        "e50": float(np.quantile(distance, 0.5)),
        "e90": float(np.quantile(distance, 0.9)),
        "thresholds": THRESHOLDS,
        "net_benefit": net,
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(reference()) + "\n", encoding="utf-8")
