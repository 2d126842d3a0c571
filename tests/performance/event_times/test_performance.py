from __future__ import annotations

import json

import numpy as np
import pytest

from autoprog.performance import (
    EVENT_METRICS,
    ScoringContext,
    calibration_document,
    compute_event_gains,
    decision_curve,
    distribution_document,
    horizon_document,
    horizon_documents,
    make_event_metric,
    overall_performance,
    performance_at,
)
from autoprog.survival import aalen_johansen, censoring_survival, net_benefit
from tests.space.event_times.cohorts import real_event_cohort, simulated
from tests.survival.reference import cohort_of, metric


@pytest.mark.parametrize("name", ["mgus2", "whas500"])
def test_at_a_horizon_the_measures_are_rs(name: str) -> None:
    c, cohort = cohort_of(name), real_event_cohort(name)
    y = np.array(list(zip(c.event, c.time, strict=True)), dtype=[("event", "i1"), ("time", "f8")])
    for j, horizon in enumerate(cohort.horizons):
        found = performance_at(y, c.risk[:, j], horizon)
        assert found.auc == pytest.approx(metric(name, "auc_cd")[j], abs=1e-9)
        assert found.brier == pytest.approx(metric(name, "brier")[j], abs=1e-9)
        assert found.brier_skill == pytest.approx(1 - found.brier / metric(name, "brier_null_km")[j], abs=1e-6)
        observed = aalen_johansen(c.time, c.event).incidence(1)(horizon)
        assert found.observed.estimate == pytest.approx(float(observed), abs=1e-12)


def test_true_risks_are_calibrated_and_better_than_their_mean() -> None:
    data, h = simulated(0, 4000, 2), 0.8
    found = performance_at(data.y, data.risk(np.array([h]))[:, 0], h)
    assert found.slope is not None
    assert found.slope.lower < 1 < found.slope.upper
    assert found.intercept.lower < 0 < found.intercept.upper
    assert found.expected_observed.lower < 1 < found.expected_observed.upper
    assert found.ici < 0.03
    assert found.e50 <= found.e90
    assert 0.05 < found.brier_skill < 1
    assert json.dumps(found.to_json())


@pytest.mark.parametrize("causes", [1, 2])
def test_overall_it_tells_every_measure_that_can_be_optimised(causes: int) -> None:
    data, times = simulated(1, 300, causes), (0.3, 0.6, 1.0)
    follow_up = ScoringContext(times, times[1:], causes, censoring_survival(data.y["time"], data.y["event"]))
    F = data.risk(np.array(times))
    found = overall_performance(data.y, F, follow_up)
    first = "uno_c" if causes == 1 else "wolbers_c"
    assert list(found) == [first, *EVENT_METRICS[1:], "since", "until"]
    assert (found.pop("since"), found.pop("until")) == (times[0], times[-1])
    for name, value in found.items():
        assert value == make_event_metric("uno_c" if name == first else name, follow_up).score(data.y, F)


@pytest.mark.parametrize("with_baseline", [True, False])
def test_the_document_of_a_horizon_is_complete_and_is_json(with_baseline: bool) -> None:
    data, h = simulated(2, 400, 2), 0.8
    p = data.risk(np.array([h]))[:, 0].astype(np.float32)
    other = np.clip(np.random.default_rng(0).normal(0.25, 0.05, 400), 0.01, 0.9)
    baseline = other if with_baseline else None
    document = horizon_document(data.y, p, baseline, h, (0.05, 0.23))
    json.dumps(document, allow_nan=False)
    assert (document["baseline"] is None) != with_baseline
    assert (document["net_benefit"]["baseline"] is None) != with_baseline
    risk = p.astype(float)
    thresholds = document["net_benefit"]["thresholds"]
    assert thresholds == decision_curve(np.arange(400) % 2, p, None, (0.05, 0.23)).to_json()["thresholds"]
    expected = net_benefit(data.y["time"], data.y["event"], risk, h, thresholds)
    found = np.array(document["net_benefit"]["model"], dtype=float)  # None, which has no value, becomes nan
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert (None in (document["net_benefit"]["baseline"] or [])) == with_baseline
    assert document["net_benefit"]["range"] == [0.05, 0.23]
    for name in ("model", "baseline"):
        if document["net_benefit"][name] is not None:
            curve, band = document["net_benefit"][name], document["net_benefit"][f"{name}_interval"]
            ends = list(zip(band["lower"], curve, band["upper"], strict=True))
            assert all((None in each) == (each == (None,) * 3) for each in ends)
            assert all(low <= value <= high for low, value, high in ends if value is not None)
    assert (document["net_benefit"]["gain_interval"] is None) != with_baseline
    assert sum(document["risk_distribution"]["patients"]) == 400
    assert len(document["calibration_groups"]["observed"]) == 10
    curve = document["calibration_curve"]
    assert len(curve["risk"]) == len(curve["observed"]) == len(curve["lower"]) == len(curve["upper"]) > 10


def test_the_true_distribution_is_uniform_at_the_patients_own_times_and_a_wrong_one_is_not() -> None:
    data, times = simulated(5, 3000, censoring=0.0), tuple(np.linspace(0.02, 1.5, 75).tolist())
    follow_up = ScoringContext(times, times[-1:], 1, censoring_survival(data.y["time"], data.y["event"]))
    F = data.risk(np.array(times))
    true, wrong = (distribution_document(data.y, curves, follow_up) for curves in (F, 1 - (1 - F) ** 1.5))
    assert true is not None
    assert wrong is not None
    assert true["p_value"] > 0.01
    assert wrong["p_value"] < 1e-6
    assert sum(true["proportions"]) == pytest.approx(1.0)
    np.testing.assert_allclose(true["proportions"], 0.1, atol=0.03)
    json.dumps(true, allow_nan=False)


