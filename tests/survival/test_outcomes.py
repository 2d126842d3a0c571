"""What is refused, and what its error says."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.errors import AutoprogError
from autoprog.survival import (
    HorizonError,
    NoEventError,
    OutcomeError,
    aalen_johansen,
    check_horizons,
    check_outcomes,
    kaplan_meier,
    largest_horizon,
)

TIME = np.array([5.0, 2.0, 9.0, 7.0, 1.0])
EVENT = np.array([1, 0, 0, 2, 0])


def test_outcomes_come_back_as_numbers() -> None:
    time, event = check_outcomes([1, 2], [True, False])
    assert time.dtype == np.float64
    assert event.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("time", "event", "text"),
    [
        ([1.0, -2.0, 0.0], [0, 1, 1], r"must be above 0: 2 of 3 are not, the least is -2"),
        ([1.0, np.nan, np.inf], [0, 1, 1], r"2 of 3 times are missing or infinite"),
        ([1.0, 2.0], [0, 1, 1], r"got shapes \(2,\) and \(3,\)"),
        ([], [], r"got shapes \(0,\)"),
        ([1.0, 2.0], [0, 1.5], r"1 of 2 are not, such as 1\.5"),
        ([1.0, 2.0], [-1, 1], r"1 of 2 are not, such as -1"),
        ([1.0, 2.0], [np.nan, 1], r"1 of 2 are not, such as nan"),
        ([1.0, 2.0], [3, 1], r"must be 0 \(censored\) to 2: 1 of 2 are not, such as 3"),
    ],
)
def test_outcomes_that_are_none(time: list[float], event: list[float], text: str) -> None:
    with pytest.raises(OutcomeError, match=text):
        check_outcomes(time, event, causes=2)


def test_without_a_number_of_causes_any_whole_number_is_a_code() -> None:
    assert check_outcomes([1.0, 2.0], [7, 0])[1].tolist() == [7, 0]
    with pytest.raises(OutcomeError, match=r"must be whole numbers from 0: 1 of 2 are not, such as 0\.5"):
        check_outcomes([1.0, 2.0], [0.5, 0])


def test_outcomes_are_checked_where_they_are_used() -> None:
    for function in (kaplan_meier, aalen_johansen):
        with pytest.raises(OutcomeError, match="above 0"):
            function([0.0, 1.0], [1, 0])


def test_an_error_of_this_package_is_one_that_a_caller_knows() -> None:
    with pytest.raises(AutoprogError) as raised:
        check_outcomes([0.0], [1])
    assert raised.value.code == "invalid-input"
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("weights", [[1, 1], [1, 1, 1, 1, -1], [0, 0, 0, 0, 0], [1, 1, 1, 1, np.nan]])
def test_weights_that_are_none(weights: list[float]) -> None:
    with pytest.raises(OutcomeError, match="weight"):
        kaplan_meier(TIME, EVENT, np.array(weights))


def test_horizons_within_the_follow_up() -> None:
    assert check_horizons(TIME, EVENT, [5.0, 8.9]).tolist() == [5.0, 8.9]
    assert check_horizons(TIME, np.where(TIME == 9, 1, EVENT), [5.0, 9.0]).tolist() == [5.0, 9.0]
    assert check_horizons(TIME, EVENT, 6.0).tolist() == [6.0]
    assert check_horizons(TIME, EVENT, 7.0, followed=2, cause=2).tolist() == [7.0]


def test_a_horizon_beyond_the_follow_up_names_the_largest() -> None:
    with pytest.raises(HorizonError, match=r"horizon 9.5 lies beyond .* 0 of 5 .* the largest .* is 7$") as raised:
        check_horizons(TIME, EVENT, [5.0, 9.5])
    assert raised.value.largest == 7.0
    with pytest.raises(HorizonError, match=r"1 of 5 patients were followed so far, and the last of all times is 9"):
        check_horizons(TIME, EVENT, 8.0, followed=2)
    # At 9 the last patient is censored: whether he is free of events nobody knows.
    with pytest.raises(HorizonError, match="horizon 9 lies beyond"):
        check_horizons(TIME, EVENT, 9.0)
    with pytest.raises(HorizonError):
        check_horizons(TIME, np.where(TIME == 9, 1, EVENT), 9.5)


@pytest.mark.parametrize("horizons", [[], [0.0], [-1.0], [3.0, 2.0], [3.0, 3.0], [np.nan], [np.inf], [[5.0]]])
def test_horizons_that_are_none(horizons: list[float]) -> None:
    with pytest.raises(HorizonError, match="finite, above 0, ascending and distinct"):
        check_horizons(TIME, EVENT, horizons)


def test_all_censored_before_the_horizon() -> None:
    with pytest.raises(NoEventError, match=r"none of 1 events of code 1 was seen by 3: .* 2 patients were censored"):
        check_horizons(TIME, EVENT, [3.0, 6.0])


def test_a_cause_that_nobody_had() -> None:
    with pytest.raises(NoEventError, match="none of 5 patients had an event of code 3"):
        check_horizons(TIME, EVENT, 5.0, cause=3)


def test_the_largest_horizon_by_how_many_were_followed() -> None:
    assert [largest_horizon(TIME, EVENT, k) for k in range(1, 7)] == [7.0, 7.0, 5.0, 2.0, 1.0, 0.0]
    assert largest_horizon(TIME, np.ones(5)) == 9.0
    assert largest_horizon([2.0, 2.0], [0, 1]) == 0.0
