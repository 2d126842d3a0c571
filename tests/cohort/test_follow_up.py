from __future__ import annotations

import gzip
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sksurv.nonparametric import kaplan_meier_estimator

from autoprog.cohort import FollowUpSummary, follow_up
from autoprog.cohort.follow_up import default_horizons, horizon_fault, horizon_limit, median_follow_up
from tests.cohorts import cleveland_cohort, event_cohort, event_file

REFERENCE = Path(__file__).parents[1] / "data" / "reference"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ties", [True, False])
def test_the_median_is_that_of_the_reverse_kaplan_meier_estimate(seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    time = rng.integers(1, 12, 60).astype(float) if ties else rng.exponential(size=60)
    event = rng.random(60) < 0.4
    times, survival = kaplan_meier_estimator(event, time, reverse=True)
    reached = times[survival <= 0.5]
    assert median_follow_up(time, event) == (reached[0] if len(reached) else None)


def test_a_median_by_hand() -> None:
    time = np.array([1.0, 2, 2, 3, 4])
    # at 2 an event comes before the censoring, which then is one of three: 1 - 1/3; at 3 one of two: 1/3
    assert median_follow_up(time, np.array([True, True, False, False, False])) == 3
    assert median_follow_up(time, np.ones(5, dtype=bool)) is None
    assert median_follow_up(time, np.zeros(5, dtype=bool)) == 2


@pytest.mark.parametrize("n", range(2, 80, 2))
def test_a_median_is_reached_where_half_are_left_but_for_rounding(n: int) -> None:
    assert median_follow_up(np.arange(1.0, n + 1), np.zeros(n, dtype=bool)) == n / 2


def test_the_follow_up_of_visits_counts_each_patient_from_the_first() -> None:
    frame = pd.read_csv(io.BytesIO(gzip.decompress(event_file("pbcseq"))))
    patients = frame.groupby("patient_id")[["visit_time", "time", "event"]].min()
    found = follow_up(event_cohort("pbcseq"))
    assert found is not None
    assert found.events == {"1": int((patients.event == 1).sum()), "2": int((patients.event == 2).sum())}
    assert found.n_censored == (patients.event == 0).sum()
    assert found.person_time == pytest.approx((patients.time - patients.visit_time).sum())
    assert follow_up(cleveland_cohort()) is None


def test_the_counts_of_competing_causes_are_in_their_order() -> None:
    cohort = event_cohort("bmt137")
    assert cohort.time is not None
    median = median_follow_up(cohort.time, cohort.y > 0)
    assert follow_up(cohort) == FollowUpSummary({"1": 42, "2": 41}, 54, float(cohort.time.sum()), median)
    none = replace(cohort, y=np.where(cohort.y == 2, 0, cohort.y).astype(np.int8))
    found = follow_up(none)
    assert found is not None
    assert found.events == {"1": 42, "2": 0}


def test_the_default_horizons_are_those_of_r() -> None:
    published = pd.read_csv(REFERENCE / "horizons.csv")
    for name in ("whas500", "gbsg2", "veteran", "bmt137"):  # no cell is missing: R left no row out
        cohort = event_cohort(name)
        assert cohort.time is not None
        horizons, left_out = default_horizons(cohort.time, cohort.time[cohort.y == 1])
        assert left_out == ()
        np.testing.assert_allclose(horizons, published.loc[published["cohort"] == name, "horizon"], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_below_the_limit_enough_are_followed_and_at_it_too_few(seed: int) -> None:
    rng = np.random.default_rng(seed)
    followed = rng.integers(1, 30, 40).astype(float)
    events = followed[rng.random(40) < 0.5]
    limit = horizon_limit(followed)
    assert (followed > np.nextafter(limit, 0)).sum() >= 5
    assert (followed > limit).sum() < 5
    for h in np.arange(0.5, 32, 0.5):
        usable = (followed > h).sum() >= 5 and (events <= h).sum() >= 5
        assert (horizon_fault(float(h), followed, events) is None) == usable
