"""Patients for the estimator, and settings that make a search short."""

from __future__ import annotations

import gzip
import io
from typing import Any

import numpy as np
import pandas as pd

from tests.cohorts import event_file

QUICK: dict[str, Any] = {
    "budget": {"evaluations": 4},
    "folds": 3,
    "repeats": 1,
    "space": {"imputation": ["median"], "features": ["none"], "prediction": ["logistic_regression", "ridge", "cox"]},
}


def patients(n: int = 160) -> tuple[pd.DataFrame, pd.Series]:
    """Numbers, texts, categories and missing cells; the outcome goes by age and stage."""
    rng = np.random.default_rng(0)
    age = rng.normal(60, 10, n)
    stage = pd.Categorical(rng.choice(["I", "II", "III"], n))
    logit = 0.1 * (age - 60) + 1.5 * (stage == "III")
    died = pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no"))
    frame = pd.DataFrame({"age": age, "stage": stage, "sex": rng.choice(["f", "m"], n), "outcome": rng.normal(size=n)})
    frame.loc[::7, "age"] = np.nan
    frame.index = pd.RangeIndex(1000, 1000 + n)
    return frame, died


def followed() -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Features, times and events of half of `mgus2`, where two events compete."""
    frame = pd.read_csv(io.BytesIO(gzip.decompress(event_file("mgus2"))))[::2].reset_index(drop=True)
    return frame.drop(columns=["time", "event"]), frame["time"], frame["event"]
