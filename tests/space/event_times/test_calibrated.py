"""The calibration of curves: against distortions that are known, and what it must keep."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from autoprog.cohort.event_array import event_times
from autoprog.evaluation import Plan, fit_pipeline
from autoprog.model import dump_estimator, load_estimator
from autoprog.space import CalibratedIncidence, Configuration, Step
from autoprog.space.event_times import CauseSpecific, DiscreteTime
from autoprog.space.prediction.survival import CoxRegression
from autoprog.survival import ipcw_weights
from tests.space.event_times.cohorts import Distorted, as_cohort, real_event_cohort, simulated

TIMES = np.array([0.2, 0.4, 0.6, 0.8, 1.0])


@pytest.mark.parametrize("causes", [1, 2])
@pytest.mark.parametrize(("a", "b"), [(0.6, 1.7), (-0.5, 0.6)])
def test_the_sigmoid_mends_risks_that_were_distorted(a: float, b: float, causes: int) -> None:
    """Half of the patients are censored by the last time. Means of 30 cohorts of 1,500, within 4 standard errors."""
    found, before, after = [], [], []
    for seed in range(30):
        data = simulated(seed, 1500, causes)
        learner = CalibratedIncidence(Distorted(a, b, causes), "sigmoid", TIMES).fit(data.X, data.y)
        found.append(learner.sigmoid_)
        told = learner.estimator_.cumulative_incidence(data.X, TIMES)[:, 0]
        before.append(np.abs(told - data.risk(TIMES)).mean())
        after.append(np.abs(learner.cumulative_incidence(data.X, TIMES)[:, 0] - data.risk(TIMES)).mean())
    error = np.std(found, axis=0) / 30**0.5
    assert (np.abs(np.mean(found, axis=0) - [a, b]) <= 4 * error).all()
    assert error.max() < 0.03
    assert np.max(after) < 0.05 < np.min(before)
    assert np.mean(after) < 0.02


def test_the_sigmoid_is_one_map_and_keeps_the_order_of_patients_and_of_times() -> None:
    data = simulated(0, 600, 2)
    plain = CauseSpecific(CoxRegression(), 2)
    calibrated = CalibratedIncidence(plain, "sigmoid", TIMES).fit(data.X, data.y)
    inner, outer = plain.fit(data.X, data.y).cumulative_incidence(data.X, TIMES), None
    outer = calibrated.cumulative_incidence(data.X, TIMES)
    assert calibrated.sigmoid_[1] > 0
    order = np.argsort(inner[:, 0].ravel())
    assert (np.diff(outer[:, 0].ravel()[order]) >= 0).all()
    assert (np.diff(outer, axis=2) >= 0).all()
    assert outer.sum(axis=1).max() <= 1 + 1e-12
    np.testing.assert_array_equal(calibrated.cumulative_incidence(data.X, [0.0]), 0.0)


@pytest.mark.parametrize("causes", [1, 2])
def test_isotonic_maps_do_not_fall_with_time_and_leave_competing_causes_their_share(causes: int) -> None:
    data = simulated(1, 300, causes, censoring=2.0)
    learner = DiscreteTime(LogisticRegression(), TIMES, causes)
    calibrated = CalibratedIncidence(learner, "isotonic", TIMES).fit(data.X, data.y)
    F = calibrated.cumulative_incidence(data.X, TIMES)
    maps = [m.predict(F[:, 0, j]) for j, m in enumerate(calibrated.isotonic_)]
    assert (np.diff(maps, axis=0) < 0).any()  # each alone would let some risks fall
    assert (np.diff(F, axis=2) >= 0).all()
    assert F.min() >= 0
    assert F.sum(axis=1).max() <= 1 + 1e-12


def test_an_isotonic_map_is_that_of_the_weighted_held_out_risks() -> None:
    data = simulated(2, 300)
    rows = np.arange(300)
    splits = [(rows[rows % 2 == r], rows[rows % 2 != r]) for r in (0, 1)]
    calibrated = CalibratedIncidence(CauseSpecific(CoxRegression()), "isotonic", TIMES, cv=splits).fit(data.X, data.y)
    held_out = np.empty((300, 5))
    for train, test in splits:
        part = CauseSpecific(CoxRegression()).fit(data.X[train], data.y[train])
        held_out[test] = part.cumulative_incidence(data.X[test], TIMES)[:, 0]
    weights, seen = ipcw_weights(data.y["time"], data.y["event"], TIMES), data.y["event"] == 1
    grid = np.linspace(0, 1, 50)
    for j, t in enumerate(TIMES):
        expected = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
            held_out[:, j], seen & (data.y["time"] <= t), weights[:, j]
        )
        np.testing.assert_allclose(calibrated.isotonic_[j].predict(grid), expected.predict(grid), rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_risk_does_not_depend_on_what_else_is_asked(method: str) -> None:
    data = simulated(3, 300, 2, censoring=2.0)
    learner = CalibratedIncidence(DiscreteTime(LogisticRegression(), TIMES, 2), method, TIMES).fit(data.X, data.y)
    together = learner.cumulative_incidence(data.X, TIMES)
    for j, t in enumerate(TIMES):
        np.testing.assert_allclose(learner.cumulative_incidence(data.X, [t])[:, :, 0], together[:, :, j], atol=1e-12)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("causes", [1, 2])
def test_a_fine_grid_goes_through_the_risks_at_the_times_of_the_fit(method: str, causes: int) -> None:
    data = simulated(7, 600, causes)
    learner = CalibratedIncidence(CauseSpecific(CoxRegression(), causes), method, TIMES).fit(data.X, data.y)
    at_times, grid = learner.cumulative_incidence(data.X, TIMES), np.linspace(0, 1.5, 151)
    curves = learner.cumulative_incidence(data.X, grid)
    np.testing.assert_allclose(curves[:, :, [20, 40, 60, 80, 100]], at_times, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(curves[:, :, 0], 0.0)
    np.testing.assert_array_equal(curves[:, :, 101:], curves[:, :, [100]].repeat(50, axis=2))
    assert (np.diff(curves, axis=2) >= 0).all()
    assert curves.sum(axis=1).max() <= 1 + 1e-12


def test_at_one_time_a_learner_that_is_opposed_to_the_outcomes_gives_all_the_incidence() -> None:
    class Opposed(Distorted):
        def cumulative_incidence(self, X: np.ndarray, times: np.ndarray) -> np.ndarray:
            return super().cumulative_incidence(-X, times)

    data = simulated(4, 500)
    calibrated = CalibratedIncidence(Opposed(0.0, 1.0, 1), "sigmoid", [1.0]).fit(data.X, data.y)
    assert calibrated.sigmoid_[1] == 0
    F = calibrated.cumulative_incidence(data.X, [1.0])[:, 0, 0]
    weights = ipcw_weights(data.y["time"], data.y["event"], [1.0])[:, 0]
    expected = weights @ ((data.y["event"] == 1) & (data.y["time"] <= 1)) / weights.sum()
    np.testing.assert_allclose(F, expected, atol=1e-12)


def test_rare_events_do_not_disturb_the_inner_folds() -> None:
    data = simulated(5, 200)
    y = data.y.copy()
    y["event"][np.flatnonzero(y["event"] == 0)[0]] = 2
    F = CalibratedIncidence(CauseSpecific(CoxRegression(), 2), "sigmoid", TIMES).fit(data.X, y)
    assert np.isfinite(F.cumulative_incidence(data.X, TIMES)).all()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_inner_folds_keep_groups_whole_and_are_no_part_of_what_is_stored(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = simulated(6, 240)
    groups = np.random.default_rng(0).integers(0, 40, 240)
    cohort = as_cohort(data.X, data.y, (0.5, 1.0), 1, groups)
    plan = Plan("uno_c", folds=4, repeats=1, seed=0, times=cohort.time_grid)
    configuration = Configuration(Step.of("median"), Step.of("none"), Step.of("cox"), Step.of(method))
    seen: list[list[tuple[np.ndarray, np.ndarray]]] = []
    fit = CalibratedIncidence.fit

    def spy(self: CalibratedIncidence, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> CalibratedIncidence:
        seen.append(self.cv)
        return fit(self, X, y, groups)

    monkeypatch.setattr(CalibratedIncidence, "fit", spy)
    rows = plan.fold(cohort, 0).train
    pipeline = fit_pipeline(configuration, cohort, rows, plan, seed=3)
    (splits,) = seen
    assert len(splits) == 3
    for train, test in splits:
        assert not set(groups[rows][train]) & set(groups[rows][test])
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(rows)))
    assert pipeline.cv == 3
    loaded = load_estimator(dump_estimator(pipeline))
    times = np.array(plan.times)
    np.testing.assert_array_equal(
        loaded.cumulative_incidence(cohort.X, times), pipeline.cumulative_incidence(cohort.X, times)
    )


def test_nine_censored_patients_are_enough() -> None:
    cohort = real_event_cohort("veteran")
    assert cohort.time is not None
    y, t = event_times(cohort.y, cohort.time), np.array(cohort.time_grid)
    F = CalibratedIncidence(CauseSpecific(CoxRegression()), "sigmoid", t).fit(cohort.X, y)
    assert (np.diff(F.cumulative_incidence(cohort.X, t), axis=2) >= 0).all()
