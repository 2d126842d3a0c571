"""Cause-specific hazards, joined, against R's survival; scikit-survival's Cox model; Fine-Gray against R's."""

from __future__ import annotations

from typing import Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sksurv.linear_model import CoxPHSurvivalAnalysis

from autoprog.cohort.event_array import event_times
from autoprog.space.event_times import CauseSpecific, FineGray, cause_specific, of_cause
from autoprog.space.prediction.survival import CoxRegression, SurvivalForest
from autoprog.survival import NoEventError, aalen_johansen, fit_cox, fit_fine_gray
from tests.space.event_times.cohorts import simulated
from tests.survival.reference import COMPETING, SINGLE, cohort_of, of_cohort


class BreslowCox(BaseEstimator):
    """Cox's model with Breslow's ties, which R's joined curves are of."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        self.model_ = fit_cox(X, y["time"], y["event"], ties="breslow")
        self.times_ = self.model_.cumulative_hazard.times
        return self

    def predict_survival(self, X: np.ndarray, times: np.ndarray) -> np.ndarray:
        return 1 - self.model_.risk(X, times)


def curves_in_r(cohort: str, model: str, baseline: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the patients, and what R predicts for them at the cohort's horizons."""
    rows = of_cohort("predictions", cohort, model=model, baseline=baseline)
    table = rows.pivot(index="used_row", columns="horizon", values="value")
    return table.index.to_numpy(), table.to_numpy()


@pytest.mark.parametrize("name", COMPETING)
def test_joined_causes_are_rs_bounded_curves(name: str) -> None:
    c = cohort_of(name)
    rows, expected = curves_in_r(name, "cause_specific_cox", "breslow_bounded")
    learner = CauseSpecific(BreslowCox(), 2).fit(c.X, event_times(c.event, c.time))
    F = learner.cumulative_incidence(c.X[rows], c.horizons)
    np.testing.assert_allclose(F[:, 0], expected, rtol=0, atol=1e-6)


def test_without_ties_the_learner_of_the_space_has_the_same_curves() -> None:
    c = cohort_of("framingham_cr")
    rows, expected = curves_in_r("framingham_cr", "cause_specific_cox", "breslow_bounded")
    F = CauseSpecific(CoxRegression(alpha=0.0), 2).fit(c.X, event_times(c.event, c.time))
    # A few of 1,718 events are tied, which the learner splits by Efron's rule.
    np.testing.assert_allclose(F.cumulative_incidence(c.X[rows], c.horizons)[:, 0], expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", SINGLE)
def test_of_one_cause_the_incidence_is_one_minus_rs_survival(name: str) -> None:
    c = cohort_of(name)
    rows, survival = curves_in_r(name, "cox_efron", "efron")
    y = event_times(c.event, c.time)
    F = CauseSpecific(CoxRegression(alpha=0.0)).fit(c.X, y).cumulative_incidence(c.X[rows], c.horizons)
    np.testing.assert_allclose(F[:, 0], 1 - survival, rtol=0, atol=1e-6)
    assert F.shape == (len(rows), 1, 3)


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0])
def test_cox_has_the_coefficients_of_scikit_survival(name: str, alpha: float) -> None:
    c = cohort_of(name)
    y = of_cause(event_times(c.event, c.time), 1)
    scale = c.X.std(axis=0)
    expected = CoxPHSurvivalAnalysis(alpha=alpha, ties="efron").fit(c.X / scale, y).coef_ / scale
    found = CoxRegression(alpha).fit(c.X, y).coef_
    np.testing.assert_allclose(found * scale, expected * scale, rtol=0, atol=1e-8)


@pytest.mark.parametrize("learner", [CoxRegression(), SurvivalForest(20)], ids=["cox", "forest"])
def test_curves_of_causes_rise_sum_to_at_most_one_and_average_to_the_incidence(learner: BaseEstimator) -> None:
    data, t = simulated(0, 1500, causes=2), np.linspace(0.0, 3.0, 13)
    F = CauseSpecific(learner, 2).fit(data.X, data.y).cumulative_incidence(data.X, t)
    assert (np.diff(F, axis=2) >= 0).all()
    assert F.sum(axis=1).max() <= 1
    np.testing.assert_array_equal(F[:, :, 0], 0)
    curves = aalen_johansen(data.y["time"], data.y["event"])
    for cause in (1, 2):
        expected = curves.incidence(cause)(t[:5])
        np.testing.assert_allclose(F[:, cause - 1, :5].mean(axis=0), expected, atol=0.02)


