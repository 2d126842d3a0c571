"""Aalen-Johansen against R, scikit-survival, a plain loop, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from sksurv.nonparametric import cumulative_incidence_competing_risks

from autoprog.survival import OutcomeError, aalen_johansen, kaplan_meier
from tests.survival.naive import incidence, simulated
from tests.survival.reference import COMPETING, cohort_of, of_cohort, table

TOLERANCE = 1e-9  # of R's tables


@pytest.mark.parametrize("name", COMPETING)
@pytest.mark.parametrize("cause", [1, 2])
def test_incidence_and_standard_error_are_those_of_r(name: str, cause: int) -> None:
    cohort = cohort_of(name)
    rows = of_cohort("aalen_johansen", name, group_variable=None, event=cause)
    found = aalen_johansen(cohort.time, cohort.event).at(cohort.horizons, cause)
    np.testing.assert_allclose(found.estimate, rows["cif"], atol=TOLERANCE)
    np.testing.assert_allclose(found.standard_error, rows["se_survfit"], atol=TOLERANCE)


@pytest.mark.parametrize("name", COMPETING)
def test_groups_are_those_of_r(name: str) -> None:
    cohort = cohort_of(name)
    rows = table("aalen_johansen")
    rows = rows[(rows["cohort"] == name) & rows["group_variable"].notna()]
    for (group, cause), expected in rows.groupby(["group", "event"]):
        members = cohort.group == str(group)
        found = aalen_johansen(cohort.time[members], cohort.event[members], causes=2).at(cohort.horizons, cause)
        np.testing.assert_allclose(found.estimate, expected["cif"], atol=TOLERANCE)
        np.testing.assert_allclose(found.standard_error, expected["se_survfit"], atol=TOLERANCE)


def test_one_minus_kaplan_meier_is_more_than_the_incidence() -> None:
    cohort = cohort_of("mgus2")
    trap = of_cohort("aalen_johansen", "mgus2", group_variable=None, event=1)["one_minus_km_trap"].to_numpy()
    wrong = 1 - kaplan_meier(cohort.time, cohort.event == 1).survival(cohort.horizons)
    np.testing.assert_allclose(wrong, trap, atol=TOLERANCE)
    right = aalen_johansen(cohort.time, cohort.event).incidence(1)(cohort.horizons)
    assert (right < wrong).all()


@pytest.mark.parametrize("distinct", [None, 6])
@pytest.mark.parametrize("seed", range(3))
def test_the_causes_and_the_survival_sum_to_one(seed: int, distinct: int | None) -> None:
    time, event, _ = simulated(seed, causes=3, distinct=distinct)
    found = aalen_johansen(time, event)
    total = found.survival(time) + sum(found.incidence(cause)(time) for cause in (1, 2, 3))
    np.testing.assert_allclose(total, 1.0, atol=1e-14)
    np.testing.assert_allclose(found.survival(time), kaplan_meier(time, event).survival(time), atol=1e-15)


@pytest.mark.parametrize("distinct", [None, 6])
def test_a_loop_and_scikit_survival_agree(distinct: int | None) -> None:
    time, event, _ = simulated(4, distinct=distinct)
    found = aalen_johansen(time, event)
    at, theirs = cumulative_incidence_competing_risks(event, time)
    for cause in (1, 2):
        np.testing.assert_allclose(found.incidence(cause)(at), theirs[cause], atol=1e-14)
        plain = [incidence(time, event, cause, t) for t in at]
        np.testing.assert_allclose(found.incidence(cause)(at), plain, atol=1e-14)


@pytest.mark.parametrize("distinct", [None, 6])
def test_of_a_single_cause_it_is_kaplan_meier(distinct: int | None) -> None:
    time, event, _ = simulated(5, causes=1, distinct=distinct)
    ours, theirs = aalen_johansen(time, event).at(time), kaplan_meier(time, event).at(time)
    np.testing.assert_allclose(ours.estimate, 1 - theirs.estimate, atol=1e-14)
    np.testing.assert_allclose(ours.standard_error, theirs.standard_error, atol=1e-8)
    np.testing.assert_allclose(ours.lower, 1 - theirs.upper, atol=1e-8)


def test_whole_weights_are_copies() -> None:
    time, event, _ = simulated(6, distinct=7)
    weights = np.random.default_rng(0).multinomial(len(time), np.full(len(time), 1 / len(time)))
    weighted = aalen_johansen(time, event, weights, causes=2)
    copied = aalen_johansen(np.repeat(time, weights), np.repeat(event, weights), causes=2)
    at = np.arange(0.5, 9.0, 0.5)
    for cause in (1, 2):
        np.testing.assert_allclose(weighted.incidence(cause)(at), copied.incidence(cause)(at), atol=1e-13)
        np.testing.assert_allclose(weighted.standard_error(cause)(at), copied.standard_error(cause)(at), atol=1e-9)


def test_the_interval_covers_a_known_incidence() -> None:
    # Constant hazards 1 and 1: F_1(t) = (1 - exp(-2 t))/2. Of 600 intervals of level .95, coverage between .91 and
    # .985 fails with probability 1e-4 where it is .95.
    truth, covered = (1 - np.exp(-1.0)) / 2, 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        times = rng.exponential(size=(3, 200)) * np.array([1.0, 1.0, 2.0])[:, None]
        found = aalen_johansen(times.min(axis=0), np.array([1, 2, 0])[times.argmin(axis=0)]).at(0.5)
        covered += bool(found.lower[0] <= truth <= found.upper[0])
    assert 0.91 <= covered / 600 <= 0.985


def test_a_cause_beyond_the_number_of_causes() -> None:
    with pytest.raises(OutcomeError, match=r"0 \(censored\) to 1"):
        aalen_johansen([1.0, 2.0], [1, 2], causes=1)


@pytest.mark.parametrize("n", range(3, 80, 7))
def test_where_everybody_had_the_event_the_interval_is_unknown_whatever_the_rounding(n: int) -> None:
    time = np.random.default_rng(n).permutation(n) + 1.0
    found = aalen_johansen(time, np.ones(n, dtype=int)).at(float(n), 1, 0.95)
    assert found.estimate[0] == pytest.approx(1.0)
    assert np.isnan([found.lower[0], found.upper[0]]).all()
