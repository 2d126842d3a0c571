"""The discrete-time reduction against the Aalen-Johansen estimate and against the product of its own hazards."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from autoprog.cohort.event_array import event_times
from autoprog.space.event_times import DiscreteTime, WeightedHorizons, discrete_time, ipcw
from autoprog.space.event_times.discrete_time import most_patients
from autoprog.space.event_times.person_periods import PersonPeriods, with_interval
from autoprog.space.prediction.penalised import PenalisedLogistic
from autoprog.survival import aalen_johansen
from tests.space.event_times.cohorts import simulated, unrelated

SATURATED = DecisionTreeClassifier()
"""Fully grown: of patients without columns it gives each interval its own share of events."""


def curves_of_all(y: np.ndarray, t: np.ndarray, causes: int) -> np.ndarray:
    """The reduction's estimate for patients without columns, shape = (causes, T)."""
    learner = DiscreteTime(SATURATED, t, causes).fit(np.empty((len(y), 0)), y)
    return learner.cumulative_incidence(np.empty((1, 0)), t)[0]


def aalen_johansen_at(y: np.ndarray, t: np.ndarray, causes: int) -> np.ndarray:
    curves = aalen_johansen(y["time"], y["event"], causes=causes)
    return np.array([curves.incidence(cause)(t) for cause in range(1, causes + 1)])


