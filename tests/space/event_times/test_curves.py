from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoprog.cohort import event_strata
from autoprog.cohort.event_array import event_times
from autoprog.space.event_times.curves import at_times, rising_alike, scaled_to_leave_room
from tests.cohorts import cleveland_cohort
from tests.space.event_times.cohorts import as_cohort, real_event_cohort, simulated, unrelated
from tests.survival.reference import COHORTS


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_between_known_times_curves_are_those_of_numpys_interpolation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = np.cumsum(rng.uniform(0.01, 1, 6))
    F = np.sort(rng.random((3, 2, 6)), axis=2)
    times = np.sort(np.concatenate([rng.uniform(0, 8, 10), known[:2], [0.0]]))
    found = at_times(F, known, times)
    for i in range(3):
        for k in range(2):
            expected = np.interp(times, np.r_[0, known], np.r_[0, F[i, k]])
            np.testing.assert_allclose(found[i, k], expected, rtol=0, atol=1e-12)
    assert (np.diff(found, axis=2) >= 0).all()


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_curves_rise_between_known_times_as_others_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.01, 1, 12))
    places = np.array([2, 3, 7, 11])
    F = np.cumsum(rng.exponential(size=(3, 2, 12)) * (rng.random((3, 2, 12)) < 0.7), axis=2) / 20
    at_known = np.sort(rng.random((3, 2, 4)), axis=2)
    found = rising_alike(F, times, times[places], at_known)
    np.testing.assert_array_equal(found[:, :, places], at_known)
    assert (np.diff(found, axis=2) >= 0).all()
    np.testing.assert_allclose(rising_alike(F, times, times[places], F[:, :, places] * 3), F * 3, atol=1e-12)
    flat = np.full((1, 12), 0.2)
    flat[0, :3] = 0.2 * times[:3] / times[2]
    expected = np.interp(times, np.r_[0, times[places]], np.r_[0, at_known[0, 0]])
    np.testing.assert_allclose(rising_alike(flat, times, times[places], at_known[0, :1])[0], expected, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_other_causes_take_what_the_event_of_interest_leaves(seed: int, causes: int) -> None:
    rng = np.random.default_rng(seed)
    jumps = rng.dirichlet(np.full(causes * 5 + 1, 0.3), size=4)[:, :-1].reshape(4, causes, 5)
    F = np.cumsum(jumps, axis=2)
    of_interest = np.sort(rng.random((4, 5)) ** rng.choice([0.1, 1, 10]), axis=1)
    found = scaled_to_leave_room(F, of_interest)
    np.testing.assert_array_equal(found[:, 0], of_interest)
    assert found.min() >= 0
    assert (np.diff(found, axis=2) >= 0).all()
    assert found.sum(axis=1).max() <= 1 + 1e-12
    room = 1 - F[:, 0]
    share = np.divide(F[:, 1:], room[:, None], out=np.zeros_like(F[:, 1:]), where=room[:, None] > 1e-9)
    assert (found[:, 1:] <= share * (1 - of_interest)[:, None] + 1e-6).all()


def test_risks_that_are_not_changed_leave_the_others_as_they_are() -> None:
    F = np.array([[[0.1, 0.3, 0.4], [0.1, 0.2, 0.5]]])
    np.testing.assert_allclose(scaled_to_leave_room(F, F[:, 0]), F, atol=1e-15)


def test_where_the_event_of_interest_is_certain_nothing_is_left() -> None:
    F = np.array([[[0.5, 1.0], [0.2, 0.0]]])
    np.testing.assert_array_equal(scaled_to_leave_room(F, np.array([[0.5, 1.0]])), [[[0.5, 1.0], [0.0, 0.0]]])


@pytest.mark.parametrize("name", COHORTS)
def test_the_grid_holds_the_horizons_and_parts_the_events_evenly(name: str) -> None:
    cohort = real_event_cohort(name)
    times = cohort.time_grid
    assert set(cohort.horizons) <= set(times)
    assert times[-1] == cohort.horizons[-1]
    assert list(times) == sorted(set(times))
    assert times[0] > 0
    assert 8 <= len(times) <= 12
    assert cohort.time is not None
    until = (cohort.y == 1) & (cohort.time <= times[-1])
    counts = np.histogram(cohort.time[until], [0.0, *times])[0]
    # In months many events are tied, which no time parts.
    largest_tie = np.unique(cohort.time[until], return_counts=True)[1].max()
    assert counts.max() <= 0.17 * until.sum() + largest_tie


def test_a_cohort_without_times_has_no_grid() -> None:
    assert cleveland_cohort().time_grid == ()


def test_events_at_one_time_leave_one_time() -> None:
    y = event_times(np.arange(60) % 2, np.where(np.arange(60) % 2, 3.0, 5.0))
    assert as_cohort(np.zeros((60, 1)), y, (3.0,), 1).time_grid == (3.0,)


def test_folds_are_stratified_by_the_events_that_are_not_too_rare() -> None:
    event = np.array([0] * 20 + [1] * 10 + [2] * 3 + [3] * 5)
    np.testing.assert_array_equal(event_strata(event, 5), [0] * 20 + [1] * 10 + [0] * 3 + [3] * 5)
    np.testing.assert_array_equal(event_strata(event, 3), event)
    nearly_all_fail = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(event_strata(nearly_all_fail, 3), np.ones(8))


def test_simulated_risks_are_the_share_that_has_the_event() -> None:
    """The truth that other tests lean on: without censoring, by hazards of 400,000 patients."""
    data, t = simulated(0, 400_000, causes=2, censoring=0.0), np.array([0.3, 1.0])
    for cause in (1, 2):
        seen = (data.y["event"] == cause)[:, None] & (data.y["time"][:, None] <= t)
        error = seen - data.risk(t, cause)
        assert (np.abs(error.mean(axis=0)) <= 4 * error.std(axis=0) / 400_000**0.5).all()
    assert np.bincount(unrelated(0, 900)["event"], minlength=3).min() > 250
