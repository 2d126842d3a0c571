"""Models of event times and of visits among other patients: measured there, and recalibrated to them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np
import pytest

from autoprog.cohort import Cohort, TimeToEvent, WindowSchema, units_differ
from autoprog.errors import InvalidInputError
from autoprog.interpreter import Condition, Prior, PriorRule, explain
from autoprog.model import PrognosticModel, compare_models, external_validation, update_model
from autoprog.performance import ScoringContext
from autoprog.survival import calibration_at, cumulative_dynamic_auc, integrated_brier, ipcw_weights, wolbers_c
from autoprog.validation import Recalibration
from tests.cohort.test_alignment import LEFT_OUT
from tests.cohorts import event_cohort, labelled_visits
from tests.event_models import WINDOW, cox_model

Timed = TypeVar("Timed", Cohort, PrognosticModel)

RANGE = (0.05, 0.4)
WRONG = Recalibration(-0.6, 0.8)


def half(name: str, first: int) -> Cohort:
    """Every other patient, with all visits where there are some."""
    cohort = event_cohort(name)
    units = np.arange(cohort.n_rows) if cohort.visits is None else cohort.visits.patient
    return cohort.take(np.flatnonzero(units % 2 == first))


@cache
def model(name: str = "mgus2") -> PrognosticModel:
    """Cox's model of one half of the patients, recalibrated wrongly."""
    cohort = half(name, 0)
    windows = None if cohort.visits is None else WindowSchema.of(cohort)
    return cox_model(cohort, windows=windows, recalibration=WRONG)


def timed_in(of: Timed, unit: str) -> Timed:
    """The same model, or cohort, with a unit of its times."""
    return replace(of, outcome=replace(of.outcome, time_unit=unit))


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [("years", "Year ", False), ("months", "years", True), (None, "years", False)],
)
def test_units_of_times_differ_by_more_than_their_number(one: str | None, other: str, *, differ: bool) -> None:
    assert units_differ(one, other) == differ


def test_the_report_is_of_the_other_patients_at_the_model_s_horizons() -> None:
    cohort = half("mgus2", 1)
    assert isinstance(cohort.outcome, TimeToEvent)
    assert cohort.time is not None
    asked = replace(cohort, outcome=replace(cohort.outcome, horizons=(100.0,)))  # its own are passed over
    document = external_validation(model(), asked, RANGE)
    p, y, h = model().risks(cohort.X), cohort.outcomes, np.array(model().horizons)
    assert [part["horizon"] for part in document["horizons"]] == h.tolist()
    auc = cumulative_dynamic_auc(y["time"], y["event"], p, h)
    assert [part["performance"]["auc"] for part in document["horizons"]] == pytest.approx(auc.tolist(), abs=1e-12)
    for k, part in enumerate(document["horizons"]):
        ratio = calibration_at(y["time"], y["event"], p[:, k], h[k]).expected_observed
        assert part["performance"]["expected_observed"]["estimate"] == pytest.approx(ratio.estimate, abs=1e-12)
        assert part["baseline"] is None
    times = ScoringContext.of(replace(cohort, outcome=model().outcome), cohort.time_grid).times
    F = model().risks_until(cohort.X, times)
    np.testing.assert_array_equal(F[:, [times.index(t) for t in h]], p)
    brier = integrated_brier(y["time"], y["event"], F, np.array(times))
    assert document["overall"]["integrated_brier"] == pytest.approx(brier, abs=1e-9)
    concordance = wolbers_c(y["time"], y["event"], p[:, -1], h[-1]).index
    assert document["overall"]["wolbers_c"] == pytest.approx(concordance, abs=1e-9)
    assert {*document["scores"], "since", "until"} == set(document["overall"])
    for name, score in document["scores"].items():
        assert score["estimate"] == pytest.approx(document["overall"][name])
        assert score["lower"] < score["estimate"] < score["upper"]
        assert "of other patients, 500 bootstrap resamples of the patients; the interval is" in score["method"]
    assert document["n_events"] == int(((cohort.y == 1) & (cohort.time <= h[-1])).sum())
    assert document["expected_events"] == pytest.approx(p[:, -1].sum())
    assert document["calibration"]["slope"] == document["horizons"][-1]["performance"]["slope"]
    assert {s["feature"] for s in document["subgroups"]} == {"age", "sex"}
    assert len(document["features"]) == len(cohort.features)


