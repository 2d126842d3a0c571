"""Smooth models of event times, against lifelines' own predictions and where nothing is missing against Cox's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lifelines import LogLogisticAFTFitter, LogNormalAFTFitter, WeibullAFTFitter

from autoprog.cohort.event_array import event_times
from autoprog.evaluation import Plan, cross_validate
from autoprog.space import Configuration, Space, Step
from autoprog.space.event_times import CauseSpecific
from autoprog.space.prediction.linear_encoding import LinearEncoding
from autoprog.space.prediction.smooth_hazards import AcceleratedFailureTime, Distribution, SmoothCox
from autoprog.space.prediction.survival import CoxRegression
from tests.cohorts import event_cohort

FITTERS = {"weibull": WeibullAFTFitter, "log_normal": LogNormalAFTFitter, "log_logistic": LogLogisticAFTFitter}
SURVIVAL = np.dtype([("event", np.bool_), ("time", np.float64)])


def simulated(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    T = 200 * rng.weibull(1.5, n) * np.exp(0.8 * X[:, 0] - 0.4 * X[:, 1])
    C = rng.uniform(50, 600, n)
    y = np.empty(n, dtype=SURVIVAL)
    y["event"], y["time"] = T <= C, np.minimum(T, C)
    return X, y


@pytest.mark.parametrize("distribution", FITTERS)
def test_survival_is_that_of_lifelines(distribution: Distribution) -> None:
    X, y = simulated()
    horizons = np.array([0.0, 20.0, 100.0, 400.0])
    found = AcceleratedFailureTime(distribution, 0.05).fit(X, y).predict_survival(X, horizons)
    z = LinearEncoding().fit_transform(X)
    table = pd.DataFrame(z, columns=["a", "b", "c"]).assign(time=y["time"], event=y["event"].astype(int))
    model = FITTERS[distribution](penalizer=0.05).fit(table, "time", "event")
    expected = model.predict_survival_function(table, times=horizons[1:]).T.to_numpy()
    np.testing.assert_allclose(found[:, 1:], expected, atol=2e-3)
    np.testing.assert_allclose(found[:, 0], 1.0)


def test_without_splines_it_is_cox_on_the_encoded_columns() -> None:
    X, y = simulated()
    z = LinearEncoding().fit_transform(X)
    expected = CoxRegression(1 / 0.3).fit(z, y).predict_survival(z, [50.0, 200.0])
    np.testing.assert_allclose(SmoothCox(0.3).fit(X, y).predict_survival(X, [50.0, 200.0]), expected)


def test_splines_find_a_hazard_that_is_not_monotone() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((800, 1))
    y = np.empty(800, dtype=SURVIVAL)
    y["event"], y["time"] = True, rng.exponential(np.exp(-(X[:, 0] ** 2)))
    ranks = np.corrcoef(SmoothCox(10.0, 5).fit(X, y).predict(X), X[:, 0] ** 2)[0, 1]
    assert ranks > 0.9
    assert abs(np.corrcoef(SmoothCox(10.0).fit(X, y).predict(X), X[:, 0] ** 2)[0, 1]) < 0.3


@pytest.mark.parametrize("n_causes", [1, 2])
def test_a_path_says_what_single_fits_say(n_causes: int) -> None:
    X, survival = simulated()
    codes = np.where(survival["event"], 1 + (np.arange(300) % n_causes), 0)
    y = event_times(codes, survival["time"])
    times = np.array([50.0, 150.0])
    path = CauseSpecific(SmoothCox(10.0), n_causes).fit_path(X[:200], y[:200], X[200:], y[200:], times)
    assert path.risks.shape == (len(path.values), 100, n_causes, 2)
    for value, risks in zip(path.values, path.risks, strict=True):
        single = CauseSpecific(SmoothCox(float(value)), n_causes).fit(X[:200], y[:200])
        np.testing.assert_allclose(risks, single.cumulative_incidence(X[200:], times), rtol=1e-6)


@pytest.mark.parametrize("name", ["penalised_cox", "spline_cox", "accelerated_failure_time"])
def test_missing_cells_and_competing_causes_are_served(name: str) -> None:
    cohort = event_cohort("pbc_cr")
    plan = Plan("uno_c", folds=3, repeats=1, seed=0, times=cohort.time_grid)
    step = Space.full(cohort.n_causes).algorithm("prediction", name).default_step()
    configuration = Configuration(Step.of("none"), Step.of("none"), step, Step.of("none"))
    found = cross_validate(configuration, cohort, plan)
    assert (found.chosen is None) == (name == "accelerated_failure_time")
    assert found.risks.shape == (cohort.n_rows, len(plan.times))
    assert (np.diff(found.risks, axis=1) >= -1e-6).all()
    assert found.competing is not None
    assert found.competing.shape == (cohort.n_rows, cohort.n_causes - 1, len(cohort.horizons))
    at_horizons = found.risks[:, [plan.times.index(h) for h in cohort.horizons]]
    assert (at_horizons + found.competing.sum(axis=1) <= 1 + 1e-6).all()