def test_curves_are_straight_between_the_times_and_end_at_the_last_horizon() -> None:
    """By hand: survival .75 at time 1 and .5 at 3."""
    y = np.array([(1, 0.5), (1, 2.0), (0, 3.0), (1, 9.0)], dtype=[("event", "i1"), ("time", "f8")])
    follow_up = ScoringContext((1.0, 3.0), (3.0,), 1, censoring_survival(y["time"], y["event"]))
    found = distribution_document(y, np.tile([0.25, 0.5], (4, 1)), follow_up)
    assert found is not None
    # .875 and .625 in the bins 8 and 6; the two who are censored at .5 lie evenly in the bins 0 to 4.
    expected = np.array([2 / 5] * 5 + [0, 1, 0, 1, 0]) / 4
    np.testing.assert_allclose(found["proportions"], expected, atol=1e-12)
    assert (
        distribution_document(y, np.zeros((4, 2)), ScoringContext((1.0, 3.0), (3.0,), 2, follow_up.censoring)) is None
    )


def test_every_horizon_has_its_document_and_the_last_tells_whether_risks_mean_what_they_say() -> None:
    data, times = simulated(3, 300, 1), (0.3, 0.6, 1.0)
    follow_up = ScoringContext(times, times[1:], 1, censoring_survival(data.y["time"], data.y["event"]))
    F = data.risk(np.array(times))
    documents = horizon_documents(data.y, F, F / 2, follow_up, (0.05, 0.2))
    assert documents == [
        horizon_document(data.y, F[:, k], F[:, k] / 2, h, (0.05, 0.2)) for k, h in ((1, 0.6), (2, 1.0))
    ]
    last = performance_at(data.y, F[:, 2], 1.0).to_json()
    assert calibration_document(documents) == {
        "slope": last["slope"],
        "intercept": last["intercept"],
        "expected_observed": last["expected_observed"]["estimate"],
        "level": 0.95,
    }


def test_of_correlated_patients_nothing_is_told_that_takes_them_as_independent() -> None:
    data, times = simulated(1, 600), np.array([0.4, 0.8])
    F, groups = data.risk(times), np.arange(600) // 3
    follow_up = ScoringContext((0.4, 0.8), (0.4, 0.8), 1, censoring_survival(data.y["time"], data.y["event"]))
    assert distribution_document(data.y, F, follow_up) is not None
    assert distribution_document(data.y, F, follow_up, groups) is None
    alone, together = (horizon_document(data.y, F[:, 1], None, 0.8, (0.1, 0.3), each) for each in (None, groups))
    assert any(end is not None for end in alone["calibration_groups"]["lower"])
    assert {*together["calibration_groups"]["lower"], *together["calibration_groups"]["upper"]} == {None}
    assert together["calibration_groups"]["observed"] == alone["calibration_groups"]["observed"]


def test_ranks_are_of_the_risks_before_a_recalibration_by_parts() -> None:
    """Parts with other intercepts change the ranking; the model that is delivered has one."""
    data, times = simulated(4, 400), np.array([0.4, 0.8])
    follow_up = ScoringContext((0.4, 0.8), (0.4, 0.8), 1, censoring_survival(data.y["time"], data.y["event"]))
    raw = data.risk(times)
    other = raw * np.random.default_rng(0).uniform(0.5, 1.0, (400, 1))
    parts = 1 + 0.3 * (np.arange(400)[:, None] % 3 - 1)
    F, simple = (np.clip(risks * parts, 0.0, 1.0) for risks in (raw, other))
    documents = horizon_documents(data.y, F, simple, follow_up, (0.1, 0.3), ranked=(raw, other))
    of_raw, of_parts = (horizon_documents(data.y, p, q, follow_up, (0.1, 0.3)) for p, q in ((raw, other), (F, simple)))
    for told, ranks, values in zip(documents, of_raw, of_parts, strict=True):
        for side in ("performance", "baseline"):
            assert ranks[side]["auc"] != values[side]["auc"]
            assert told[side]["auc"] == ranks[side]["auc"]
            assert told[side]["brier"] == values[side]["brier"]
            for name, source in (("auc", ranks), ("brier", values), ("brier_skill", values)):
                assert told[side]["intervals"][name] == source[side]["intervals"][name]
        assert told["gain_over_baseline"] == {
            "auc": ranks["gain_over_baseline"]["auc"],
            "brier": values["gain_over_baseline"]["brier"],
        }
        assert told["operating"]["roc"] == ranks["operating"]["roc"]
        assert told["operating"]["thresholds"] == values["operating"]["thresholds"]
    overall = overall_performance(data.y, F, follow_up, raw)
    assert overall["uno_c"] == overall_performance(data.y, raw, follow_up)["uno_c"]
    assert overall["integrated_brier"] == overall_performance(data.y, F, follow_up)["integrated_brier"]
    gains = compute_event_gains(data.y, (raw[:, 1], F[:, 1]), (other[:, 1], simple[:, 1]), 0.8)
    assert {name: each.to_json() for name, each in gains.items()} == documents[1]["gain_over_baseline"]


def test_a_brier_skill_is_at_most_1() -> None:
    data = simulated(6, 60, censoring=0.0)
    p = np.where((data.y["event"] == 1) & (data.y["time"] <= 0.8), 0.97, 0.03)
    p[np.flatnonzero(p > 0.5)[0]] = 0.03
    found = performance_at(data.y, p, 0.8)
    assert found.brier_skill < 1 == found.intervals["brier_skill"].upper
