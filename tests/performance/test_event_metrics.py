"""The measures of curves: R's values, the functions of `autoprog.survival`, and where they are taken."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort.event_array import event_times
from autoprog.evaluation import Plan, cross_validate, make_folds
from autoprog.performance import EVENT_METRICS, ScoringContext, make_event_metric
from autoprog.space import Configuration, Step
from autoprog.survival import brier_score, censoring_survival, harrell_c, integrated_brier, uno_c
from tests.cohorts import cleveland_cohort
from tests.space.event_times.cohorts import as_cohort, real_event_cohort, simulated
from tests.survival.reference import COHORTS, COMPETING, SINGLE, cohort_of, metric

COX = Configuration(Step.of("median"), Step.of("none"), Step.of("cox"), Step.of("none"))


def score(name: str, cohort: str) -> float:
    """A measure of R's risks at the cohort's horizons, pooled over all patients."""
    c = cohort_of(cohort)
    times = tuple(c.horizons.tolist())
    follow_up = ScoringContext.of(real_event_cohort(cohort), times)
    return make_event_metric(name, follow_up).score(event_times(c.event, c.time), c.risk)


@pytest.mark.parametrize("cohort", COHORTS)
def test_areas_and_brier_scores_are_rs(cohort: str) -> None:
    assert score("time_dependent_auc", cohort) == pytest.approx(metric(cohort, "auc_cd").mean(), abs=1e-9)
    first, second, third = metric(cohort, "brier")
    a, b = np.diff(cohort_of(cohort).horizons)
    expected = (a * (first + second) + b * (second + third)) / 2 / (a + b)
    assert score("integrated_brier", cohort) == pytest.approx(expected, abs=1e-9)


# R ranks by the linear predictor, which the risk rises with; where risks are 1 to the last digit they are tied.
@pytest.mark.parametrize("cohort", COHORTS)
def test_concordances_are_rs(cohort: str) -> None:
    name, uno = ("c_harrell", "c_uno_tau_le") if cohort in SINGLE else ("c_cause_specific", "c_ipcw_wolbers_tau")
    assert score("c_index", cohort) == pytest.approx(metric(cohort, name)[0], abs=1e-6)
    assert score("uno_c", cohort) == pytest.approx(metric(cohort, uno)[0], abs=1e-6)


@pytest.mark.parametrize("name", EVENT_METRICS)
@pytest.mark.parametrize("cohort", ["whas500", "mgus2"])
def test_scores_of_folds_weigh_by_the_censoring_of_all(name: str, cohort: str) -> None:
    patients = real_event_cohort(cohort)
    times = patients.time_grid
    plan = Plan(name, folds=4, repeats=1, seed=3, times=times)
    result = cross_validate(COX, patients, plan)
    assert result.risks.shape == (patients.n_rows, len(times))
    y = patients.outcomes
    G = censoring_survival(y["time"], y["event"])
    measure = make_event_metric(name, ScoringContext(times, patients.horizons, 2 if cohort == "mgus2" else 1, G))
    expected = [measure.score(y[f.test], result.risks[f.test]) for f in make_folds(patients, 4, 1, 3)[0]]
    # Risks are kept as float32.
    np.testing.assert_allclose(result.fold_scores, expected, rtol=0, atol=1e-6)
    worthless = np.full_like(result.risks, 0.5)
    assert measure.gain(measure.score(y, result.risks)) > measure.gain(measure.score(y, worthless)) + 0.02


def test_concordances_rank_by_the_risk_until_the_last_time() -> None:
    data, times = simulated(0, 300), (0.3, 0.6, 1.0)
    follow_up = ScoringContext.of(as_cohort(data.X, data.y, times, 1), times)
    F = data.risk(np.array(times))
    F[:, :2] = np.random.default_rng(0).random((300, 2))
    time, event = data.y["time"], data.y["event"]
    assert make_event_metric("c_index", follow_up).score(data.y, F) == harrell_c(time, event, F[:, -1]).index
    assert make_event_metric("uno_c", follow_up).score(data.y, F) == uno_c(time, event, F[:, -1], 1.0).index


def test_areas_are_taken_at_the_horizons_alone() -> None:
    data, times = simulated(1, 300), (0.3, 0.6, 1.0)
    follow_up = ScoringContext.of(as_cohort(data.X, data.y, (0.6, 1.0), 1), times)
    F = data.risk(np.array(times))
    before = make_event_metric("time_dependent_auc", follow_up).score(data.y, F)
    F[:, 0] = 0.0
    assert make_event_metric("time_dependent_auc", follow_up).score(data.y, F) == before


def test_the_integral_over_one_time_is_the_score_at_it() -> None:
    data = simulated(2, 200)
    follow_up = ScoringContext.of(as_cohort(data.X, data.y, (1.0,), 1), (1.0,))
    F = data.risk(np.array([1.0]))
    expected = brier_score(data.y["time"], data.y["event"], F, [1.0])[0]
    assert make_event_metric("integrated_brier", follow_up).score(data.y, F) == pytest.approx(expected, abs=1e-15)


def test_the_true_risks_have_the_best_integrated_brier_score() -> None:
    data, times = simulated(3, 4000, 2), (0.3, 0.6, 1.0)
    follow_up = ScoringContext.of(as_cohort(data.X, data.y, (1.0,), 2), times)
    measure, truth = make_event_metric("integrated_brier", follow_up), data.risk(np.array(times))
    best = measure.score(data.y, truth)
    assert best == integrated_brier(data.y["time"], data.y["event"], truth, times)
    for other in (truth**1.3, truth**0.7, np.broadcast_to(truth.mean(axis=0), truth.shape)):
        assert measure.gain(measure.score(data.y, other)) < measure.gain(best)


def test_measures_say_what_they_are() -> None:
    times = (0.3, 1.0)
    data = simulated(4, 50)
    follow_up = ScoringContext.of(as_cohort(data.X, data.y, (1.0,), 1), times)
    assert EVENT_METRICS[0] == "uno_c"
    for name in EVENT_METRICS:
        found = make_event_metric(name, follow_up)
        assert found.reference
        assert found.ranks_only == found.greater_is_better == (name != "integrated_brier")
    with pytest.raises(KeyError):
        make_event_metric("auc_roc", follow_up)


def test_a_cohort_without_times_has_no_follow_up() -> None:
    with pytest.raises(ValueError, match="the outcome has no time"):
        ScoringContext.of(cleveland_cohort(), (1.0,))


def test_competing_cohorts_are_those_with_two_causes() -> None:
    for cohort in COHORTS:
        patients = real_event_cohort(cohort)
        assert ScoringContext.of(patients, patients.time_grid).n_causes == (2 if cohort in COMPETING else 1)
