"""Optimism by Harrell's bootstrap against R's rms, in the very resamples that rms drew (`rms_optimism.R`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.performance import METRICS, compute_calibration
from autoprog.performance.resampled import resampled_scores

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
COVARIATES = ["age", "gender", "hr", "sysbp", "diasbp", "bmi", "cvd", "afb", "chf", "miord", "mitype"]


@pytest.fixture(scope="module")
def optimism() -> dict[str, dict[str, float]]:
    """Means over the resamples, by statistic: on the rows drawn, on all patients, and their difference."""
    cohort = pd.read_csv(REFERENCE / "whas500.csv.gz")
    X, y = cohort[COVARIATES].to_numpy(float), cohort["event"].to_numpy(np.int8)
    resamples = np.loadtxt(REFERENCE / "rms_resamples.csv.gz", delimiter=",", dtype=int)
    training, test = [], []
    for rows in resamples:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000))
        p = model.fit(X[rows], y[rows]).predict_proba(X)[:, 1]
        drawn = np.bincount(rows, minlength=len(y))
        training.append(_statistics(y, p, drawn))
        test.append(_statistics(y, p, np.ones(len(y), dtype=int)))
    drawn_mean, test_mean = (pd.DataFrame(found).mean() for found in (training, test))
    return {
        "training": drawn_mean.to_dict(),
        "test": test_mean.to_dict(),
        "optimism": (drawn_mean - test_mean).to_dict(),
    }


def _statistics(y: np.ndarray, p: np.ndarray, counts: np.ndarray) -> dict[str, float]:
    scored = {
        name: float(resampled_scores(METRICS[metric], y, p[None])(counts[:, None].astype(np.float32))[0, 0])
        for name, metric in (("auc", "auc_roc"), ("B", "brier"))
    }
    rows = np.repeat(np.arange(len(y)), counts)
    slope = compute_calibration(y[rows], p[rows]).slope
    assert slope is not None
    return {"Dxy": 2 * scored["auc"] - 1, "B": scored["B"], "Slope": slope.estimate}


@pytest.mark.parametrize("statistic", ["Dxy", "B", "Slope"])
@pytest.mark.parametrize("part", ["training", "test", "optimism"])
def test_optimism_equals_that_of_rms(optimism: dict[str, dict[str, float]], statistic: str, part: str) -> None:
    expected = pd.read_csv(REFERENCE / "rms_optimism.csv").set_index("statistic")
    assert optimism[part][statistic] == pytest.approx(expected.loc[statistic, part], abs=2e-6)
