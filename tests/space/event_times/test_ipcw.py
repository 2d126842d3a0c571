"""The reduction by weights of inverse probability of censoring against the Aalen-Johansen estimate."""

from __future__ import annotations

from typing import Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from autoprog.cohort import stratified_rows
from autoprog.cohort.event_array import event_times
from autoprog.space.event_times import WeightedHorizons
from autoprog.space.subsample import SubsampledClassifier
from autoprog.survival import aalen_johansen, ipcw_weights
from tests.space.event_times.cohorts import simulated, unrelated


class Spy(BaseEstimator):
    """Keeps what it was fitted to, and gives everybody a risk."""

    fits: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # noqa: RUF012  clones share it

    def __init__(self, risk: float = 0.5) -> None:
        self.risk = risk

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> Self:
        self.fits.append((X, y, sample_weight))
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.tile([1 - self.risk, self.risk], (len(X), 1))


@pytest.mark.parametrize("causes", [1, 2, 3])
@pytest.mark.parametrize("distinct", [None, 8], ids=["distinct", "tied"])
@pytest.mark.parametrize("seed", range(3))
def test_with_nothing_but_an_intercept_it_is_aalen_johansen(seed: int, distinct: int | None, causes: int) -> None:
    y = unrelated(seed, 300, causes, distinct)
    t = np.quantile(y["time"], [0.3, 0.5, 0.8])
    learner = WeightedHorizons(DummyClassifier(strategy="prior"), t, causes).fit(np.ones((300, 1)), y)
    at = np.sort(np.concatenate([[0.0], t, y["time"][(y["event"] > 0) & (y["time"] <= t[-1])]]))
    F = learner.cumulative_incidence(np.ones((1, 1)), at)[0]
    curves = aalen_johansen(y["time"], y["event"], causes=causes)
    for cause in range(1, causes + 1):
        expected = curves.incidence(cause)(at)
        at_horizons = np.isin(at, t)
        np.testing.assert_allclose(F[cause - 1, at_horizons], expected[at_horizons], rtol=0, atol=1e-12)
        # Between horizons it goes as the cohort does; a millionth of the way is that of the time itself.
        np.testing.assert_allclose(F[cause - 1], expected, rtol=0, atol=1e-5)


def test_classifiers_learn_from_those_whose_outcome_is_known_by_weights_of_mean_one() -> None:
    data, t = simulated(0, 300, causes=2), np.array([0.4, 1.0])
    Spy.fits.clear()
    WeightedHorizons(Spy(), t, 2).fit(data.X, data.y)
    assert len(Spy.fits) == 4
    weights, time, event = ipcw_weights(data.y["time"], data.y["event"], t), data.y["time"], data.y["event"]
    for (X, label, weight), (cause, j) in zip(Spy.fits, [(1, 0), (1, 1), (2, 0), (2, 1)], strict=True):
        known = (event > 0) & (time <= t[j]) | (time > t[j])
        np.testing.assert_array_equal(X, data.X[known])
        np.testing.assert_array_equal(label, ((event == cause) & (time <= t[j]))[known])
        np.testing.assert_allclose(weight, weights[known, j] / weights[known, j].mean())
        assert weight.mean() == pytest.approx(1)


def test_a_subsampled_classifier_is_fitted_to_the_weights_of_its_rows() -> None:
    data = simulated(1, 400, censoring=0.0)
    y = (data.y["time"] <= 1).astype(np.int8)
    weights = np.random.default_rng(0).uniform(0.2, 5, 400)
    rows = stratified_rows(y, 400, 150, np.random.default_rng(7))
    found = SubsampledClassifier(LogisticRegression(), 150, 7).fit(data.X, y, weights)
    expected = LogisticRegression().fit(data.X[rows], y[rows], weights[rows])
    unweighted = LogisticRegression().fit(data.X[rows], y[rows])
    np.testing.assert_array_equal(found.predict_proba(data.X), expected.predict_proba(data.X))
    assert np.abs(found.predict_proba(data.X) - unweighted.predict_proba(data.X)).max() > 0.01


class ByHorizon(BaseEstimator):
    """One risk for everybody where many patients have a known outcome, as early ones have, and another where few."""

    def __init__(self, early: float, late: float) -> None:
        self.early, self.late = early, late

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> Self:
        self.risk_ = self.early if len(X) > 250 else self.late
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.tile([1 - self.risk_, self.risk_], (len(X), 1))


@pytest.mark.parametrize(
    ("early", "late", "causes", "expected"),
    [(0.9, 0.5, 1, [0.9, 0.9]), (0.5, 0.9, 1, [0.5, 0.9]), (0.5, 0.9, 2, [0.5 / 1.8, 0.5]), (0.3, 0.4, 2, [0.3, 0.4])],
)
def test_risks_do_not_fall_with_the_horizon_and_causes_share_what_there_is(
    early: float, late: float, causes: int, expected: list[float]
) -> None:
    data, t = simulated(2, 600, causes, censoring=3.0), np.array([0.2, 0.8])
    learner = WeightedHorizons(ByHorizon(early, late), t, causes).fit(data.X, data.y)
    assert [[c.risk_ for c in of_cause] for of_cause in learner.classifiers_] == [[early, late]] * causes
    F = learner.cumulative_incidence(data.X[:2], t)
    np.testing.assert_allclose(F, np.broadcast_to(expected, F.shape), rtol=0, atol=1e-15)


def test_a_competing_cause_that_nobody_has_until_an_early_horizon_has_no_incidence_there() -> None:
    data, t = simulated(3, 500), np.array([0.3, 1.0])
    y = data.y.copy()
    y["event"][(y["event"] == 0) & (y["time"] > 0.5) & (y["time"] < 1.0)] = 2
    F = WeightedHorizons(LogisticRegression(), t, 2).fit(data.X, y).cumulative_incidence(data.X, t)
    np.testing.assert_array_equal(F[:, 1, 0], 0.0)
    assert F[:, 1, 1].min() > 0


@pytest.mark.parametrize(("last", "who"), [(0.05, "none"), (99.0, "all")])
def test_a_horizon_by_which_none_or_all_have_the_event_is_refused(last: float, who: str) -> None:
    y = event_times([1, 1, 1, 0], [0.1, 0.2, 0.3, 0.05])
    with pytest.raises(ValueError, match=f"{who} have the event of interest until {last:g}"):
        WeightedHorizons(LogisticRegression(), [last]).fit(np.ones((4, 1)), y)
