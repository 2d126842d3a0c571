"""Rules at several horizons as one document, and the observed rate where patients are followed up."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autoprog.endpoints import rule_sets_from, rules_document
from autoprog.interpreter import Clusters, IncidenceOutcome, explain, make_strata
from autoprog.survival import aalen_johansen
from tests.cohorts import cleveland_cohort, event_cohort


def test_rules_of_horizons_come_back_from_their_document() -> None:
    cohort = cleveland_cohort()
    rng = np.random.default_rng(0)
    age = np.nan_to_num(cohort.X[:, 0]) / 100
    horizons, rule_sets = (1.0, 2.5), []
    for k, horizon in enumerate(horizons):
        risks = np.clip(age + 0.02 * rng.normal(size=cohort.n_rows) + 0.1 * k, 0, 1)
        rule_sets.append(explain(cohort, risks, make_strata(risks), horizon=horizon))
    document = json.loads(json.dumps(rules_document(rule_sets, horizons)))
    assert [s["horizon"] for s in document["strata"]] == [1.0] * 3 + [2.5] * 3
    places = [rule["horizon"] for rule in document["rules"]]
    assert places == sorted(places)
    assert set(places) == {1.0, 2.5}
    assert rule_sets_from(document) == tuple(rule_sets)


def test_an_outcome_without_a_time_has_the_document_of_its_rules() -> None:
    cohort = cleveland_cohort()
    risks = np.nan_to_num(cohort.X[:, 0]) / 100
    rules = explain(cohort, risks, make_strata(risks))
    document = rules_document([rules], ())
    assert document["horizons"] == []
    assert rule_sets_from(json.loads(json.dumps(document))) == (rules,)
    del document["horizons"]  # as models had it before there were horizons
    assert rule_sets_from(json.loads(json.dumps(document))) == (rules,)


def test_the_observed_rate_is_the_incidence_of_the_event_of_interest() -> None:
    cohort = event_cohort("mgus2")
    assert cohort.time is not None
    horizon = cohort.horizons[1]
    some = cohort.X[:, 0] > np.median(cohort.X[:, 0])
    rate = IncidenceOutcome(cohort.time, cohort.y, horizon, Clusters()).event_rate(some)
    found = aalen_johansen(cohort.time[some], cohort.y[some]).at(horizon, 1, 0.9)
    assert rate.estimate == pytest.approx(found.estimate[0])
    assert (rate.lower, rate.upper) == pytest.approx((found.lower[0], found.upper[0]))
    assert rate.n == some.sum()


@pytest.mark.parametrize("horizon", [0.0, 240.0])
def test_visits_that_repeat_a_patient_tell_no_more_of_the_incidence_than_he_does(horizon: float) -> None:
    cohort = event_cohort("mgus2")
    assert cohort.time is not None
    patient = np.repeat(np.arange(200), 3)
    time, event = cohort.time[:200], cohort.y[:200]
    once = IncidenceOutcome(time, event, horizon, Clusters()).event_rate(np.ones(200, dtype=np.bool_))
    visits = IncidenceOutcome(time[patient], event[patient], horizon, Clusters(patient, patient))
    rate = visits.event_rate(np.ones(600, dtype=np.bool_))
    assert (rate.estimate, rate.n) == (pytest.approx(once.estimate), 200)
    assert (rate.lower, rate.upper) == pytest.approx((once.lower, once.upper), rel=0.01)
    assert "among matching visits" in visits.described


def test_patients_without_an_event_have_an_interval_too() -> None:
    time, event = np.array([5.0, 6.0, 7.0, 8.0]), np.array([0, 0, 2, 0])
    rate = IncidenceOutcome(time, event, 6.5, Clusters()).event_rate(np.ones(4, dtype=np.bool_))
    assert rate.estimate == 0
    assert rate.lower == 0
    assert 0.2 < rate.upper < 0.6


@pytest.mark.parametrize(("last", "event", "known"), [(10, 0, False), (10, 1, True), (20, 0, True)])
def test_where_nobody_was_followed_to_the_horizon_the_rate_is_unknown(last: float, event: int, known: bool) -> None:
    """Unless everybody had had an event by then: the incidence is complete."""
    time, events = np.array([3.0, 5.0, last]), np.array([1, 0, event])
    rate = IncidenceOutcome(time, events, 15.0, Clusters()).event_rate(np.ones(3, dtype=np.bool_))
    assert rate.n == 3
    assert (rate.estimate is not None) == known
    assert (rate.lower is not None) == (rate.upper is not None) == known
