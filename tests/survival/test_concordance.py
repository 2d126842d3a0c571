"""Concordance against R, scikit-survival and a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from sksurv.metrics import concordance_index_censored

from autoprog.survival import (
    Concordance,
    HorizonError,
    NoPairError,
    OutcomeError,
    cause_specific_c,
    censoring_survival,
    harrell_c,
    subdistribution_c,
    uno_c,
    wolbers_c,
)
from tests.survival.naive import censoring, pair_totals, simulated
from tests.survival.reference import COMPETING, SINGLE, cohort_of, metric

TOLERANCE = 1e-9  # of R's tables


def _assert_as_r(found: Concordance, cohort: str, name: str) -> None:
    assert found.index == pytest.approx(metric(cohort, name)[0], abs=TOLERANCE)
    assert found.standard_error == pytest.approx(metric(cohort, f"{name}_se")[0], abs=TOLERANCE)
    assert found.concordant == metric(cohort, f"{name}_count_concordant")[0]
    assert found.discordant == metric(cohort, f"{name}_count_discordant")[0]
    assert found.tied_risk == metric(cohort, f"{name}_count_tied.x")[0]


@pytest.mark.parametrize("name", SINGLE)
def test_harrell_and_uno_are_those_of_r(name: str) -> None:
    cohort = cohort_of(name)
    tau = cohort.horizons[2]
    _assert_as_r(harrell_c(cohort.time, cohort.event, cohort.lp), name, "c_harrell")
    for found, expected in (
        (harrell_c(cohort.time, cohort.event, cohort.lp, tau), "c_harrell_tau_le"),
        (uno_c(cohort.time, cohort.event, cohort.lp, tau), "c_uno_tau_le"),
        (uno_c(cohort.time, cohort.event, cohort.lp, np.inf), "c_uno"),
    ):
        assert found.index == pytest.approx(metric(name, expected)[0], abs=TOLERANCE)


@pytest.mark.parametrize("name", COMPETING)
def test_those_for_competing_risks_are_those_of_r(name: str) -> None:
    cohort = cohort_of(name)
    _assert_as_r(cause_specific_c(cohort.time, cohort.event, cohort.lp), name, "c_cause_specific")
    _assert_as_r(subdistribution_c(cohort.time, cohort.event, cohort.lp), name, "c_subdistribution")
    wolbers = wolbers_c(cohort.time, cohort.event, cohort.risk[:, 2], cohort.horizons[2])
    assert wolbers.index == pytest.approx(metric(name, "c_ipcw_wolbers_tau")[0], abs=TOLERANCE)


@pytest.mark.parametrize("distinct", [None, 5, 12])
@pytest.mark.parametrize("seed", range(3))
def test_all_pairs_by_a_loop(seed: int, distinct: int | None) -> None:
    time, event, risk = simulated(seed, n=40, distinct=distinct)
    # Below the last time, at which G may be 0.
    tau = float(min(np.quantile(time, 0.7), np.unique(time)[-2]))
    left = [censoring(time, event, t, left=True) for t in time]
    right = [censoring(time, event, t) for t in time]

    def later(i: int, j: int) -> bool:
        return bool(time[j] > time[i] or (time[j] == time[i] and event[j] == 0))

    def uno(i: int, j: int) -> float:
        return left[i] ** -2 if event[i] and time[i] <= tau and later(i, j) else 0.0

    def wolbers(i: int, j: int) -> float:
        if event[i] != 1 or time[i] > tau:
            return 0.0
        if event[j] == 2 and time[j] <= time[i]:
            return 1 / (left[i] * left[j])
        return 1 / (left[i] * right[i]) if later(i, j) else 0.0

    for found, weight in (
        (harrell_c(time, event, risk), lambda i, j: float(event[i] > 0 and later(i, j))),
        (uno_c(time, event, risk, tau), uno),
        (wolbers_c(time, event, risk, tau), wolbers),
    ):
        concordant, discordant, tied = pair_totals(risk, weight)
        assert found.concordant == pytest.approx(concordant, abs=1e-9)
        assert found.discordant == pytest.approx(discordant, abs=1e-9)
        assert found.tied_risk == pytest.approx(tied, abs=1e-9)
        assert found.index == pytest.approx((concordant + tied / 2) / (concordant + discordant + tied), abs=1e-12)


def test_many_patients_as_scikit_survival_counts_them() -> None:
    time, event, risk = simulated(3, n=1500, causes=1, distinct=300)
    theirs = concordance_index_censored(event > 0, time, risk)
    ours = harrell_c(time, event, risk)
    assert (ours.concordant, ours.discordant, ours.tied_risk) == theirs[1:4]
    assert ours.index == pytest.approx(theirs[0], abs=1e-14)


def test_a_risk_in_the_order_of_the_times_is_perfect_and_turned_round_it_is_none() -> None:
    time, event, _ = simulated(4, causes=1)
    assert harrell_c(time, event, -time).index == 1.0
    assert harrell_c(time, event, time).index == 0.0
    assert harrell_c(time, event, np.zeros(len(time))).index == 0.5


def test_without_censoring_uno_is_harrell() -> None:
    time, _, risk = simulated(5)
    ones = np.ones(len(time))
    assert uno_c(time, ones, risk, np.inf) == harrell_c(time, ones, risk)


def test_without_competing_events_all_are_of_one_cause() -> None:
    time, event, risk = simulated(6, causes=1)
    assert cause_specific_c(time, event, risk) == subdistribution_c(time, event, risk) == harrell_c(time, event, risk)
    # Without ties of an event and a censoring G does not jump at an event: Wolbers' weights are Uno's.
    ours, uno = wolbers_c(time, event, risk, 1.0), uno_c(time, event, risk, 1.0)
    assert ours.index == pytest.approx(uno.index, abs=1e-14)
    assert ours.standard_error == pytest.approx(uno.standard_error, abs=1e-14)


def test_the_standard_error_is_that_of_the_spread_over_samples() -> None:
    # Ratio of the mean standard error to the spread over 300 samples: its own standard error is 4 %.
    found = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=100)
        time, censored = rng.exponential(np.exp(-x)), rng.exponential(2.0, size=100)
        found.append(uno_c(np.minimum(time, censored), time <= censored, x, 1.0))
    spread = np.std([c.index for c in found])
    assert np.mean([c.standard_error for c in found]) == pytest.approx(spread, rel=0.2)


def test_nobody_to_compare() -> None:
    with pytest.raises(NoPairError, match="nobody had the event by inf"):
        harrell_c([1.0, 2.0], [0, 1], [0.1, 0.2])
    with pytest.raises(NoPairError, match=r"by 0.5"):
        uno_c([1.0, 2.0], [1, 1], [0.1, 0.2], 0.5)


def test_risks_that_are_none() -> None:
    for risk in ([0.1], [0.1, np.nan]):
        with pytest.raises(OutcomeError, match="one risk per patient"):
            harrell_c([1.0, 2.0], [1, 1], risk)


def test_an_event_where_the_censoring_is_not_known() -> None:
    G = censoring_survival([1.0, 2.0], [1, 0])
    with pytest.raises(HorizonError):
        uno_c([1.0, 3.0, 4.0], [1, 1, 0], [3.0, 2.0, 1.0], 5.0, G)
    with pytest.raises(HorizonError, match="censoring survival is 0 at an event by tau = 2"):
        wolbers_c([1.0, 2.0, 4.0], [1, 1, 0], [3.0, 2.0, 1.0], 2.0, G)
    # Of its own patients too, where one is censored at the last time and another fails.
    with pytest.raises(HorizonError, match="at an event by tau = 2"):
        wolbers_c([1.0, 2.0, 2.0], [1, 1, 0], [3.0, 2.0, 1.0], 2.0)
    assert wolbers_c([1.0, 2.0, 2.0], [1, 1, 2], [3.0, 2.0, 1.0], 2.0).index == 1.0