@pytest.mark.parametrize("causes", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_where_nobody_is_censored_within_an_interval_it_is_aalen_johansen(seed: int, causes: int) -> None:
    y = unrelated(seed, 400, causes)
    t = np.quantile(y["time"], [0.2, 0.4, 0.6, 0.8])
    censored = (y["event"] == 0) & (y["time"] < t[-1])
    y["time"][censored] = t[np.searchsorted(t, y["time"][censored])]  # the end of his interval
    np.testing.assert_allclose(curves_of_all(y, t, causes), aalen_johansen_at(y, t, causes), rtol=0, atol=1e-12)


@pytest.mark.parametrize("causes", [1, 2])
def test_counting_the_censored_from_the_middle_on_leaves_a_small_error(causes: int) -> None:
    """Half of the patients are censored by the last of ten cuts. The rule errs by a thousandth; to count all who were
    censored within an interval as at risk in it, by up to a hundredth."""
    errors, errors_at_risk = [], []
    for seed in range(20):
        y = simulated(seed, 2000, causes).y
        t = np.linspace(0.1, 1.0, 10)
        truth = aalen_johansen_at(y, t, causes)
        errors.append(curves_of_all(y, t, causes) - truth)
        at_end = y.copy()
        within = (y["event"] == 0) & (y["time"] < t[-1])
        at_end["time"][within] = t[np.searchsorted(t, y["time"][within])]
        errors_at_risk.append(curves_of_all(at_end, t, causes) - truth)
    assert np.abs(np.mean(errors, axis=0)).max() < 1e-3
    assert np.abs(errors).max() < 5e-3
    assert np.abs(np.mean(errors_at_risk, axis=0)).max() > 5e-3


@pytest.mark.parametrize("causes", [1, 2])
def test_curves_are_the_product_of_the_classifiers_hazards(causes: int) -> None:
    data, t = simulated(1, 500, causes), np.array([0.2, 0.4, 0.7, 1.0])
    learner = DiscreteTime(LogisticRegression(), t, causes).fit(data.X, data.y)
    F = learner.cumulative_incidence(data.X[:20], t)
    periods = PersonPeriods.of(data.y, t)
    table = with_interval(data.X[periods.patient], periods.interval, 4)
    models = [LogisticRegression().fit(table, periods.event == cause) for cause in range(1, causes + 1)]
    for i in range(20):
        survival, expected = 1.0, np.zeros(causes)
        for j in range(4):
            row = with_interval(data.X[[i]], np.array([j]), 4)
            hazards = np.array([model.predict_proba(row)[0, 1] for model in models])
            expected += survival * hazards
            survival *= 1 - hazards.sum()
            np.testing.assert_allclose(F[i, :, j], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reduction", [DiscreteTime, WeightedHorizons])
def test_a_path_is_predicted_from_in_parts(
    reduction: type[DiscreteTime | WeightedHorizons], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    class Spy(PenalisedLogistic):
        def _columns(self, X: np.ndarray) -> np.ndarray:
            sizes.append(len(X))
            return super()._columns(X)

    data, others, t = simulated(1, 400, 2), simulated(2, 90, 2), np.array([0.3, 0.6, 1.0])
    whole = reduction(Spy(), t, 2).fit_path(data.X, data.y, others.X, others.y, t)
    assert max(sizes) == (270 if reduction is DiscreteTime else 90)
    sizes.clear()
    monkeypatch.setattr(discrete_time, "_CELLS_AT_ONCE", 400)
    monkeypatch.setattr(ipcw, "_ROWS_AT_ONCE", 20)
    found = reduction(Spy(), t, 2).fit_path(data.X, data.y, others.X, others.y, t)
    assert max(sizes) <= 70
    assert found.risks.dtype == np.float32
    assert found.values == whole.values
    np.testing.assert_allclose(found.risks, whole.risks, rtol=1e-5)
    single = reduction(PenalisedLogistic(found.values[-1]), t, 2).fit(data.X, data.y)
    np.testing.assert_allclose(found.risks[-1], single.cumulative_incidence(others.X, t), atol=1e-4)


def test_curves_are_straight_between_cuts_and_hold_beyond_the_last() -> None:
    data, t = simulated(2, 300), np.array([0.3, 0.6, 1.0])
    learner = DiscreteTime(LogisticRegression(), t).fit(data.X, data.y)
    at_cuts = learner.cumulative_incidence(data.X, t)
    between = learner.cumulative_incidence(data.X, np.array([0.0, 0.15, 0.45, 1.0, 7.0]))
    np.testing.assert_array_equal(between[:, :, 0], 0.0)
    np.testing.assert_allclose(between[:, :, 1], at_cuts[:, :, 0] / 2, atol=1e-12)
    np.testing.assert_allclose(between[:, :, 2], at_cuts[:, :, :2].mean(axis=2), atol=1e-12)
    np.testing.assert_array_equal(between[:, :, 3], at_cuts[:, :, 2])
    np.testing.assert_array_equal(between[:, :, 4], at_cuts[:, :, 2])


def test_hazards_of_causes_that_sum_above_one_are_divided_by_their_sum() -> None:
    class Certain(LogisticRegression):
        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.tile([0.1, 0.9], (len(X), 1))

    data, t = simulated(3, 300, causes=2), np.array([0.5, 1.0])
    F = DiscreteTime(Certain(), t, 2).fit(data.X, data.y).cumulative_incidence(data.X[:3], t)
    np.testing.assert_allclose(F, 0.5, atol=1e-15)


def test_a_cause_that_hardly_anybody_has_gets_its_share_and_keeps_nobody_from_learning() -> None:
    data, t = simulated(4, 400), np.array([0.3, 0.6, 1.0])
    rare, none = data.y.copy(), data.y
    rare["event"][np.flatnonzero(rare["event"] == 0)[:3]] = 2
    for y, mean in ((none, 0.0), (rare, aalen_johansen_at(rare, t, 2)[1, -1])):
        F = DiscreteTime(LogisticRegression(), t, 2).fit(data.X, y).cumulative_incidence(data.X, t)
        # The three share one hazard in all intervals, whenever they had their event.
        assert F[:, 1, -1].mean() == pytest.approx(mean, abs=0.005)
        assert np.corrcoef(F[:, 0, -1], data.risk(t)[:, -1])[0, 1] > 0.9


def test_without_the_event_of_interest_there_is_nothing_to_learn() -> None:
    y = event_times([2, 2, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 9.0])
    with pytest.raises(ValueError, match="no patient to learn from has the event of interest until 1"):
        DiscreteTime(LogisticRegression(), [0.5, 1.0], 2).fit(np.ones((5, 1)), y)


def test_of_very_many_patients_as_many_are_pooled_as_the_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete_time, "MAX_CELLS", 2000)
    seen: list[tuple[int, int]] = []

    class Spy(LogisticRegression):
        def fit(self, X: np.ndarray, y: np.ndarray) -> LogisticRegression:
            seen.append((X.size, int(y.sum())))
            return super().fit(X, y)

    data, t = simulated(5, 1000), np.array([0.3, 0.6, 1.0])
    DiscreteTime(Spy(), t).fit(data.X, data.y)
    ((cells, events),) = seen
    assert 1500 < cells <= 2000  # those who were censored early in an interval have a row less than was reckoned with
    share = ((data.y["event"] == 1) & (data.y["time"] <= 1)).mean()
    assert events == pytest.approx(share * most_patients(1000, 1900, 5), rel=0.15)
    assert most_patients(1000, 1900, 5) == 210
    assert most_patients(100, 200, 5) == 100
