from __future__ import annotations

import numpy as np
import pytest

from autoprog.cohort.event_array import event_times
from autoprog.space.event_times.person_periods import MIN_EVENTS, PersonPeriods, cuts_with_events, with_interval
from tests.space.event_times.cohorts import unrelated


def rows_by_loop(y: np.ndarray, t: np.ndarray) -> list[tuple[int, int, int]]:
    """Patient by patient, interval by interval: in whom something happened, or who was there for half of it."""
    rows = []
    starts = [0.0, *t[:-1].tolist()]
    for i, (event, time) in enumerate(zip(y["event"].tolist(), y["time"].tolist(), strict=True)):
        for j, (start, end) in enumerate(zip(starts, t.tolist(), strict=True)):
            if time <= start:
                break
            if time > end:
                rows.append((i, j, 0))
            elif event:
                rows.append((i, j, event))
            elif time >= (start + end) / 2:
                rows.append((i, j, 0))
    return rows


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distinct", [None, 6], ids=["distinct", "tied"])
def test_the_pooled_table_is_that_of_a_loop_over_patients(seed: int, distinct: int | None) -> None:
    y = unrelated(seed, 200, distinct=distinct)
    for t in ([0.4, 1.0, 1.6], [1.0, 2.0, 3.0, 5.0], [2.5], [1e6]):
        found = PersonPeriods.of(y, np.array(t))
        rows = list(zip(found.patient.tolist(), found.interval.tolist(), found.event.tolist(), strict=True))
        assert rows == rows_by_loop(y, np.array(t))


def test_who_was_censored_counts_from_the_middle_of_an_interval_on() -> None:
    y = event_times([0, 0, 0, 0, 1, 2], [0.9, 1.0, 2.0, 9.0, 0.1, 4.0])
    found = PersonPeriods.of(y, np.array([2.0, 4.0]))
    assert np.bincount(found.patient, minlength=6).tolist() == [0, 1, 1, 2, 1, 2]
    assert found.event.tolist() == [0, 0, 0, 0, 1, 0, 2]


@pytest.mark.parametrize("seed", range(5))
def test_intervals_are_joined_until_they_hold_enough_events(seed: int) -> None:
    y = unrelated(seed, 60)
    times = np.quantile(y["time"], np.linspace(0.05, 0.9, 20))
    cuts = cuts_with_events(y, times)
    assert set(cuts) <= set(times)
    assert cuts[-1] == times[-1]
    counts = np.histogram(y["time"][y["event"] > 0], np.concatenate([[0.0], cuts]))[0]
    assert counts.min() >= MIN_EVENTS
    # Nothing is joined without need: one cut more between any two would leave too few events on a side of it.
    for low, high in zip(np.concatenate([[0.0], cuts[:-1]]), cuts, strict=True):
        for cut in times[(times > low) & (times < high)]:
            sides = np.histogram(y["time"][y["event"] > 0], [low, cut, high])[0]
            assert sides.min() < MIN_EVENTS


def test_too_few_events_leave_one_interval() -> None:
    y = event_times([1, 1, 0, 0], [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(cuts_with_events(y, np.array([1.5, 2.5, 3.5])), [3.5])


def test_the_columns_of_the_intervals_are_steps() -> None:
    X = np.arange(8.0).reshape(4, 2)
    table = with_interval(X, np.array([0, 1, 2, 3]), 4)
    np.testing.assert_array_equal(table[:, :2], X)
    np.testing.assert_array_equal(table[:, 2:], [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(with_interval(X, np.zeros(4, dtype=int), 1), X)