def test_visits_are_measured_through_the_windows_of_the_model() -> None:
    cohort = half("pbcseq", 1)
    shuffled = replace(cohort, features=cohort.features[::-1], X=cohort.X[:, ::-1].copy())
    document = external_validation(model("pbcseq"), shuffled, RANGE)
    assert (document["n_rows"], document["n_patients"]) == (cohort.n_rows, cohort.n_patients)
    assert [shift["feature"] for shift in document["features"]] == [f.name for f in cohort.features]
    assert len(document["horizons"]) == 1
    assert document["overall"]["wolbers_c"] > 0.6
    assert document["scores"]["wolbers_c"]["method"].count("by group") == 1
    moved = update_model(model("pbcseq"), shuffled, "intercept")
    assert moved.windows == model("pbcseq").windows
    assert len(moved.rule_sets) == 1


@pytest.mark.parametrize("method", ["intercept", "intercept_and_slope"])
def test_a_recalibrated_model_meets_the_weighted_events_of_all_times(method: str) -> None:
    cohort = half("mgus2", 1)
    moved = update_model(model(), cohort, method)  # type: ignore[arg-type]
    follow_up = ScoringContext.of(cohort, cohort.time_grid)
    t, y = np.array(follow_up.times), cohort.outcomes
    w = ipcw_weights(y["time"], y["event"], t, follow_up.censoring)
    e = (y["event"] == 1)[:, None] & (y["time"][:, None] <= t)
    before, after = (m.risks_until(cohort.X, follow_up.times) for m in (model(), moved))
    assert abs((w * (e - before)).sum()) > 10
    # The equations of the maximum of the weighted likelihood.
    assert (w * (e - after)).sum() == pytest.approx(0.0, abs=1e-3)
    if method == "intercept_and_slope":
        x = np.log(before / (1 - before))
        assert (w * (e - after) * x).sum() == pytest.approx(0.0, abs=1e-2)
    else:
        assert moved.recalibration.slope == WRONG.slope
    np.testing.assert_array_equal(np.argsort(before, axis=0, kind="stable"), np.argsort(after, axis=0, kind="stable"))
    assert (np.diff(after, axis=1) >= 0).all()
    causes = moved.causes(cohort.X)
    np.testing.assert_array_equal(causes[:, 0], moved.risks(cohort.X))
    assert causes.sum(axis=1).max() <= 1 + 1e-12
    h = np.array(moved.horizons)
    by_then, w = y["time"][:, None] <= h, ipcw_weights(y["time"], y["event"], h, follow_up.censoring)
    event, death = ((y["event"] == code)[:, None] & by_then for code in (1, 2))
    share = causes[:, 1] / (1 - causes[:, 0])
    assert (w * ~event * (death - share)).sum() == pytest.approx(0.0, abs=1e-2)
    for rules, former in zip(moved.rule_sets, model().rule_sets, strict=True):
        bands = [[(s.name, s.lower, s.upper) for s in each.strata] for each in (rules, former)]
        assert bands[0] == bands[1]
        assert sum(s.fraction for s in rules.strata) == pytest.approx(1)
        assert "recalibrated to them" in rules.note
    again = PrognosticModel.from_bytes(moved.to_bytes())
    np.testing.assert_array_equal(again.risks(cohort.X), moved.risks(cohort.X))


def test_competing_causes_are_measured_by_their_names() -> None:
    """A cohort that has another cause before the one that the model knows, and one that it does not."""
    cohort = half("mgus2", 1)
    assert isinstance(cohort.outcome, TimeToEvent)
    (known,) = external_validation(model(), cohort, RANGE)["horizons"][-1]["causes"]
    assert known["cause"] == "2"
    n_deaths = int(((cohort.y == 2) & (np.array(cohort.time) <= model().horizons[-1])).sum())
    assert known["n_events"] == n_deaths
    lost = np.flatnonzero(cohort.y == 0)[::7]
    codes = np.where(cohort.y == 2, 3, cohort.y)
    codes[lost] = 2
    outcome = replace(cohort.outcome, competing=("moved away", "2"))
    (told,) = external_validation(model(), replace(cohort, outcome=outcome, y=codes), RANGE)["horizons"][-1]["causes"]
    assert (told["cause"], told["n_events"]) == ("2", n_deaths)
    nobody = replace(cohort.outcome, competing=("transplant",))
    (absent,) = external_validation(model(), replace(cohort, outcome=nobody), RANGE)["horizons"][-1]["causes"]
    assert (absent["n_events"], absent["performance"]) == (0, None)


