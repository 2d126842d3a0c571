"""Both kinds of outcome answer alike, and where nobody is censored before the horizon they give the same figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.cohort.event_array import event_times
from autoprog.endpoints import Assessed, Endpoint, make_endpoint
from autoprog.performance import ScoringContext, make_event_metric, make_metric
from autoprog.validation import never
from autoprog.validation.optimism import Weighing
from tests.space.event_times.cohorts import as_cohort

N, HORIZON, SEED = 400, 1.0, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
P = expit(X[:, 0] - 0.7)
Y = (RNG.random(N) < P).astype(np.int8)
SIMPLE = expit(0.5 * X[:, 0] + 0.3 * RNG.standard_normal(N) - 0.7)


def binary() -> Endpoint:
    features = (Feature("x0", "numeric"), Feature("x1", "numeric"))
    return make_endpoint(Cohort("simulated", Binary("y", "1", "0"), features, X, Y))


def followed() -> Endpoint:
    """The same patients: whoever has the outcome has it before the horizon, the others are followed beyond it."""
    time = np.where(Y == 1, 0.2 + 0.6 * np.arange(N) / N, 2.0)
    return make_endpoint(as_cohort(X, event_times(Y.astype(np.int64), time), (HORIZON,), 1), (HORIZON,))


def as_curve(endpoint: Endpoint, p: np.ndarray) -> np.ndarray:
    return p if not endpoint.times else p[..., None]


KINDS = pytest.mark.parametrize("endpoint", [binary(), followed()], ids=["binary", "event times"])


@KINDS
def test_an_endpoint_has_one_column_of_risks_a_horizon(endpoint: Endpoint) -> None:
    risks = as_curve(endpoint, P)
    assert endpoint.at_horizons(risks).shape == (N, len(endpoint.horizons)) == (N, 1)
    assert endpoint.at_horizons(np.array([risks, risks])).shape == (2, N, 1)
    assert endpoint.cross_fit(risks, SEED).shape == risks.shape
    assert endpoint.count_events() == Y.sum()
    assert endpoint.subgroups(endpoint.cross_fit(risks, SEED), []) == []


def test_without_censoring_every_outcome_is_known() -> None:
    for endpoint in (binary(), followed()):
        y, weights = endpoint.known_outcomes(0)
        np.testing.assert_array_equal(y, Y)
        np.testing.assert_allclose(weights, 1.0)


def test_who_was_censored_before_the_horizon_counts_by_others() -> None:
    """Of four patients one is lost early; one of the three left has a competing event."""
    table = event_times(np.array([0, 1, 2, 0]), np.array([0.1, 0.5, 0.6, 2.0]))
    endpoint = make_endpoint(as_cohort(X[:4], table, (HORIZON,), 2), (HORIZON,))
    y, weights = endpoint.known_outcomes(0)
    np.testing.assert_array_equal(y, [0, 1, 0, 0])
    np.testing.assert_allclose(weights, np.array([0, 4, 4, 4]) / 3)


@KINDS
def test_the_instability_of_every_horizon_has_its_place(endpoint: Endpoint) -> None:
    risks = as_curve(endpoint, P)
    assessed = Assessed(risks, endpoint.cross_fit(risks, SEED))
    document = endpoint.details(assessed, None, None, SEED)
    endpoint.place_instability(document, [{"mape": 0.1}])
    place = document if endpoint.horizons == (None,) else document["horizons"][0]
    assert place["instability"] == {"mape": 0.1}
    endpoint.place_instability(document, [])
    assert place["instability"] is None


def test_without_censoring_recalibration_is_the_same() -> None:
    one, other = binary(), followed()
    for fit in (
        lambda e: e.fit_recalibration(as_curve(e, P**2)),
        lambda e: e.fit_update(as_curve(e, P**2), slope=True),
        lambda e: e.fit_update(as_curve(e, P**2), slope=False),
    ):
        a, b = fit(one), fit(other)
        assert (a.intercept, a.slope) == pytest.approx((b.intercept, b.slope), abs=2e-4)


def test_without_censoring_measures_are_the_same() -> None:
    one, other = binary(), followed()
    of_labels, of_times = (e.validation(as_curve(e, P), None, SEED) for e in (one, other))
    assert of_labels["n_events"] == of_times["n_events"]
    assert of_labels["expected_events"] == pytest.approx(of_times["expected_events"])
    (horizon,) = of_times["horizons"]
    performance = of_labels["performance"]
    assert horizon["performance"]["auc"] == pytest.approx(performance["auc_roc"], abs=1e-9)
    assert horizon["performance"]["brier"] == pytest.approx(performance["brier"], abs=1e-9)
    assert horizon["performance"]["observed"]["estimate"] == pytest.approx(Y.mean(), abs=1e-9)
    curves = [document["net_benefit"]["model"] for document in (of_labels, horizon)]
    assert curves[0] == pytest.approx(curves[1], abs=1e-9)


def test_without_censoring_the_observed_rates_of_rules_are_the_same() -> None:
    rows = X[:, 1] > 0
    for endpoint in (binary(), followed()):
        assert endpoint.observed(0).event_rate(rows).estimate == pytest.approx(Y[rows].mean(), abs=1e-12)


def test_without_censoring_the_corrected_area_is_the_same() -> None:
    """The resamples differ; twice their standard error is allowed for."""
    found = []
    for endpoint in (binary(), followed()):
        metric = make_metric("auc_roc")
        if endpoint.times:
            metric = make_event_metric("time_dependent_auc", ScoringContext.of(endpoint.cohort, endpoint.times))
        risks = np.array([as_curve(endpoint, P), as_curve(endpoint, SIMPLE)])
        found.append(
            endpoint.corrected_score(
                metric,
                risks[0],
                risks,
                np.array([1.0, 0.0]),
                weighing=Weighing(
                    lambda _, gains: np.eye(2)[np.argmax(gains, axis=1)], lambda w, p: np.tensordot(w, p, 1)
                ),
                rng=np.random.default_rng(SEED),
                stop=never,
            ).score
        )
    assert found[0].estimate == pytest.approx(found[1].estimate, abs=0.005)
    assert found[0].upper - found[0].lower == pytest.approx(found[1].upper - found[1].lower, rel=0.15)


def test_an_endpoint_is_chosen_by_the_outcome() -> None:
    assert binary().times == ()
    assert followed().horizons == (HORIZON,)
    cohort = replace(binary().cohort, y=1 - Y)
    assert make_endpoint(cohort, thresholds=(0.1, 0.2)).count_events() == N - Y.sum()


def test_without_censoring_corrected_figures_and_gains_are_alike() -> None:
    """The resamples differ, and the recalibrations are on other scales."""
    documents = []
    for endpoint in (binary(), followed()):
        metric = make_metric("auc_roc")
        if endpoint.times:
            metric = make_event_metric("time_dependent_auc", ScoringContext.of(endpoint.cohort, endpoint.times))
        raw, simple = as_curve(endpoint, P), as_curve(endpoint, SIMPLE)
        correction = endpoint.corrected_score(
            metric,
            raw,
            np.array([raw, simple]),
            np.array([1.0, 0.0]),
            weighing=Weighing(lambda _, gains: np.eye(2)[np.argmax(gains, axis=1)], lambda w, p: np.tensordot(w, p, 1)),
            rng=np.random.default_rng(SEED),
            stop=never,
            simple=simple,
        ).figures
        ours = Assessed(raw, endpoint.cross_fit(raw, SEED))
        its = Assessed(simple, endpoint.cross_fit(simple, SEED))
        documents.append({**endpoint.summary(ours, correction), **endpoint.details(ours, its, None, SEED, correction)})
    told, followed_up = documents
    at = followed_up["horizons"][0]
    for one, other in (("auc_roc", "auc"), ("brier", "brier"), ("brier_skill", "brier_skill")):
        assert told["performance"][one] == pytest.approx(at["performance"][other], abs=0.01)
        assert told["performance"]["uncorrected"][one] == pytest.approx(
            at["performance"]["uncorrected"][other], abs=0.01
        )
        ends, others = told["performance"]["intervals"][one], at["performance"]["intervals"][other]
        assert ends["upper"] - ends["lower"] == pytest.approx(others["upper"] - others["lower"], rel=0.25)
    for one, other in (("auc_roc", "auc"), ("brier", "brier")):
        gain, there = told["gain_over_baseline"][one], at["gain_over_baseline"][other]
        assert gain["estimate"] == pytest.approx(there["estimate"], abs=0.01)
    overall = followed_up["overall"]
    assert set(overall["intervals"]) == set(overall["uncorrected"])
    assert {"uno_c", "integrated_brier", "c_index", "time_dependent_auc"} == set(overall["intervals"])
    for name, bounds in overall["intervals"].items():
        assert bounds["lower"] < overall[name] < bounds["upper"]


@KINDS
def test_a_measure_of_ranks_is_that_of_the_risks_before_they_were_recalibrated_by_parts(endpoint: Endpoint) -> None:
    """As the score is: one document has one value of a measure."""
    raw, simple = as_curve(endpoint, P), as_curve(endpoint, SIMPLE)
    by_parts = [np.clip(p * as_curve(endpoint, np.where(np.arange(N) % 2, 0.6, 1.0)), 0, 1) for p in (raw, simple)]
    ours, its = (Assessed(p, q) for p, q in zip((raw, simple), by_parts, strict=True))
    told = {**endpoint.summary(ours), **endpoint.details(ours, its, None, SEED)}
    of_ours, of_its = (roc_auc_score(Y, p) for p in (P, SIMPLE))
    assert roc_auc_score(Y, by_parts[0].ravel()) != pytest.approx(of_ours, abs=0.005)
    if endpoint.times:
        assert told["overall"]["time_dependent_auc"] == pytest.approx(of_ours, abs=1e-9)
        (told,) = told["horizons"]
    name = "auc" if endpoint.times else "auc_roc"
    assert told["performance"][name] == pytest.approx(of_ours, abs=1e-9)
    assert told["gain_over_baseline"][name]["estimate"] == pytest.approx(of_ours - of_its, abs=1e-9)
    area = np.trapezoid(told["operating"]["roc"]["sensitivity"], told["operating"]["roc"]["false_positive_rate"])
    assert area == pytest.approx(of_ours, abs=0.005)
