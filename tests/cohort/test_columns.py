"""Horizons that are proposed from a file's columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from autoprog.cohort import ReadLimits, describe_file
from autoprog.cohort.dates import FollowUpDates
from tests.cohort.tables import csv_of

N = 200
TIMES = np.round(np.random.default_rng(0).exponential(8.0, N) + 0.1, 1)
EVENTS = np.tile([1, 1, 0, 2], N // 4)
UNKNOWN = np.arange(N) % 5 == 0
KNOWN = {"t": TIMES[~UNKNOWN].tolist(), "e": EVENTS[~UNKNOWN].tolist()}


def propose(
    columns: dict[str, Sequence[object]],
    time: str | FollowUpDates = "t",
    na_values: Sequence[str] = (),
    delimiter: str = ",",
) -> tuple[float, ...]:
    described = describe_file(csv_of(columns, delimiter), ReadLimits(), na_values)
    return described.propose_horizons(time, "e", "1")


def marked(values: Sequence[object], code: object) -> list[object]:
    """The values with a code for those that are not known."""
    return [code if unknown else value for value, unknown in zip(values, UNKNOWN, strict=True)]


def test_proposed_horizons_leave_out_times_and_events_that_are_named_missing() -> None:
    expected = propose(KNOWN)
    assert len(expected) == 3
    coded = {"t": marked(TIMES.tolist(), 9999), "e": EVENTS.tolist()}
    assert propose(coded, na_values=["9999"]) == expected
    assert propose(coded) != expected
    events = {"t": TIMES.tolist(), "e": marked(EVENTS.tolist(), 999)}
    assert propose(events, na_values=["999"]) == expected


def test_proposed_horizons_leave_out_dates_that_are_named_missing() -> None:
    start = pd.Timestamp("2015-01-01")
    days = np.random.default_rng(1).integers(30, 1500, N)
    ends = (start + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d")
    columns: dict[str, Sequence[object]] = {"in": ["2015-01-01"] * N, "e": EVENTS.tolist()}
    dates = FollowUpDates(start="in", end="out")
    empty = propose({**columns, "out": marked(ends.tolist(), "")}, dates)
    assert len(empty) == 3
    assert propose({**columns, "out": marked(ends.tolist(), "2099-12-31")}, dates, ["2099-12-31"]) == empty


def test_proposed_horizons_read_events_with_decimal_commas() -> None:
    texts = [f"{event},000" if event else "0" for event in KNOWN["e"]]  # elsewhere a thousand
    times = [str(time).replace(".", ",") for time in KNOWN["t"]]
    assert propose({"t": times, "e": texts}, delimiter=";") == propose(KNOWN)