def test_a_cause_that_nobody_had_has_no_incidence() -> None:
    data, t = simulated(1, 300), np.array([0.5, 1.0])
    F = CauseSpecific(CoxRegression(), 2).fit(data.X, data.y).cumulative_incidence(data.X, t)
    alone = CauseSpecific(CoxRegression(), 1).fit(data.X, data.y).cumulative_incidence(data.X, t)
    np.testing.assert_allclose(F[:, 0], alone[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(F[:, 1], 0.0)
    gray = FineGray(2, until=1.0).fit(data.X, data.y).cumulative_incidence(data.X, t)
    np.testing.assert_allclose(gray[:, 0], alone[:, 0], rtol=0, atol=2e-3)  # Breslow's ties, Efron's there
    np.testing.assert_array_equal(gray[:, 1], 0.0)


@pytest.mark.parametrize("learner", [CauseSpecific(CoxRegression(), 2), FineGray(2)], ids=["causes", "fine_gray"])
def test_without_the_event_of_interest_there_is_nothing_to_learn(learner: BaseEstimator) -> None:
    y = event_times([2, 2, 0, 0], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises((ValueError, NoEventError), match="event"):
        learner.fit(np.arange(4.0)[:, None], y)


def test_before_the_first_event_nothing_has_happened() -> None:
    data = simulated(2, 100, causes=2)
    before = data.y["time"].min() / 2
    F = CauseSpecific(CoxRegression(), 2).fit(data.X, data.y).cumulative_incidence(data.X, [before])
    np.testing.assert_array_equal(F, 0.0)


def test_many_patients_and_many_steps_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    data, t = simulated(3, 400, causes=2), np.array([0.3, 0.9])
    learner = CauseSpecific(CoxRegression(), 2).fit(data.X, data.y)
    whole = learner.cumulative_incidence(data.X, t)
    monkeypatch.setattr(cause_specific, "_CELLS_AT_ONCE", 2000)
    np.testing.assert_allclose(learner.cumulative_incidence(data.X, t), whole, rtol=0, atol=1e-14)
    monkeypatch.setattr(cause_specific, "_MAX_STEPS", 40)
    # The hazards are the same at the steps that are left; how they interleave between two is not.
    np.testing.assert_allclose(learner.cumulative_incidence(data.X, t), whole, rtol=0, atol=2e-3)


@pytest.mark.parametrize("name", COMPETING)
def test_fine_gray_is_that_of_r(name: str) -> None:
    c = cohort_of(name)
    rows, expected = curves_in_r(name, "fg_finegray_breslow", "breslow")
    y = event_times(c.event, c.time)
    first = FineGray(1, ridge=0.0).fit(c.X, y)  # other causes compete without a model of their own
    np.testing.assert_allclose(first.cumulative_incidence(c.X[rows], c.horizons)[:, 0], expected, rtol=0, atol=1e-6)


def test_fine_gray_divides_where_the_causes_models_sum_above_one() -> None:
    """High hazards of both causes, which are proportional in neither subdistribution."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    cause = 1 + (rng.random(500) < 0.5)
    y = event_times(cause, rng.exponential(np.exp(-2 * X[:, 0])))
    until = float(np.quantile(y["time"], 0.8))
    learner = FineGray(2, until=until).fit(X, y)
    t = np.linspace(0, until, 9)
    F = learner.cumulative_incidence(X, t)
    apart = [fit_fine_gray(X, y["time"], y["event"], cause=k, ridge=0.1).risk(X, t) for k in (1, 2)]
    total = np.sum(apart, axis=0)[:, -1]
    assert 10 <= (total > 1).sum() < 490
    for k in range(2):
        np.testing.assert_allclose(F[:, k], apart[k] / np.maximum(total, 1)[:, None], rtol=0, atol=1e-12)
    assert (np.diff(F, axis=2) >= 0).all()
    assert F.sum(axis=1).max() <= 1 + 1e-12
    # Neither depends on what else is asked, and beyond the last time nothing is known.
    np.testing.assert_array_equal(learner.cumulative_incidence(X, t[[3]]), F[:, :, [3]])
    np.testing.assert_array_equal(learner.cumulative_incidence(X, [10 * until]), F[:, :, [-1]])


def test_between_the_steps_of_a_forest_the_causes_still_leave_what_survives_them_all() -> None:
    """A forest's curve rises between the points of its grid; incidences that were read at these alone came too late."""
    data = simulated(3, 400, 2)
    learner = CauseSpecific(SurvivalForest(20, random_state=0), 2).fit(data.X, data.y)
    steps = np.unique(np.concatenate([m.times_ for m in learner.learners_]))
    t = (steps[10:-1:7] + steps[11::7][: len(steps[10:-1:7])]) / 2
    for time in t:
        F = learner.cumulative_incidence(data.X[:50], [time])[:, :, 0]
        survival = np.prod([m.predict_survival(data.X[:50], [time])[:, 0] for m in learner.learners_], axis=0)
        np.testing.assert_allclose(1 - F.sum(axis=1), survival, rtol=1e-9)
