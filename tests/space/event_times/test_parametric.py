"""Risks beside those of lifelines' parametric models, on cohorts simulated from such a model and on real ones.

Weibull's accelerated failure times are proportional hazards too: where they hold, all learners estimate the same risks,
and the parametric model has the least error. On real cohorts the shape in time is not Weibull's, by up to .045, and the
order of the patients is.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from lifelines import WeibullAFTFitter
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from autoprog.cohort.event_array import event_times
from autoprog.space.event_times import CauseSpecific, DiscreteTime, WeightedHorizons
from autoprog.space.prediction.survival import CoxRegression
from tests.space.event_times.cohorts import Simulated, real_event_cohort, simulated
from tests.survival.reference import SINGLE

HORIZONS = np.array([0.25, 0.5, 1.0])
CLASSIFIER = LogisticRegression(C=1e6, max_iter=1000)


def parametric_risks(X: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Risks of lifelines' Weibull model for its own patients, shape = (n, T)."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model = WeibullAFTFitter().fit(frame.assign(time=y["time"], event=y["event"] == 1), "time", "event")
    return 1 - model.predict_survival_function(frame, times=t).to_numpy().T


def learner(name: str, y: np.ndarray, t: np.ndarray) -> CauseSpecific | DiscreteTime | WeightedHorizons:
    if name == "cox":
        return CauseSpecific(CoxRegression(), 1)
    if name == "ipcw":
        return WeightedHorizons(CLASSIFIER, t.tolist(), 1)
    return DiscreteTime(CLASSIFIER, np.quantile(y["time"][y["event"] == 1], np.linspace(0.05, 0.95, 15)), 1)


def risks(name: str, X: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    return learner(name, y, t).fit(X, y).cumulative_incidence(X, t)[:, 0]


def spread(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(np.mean((a - b) ** 2)))


@cache
def constant_hazards() -> tuple[Simulated, np.ndarray]:
    data = simulated(2026, 3000)
    return data, parametric_risks(data.X, data.y, HORIZONS)


@pytest.mark.parametrize(("name", "most"), [("cox", 0.015), ("discrete_time", 0.015), ("ipcw", 0.035)])
def test_where_the_parametric_model_holds_the_risks_are_its(name: str, most: float) -> None:
    data, theirs = constant_hazards()
    ours = risks(name, data.X, data.y, HORIZONS)
    assert spread(ours, theirs) < most
    assert spread(theirs, data.risk(HORIZONS)) < 0.015


@cache
def real(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    cohort = real_event_cohort(name)
    assert cohort.time is not None
    y = event_times(cohort.y, cohort.time)
    X, t = (cohort.X - cohort.X.mean(axis=0)) / cohort.X.std(axis=0), np.array(cohort.horizons)
    return X, y, t, parametric_risks(X, y, t)


@pytest.mark.parametrize("learner_name", ["cox", "discrete_time"])
@pytest.mark.parametrize("name", SINGLE)
def test_real_patients_are_ordered_as_by_the_parametric_model(name: str, learner_name: str) -> None:
    X, y, t, theirs = real(name)
    ours = risks(learner_name, X, y, t)
    for h in range(len(t)):
        assert spearmanr(ours[:, h], theirs[:, h]).statistic > 0.99
    assert np.abs((ours - theirs).mean(axis=0)).max() < 0.045