def test_a_clinician_s_rules_go_with_every_horizon() -> None:
    prior = Prior(probability=0.5, strength=20.0)
    rule = PriorRule((Condition("age", ">=", 70.0),), "high", prior)
    cohort, risks = half("mgus2", 1), model().risks(half("mgus2", 1).X)
    brought = tuple(
        explain(cohort, q, former.strata, prior_rules=[rule], horizon=h)
        for q, former, h in zip(risks.T, model().rule_sets, model().horizons, strict=True)
    )
    moved = update_model(replace(model(), rule_sets=brought), cohort, "intercept")
    for rules, horizon in zip(moved.rule_sets, model().horizons, strict=True):
        (kept,) = [r for r in rules.rules if r.prior is not None]
        assert (kept.conditions, kept.prior, kept.horizon) == (rule.conditions, prior, horizon)


def test_what_cannot_be_measured_is_named_at_once() -> None:
    cohort = half("mgus2", 1)
    assert cohort.time is not None
    early = replace(cohort, time=cohort.time / 4, features=cohort.features[1:], X=cohort.X[:, 1:])
    with pytest.raises(InvalidInputError) as caught:
        external_validation(model(), early, RANGE, ["site"])
    details = [fault.detail for fault in caught.value.faults]
    assert details[0] == f"the cohort has no feature 'age', {LEFT_OUT}"
    assert details[1].startswith("the model's horizon 120 is too far ahead: ")
    assert details[2].startswith("the model's horizon 240 is too far ahead: ")
    assert details[3:] == ["the cohort has no feature 'site'"]
    few = cohort.take(np.concatenate([np.flatnonzero(cohort.y == 1)[:9], np.flatnonzero(cohort.y != 1)]))
    with pytest.raises(InvalidInputError, match="only 9 patients have the outcome until the model's horizon 240"):
        update_model(model(), few, "intercept")


def test_patients_who_were_lost_do_not_count_as_without_the_event() -> None:
    cohort = half("mgus2", 1)
    known = (cohort.y == 2) | (cohort.outcomes["time"] > 240)
    kept = np.isin(np.arange(cohort.n_rows), np.flatnonzero(known & (cohort.outcomes["time"] > 240))[:9])
    few = cohort.take(np.flatnonzero(kept | ~known))
    wanted = "only 9 patients are known not to have the outcome until the model's horizon 240"
    with pytest.raises(InvalidInputError, match=wanted):
        update_model(model(), few, "intercept")


def test_a_cohort_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="takes a cohort of mode survival; this one is of mode temporal"):
        external_validation(model(), event_cohort("pbcseq"), RANGE)
    with pytest.raises(InvalidInputError, match="takes visits with times to an event; those of"):
        update_model(model("pbcseq"), labelled_visits(), "intercept")


@pytest.mark.parametrize("name", ["mgus2", "pbcseq"])
def test_times_in_another_unit_are_refused(name: str) -> None:
    years = timed_in(model(name), "years")
    months, named_nowhere = timed_in(half(name, 1), "months"), half(name, 1)
    for use in (lambda: external_validation(years, months, RANGE), lambda: update_model(years, months, "intercept")):
        with pytest.raises(InvalidInputError, match="the times are in months here and in years in the model"):
            use()
    assert external_validation(years, named_nowhere, RANGE)["n_rows"] == named_nowhere.n_rows


def test_models_whose_times_differ_in_unit_are_not_compared() -> None:
    months, weeks = timed_in(model(), "months"), timed_in(model(), "weeks")
    with pytest.raises(InvalidInputError) as caught:
        compare_models(months, weeks, half("mgus2", 1), RANGE)
    (fault,) = caught.value.faults
    assert fault.pointer == "/other_model_id"
    assert fault.detail == "the other model's times are in weeks, and this model's in months"
    with pytest.raises(InvalidInputError, match=r"in years here and in months in the model; .*in weeks"):
        compare_models(months, weeks, timed_in(half("mgus2", 1), "years"), RANGE)


def test_the_window_of_the_helper_is_not_the_shortest() -> None:
    """Else nothing above would see that windows are looked back over."""
    assert WINDOW > 1
