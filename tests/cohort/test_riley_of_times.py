from __future__ import annotations

import math

import pytest

from autoprog.cohort import WindowSchema, follow_up, riley_minimum, riley_minimum_of_times, sample_size
from autoprog.cohort.sample_size import n_parameters
from tests.cohorts import event_cohort, labelled_visits


@pytest.mark.parametrize(
    ("r2", "p", "rate", "horizon", "mean_follow_up", "n"),
    [  # the tests of the authors' pmsampsize 1.1.3, in which the shrinkage decides
        (0.051, 25, 0.065, 2, 2.07, 4286),
        (0.065, 25, 0.065, 2, 2.07, 3335),
        (0.051, 50, 0.065, 2, 2.07, 8572),
        (0.051, 25, 0.1, 2, 2.07, 4286),
        (0.051, 25, 0.065, 4, 2.07, 4286),
        (0.051, 25, 0.065, 2, 4.0, 4286),
        (0.06, 40, 0.08, 3, 5.0, 5798),
        (0.03, 10, 0.09, 3, 3.0, 2950),
    ],
)
def test_minima_by_shrinkage_are_the_authors(
    r2: float, p: int, rate: float, horizon: float, mean_follow_up: float, n: int
) -> None:
    assert riley_minimum_of_times(p, rate, mean_follow_up, [horizon], r2) == n


def test_the_minimum_by_optimism_is_the_authors_but_for_their_rounding() -> None:
    # pmsampsize gives 2,279: it rounds the largest R^2 to two digits and the shrinkage to three
    assert riley_minimum_of_times(80, 0.03, 5.0, [1], 0.3) == pytest.approx(2279, rel=0.01)


@pytest.mark.parametrize(("rate", "horizon", "mean_follow_up"), [(0.4, 1.0, 1.0), (0.05, 10.0, 12.0), (0.3, 0.5, 2.0)])
def test_the_minimum_by_the_overall_risk_is_the_least_with_an_interval_as_narrow(
    rate: float, horizon: float, mean_follow_up: float
) -> None:
    def margin(n: int) -> float:
        error = 1.96 * math.sqrt(rate / (n * mean_follow_up))
        risks = [1 - math.exp(-(rate + sign * error) * horizon) for sign in (-1, 0, 1)]
        return max(risks[1] - risks[0], risks[2] - risks[1])

    n = riley_minimum_of_times(1, rate, mean_follow_up, [horizon], 0.7)
    assert margin(n) <= 0.05 < margin(n - 1)


def test_the_dearest_horizon_decides() -> None:
    each = [riley_minimum_of_times(1, 0.4, 1.0, [h], 0.7) for h in (0.1, 0.5, 2.5)]
    assert riley_minimum_of_times(1, 0.4, 1.0, [0.1, 0.5, 2.5], 0.7) == max(each) > min(each)


def test_the_unit_of_time_does_not_matter() -> None:
    for p in (1, 20):
        years = riley_minimum_of_times(p, 0.1, 4.0, [1, 5])
        assert riley_minimum_of_times(p, 0.1 / 365.25, 4.0 * 365.25, [365.25, 5 * 365.25]) == years


@pytest.mark.parametrize(
    ("p", "rate", "mean_follow_up", "horizons", "r2"),
    [
        (0, 0.1, 2, [1], None),
        (5, 0.0, 2, [1], None),
        (5, 0.1, 0, [1], None),
        (5, 0.6, 2, [1], None),
        (5, 0.1, 2, [], None),
        (5, 0.1, 2, [0, 1], None),
        (5, 0.1, 2, [1], 0.7),
        (5, 0.1, 2, [1], 0.0),
    ],
)
def test_what_is_out_of_range_is_refused(
    p: int, rate: float, mean_follow_up: float, horizons: list[float], r2: float | None
) -> None:
    with pytest.raises(ValueError, match=r"must be|needs"):
        riley_minimum_of_times(p, rate, mean_follow_up, horizons, r2)


@pytest.mark.parametrize("name", ["veteran", "mgus2", "pbcseq"])
def test_the_event_of_interest_and_patients_are_counted(name: str) -> None:
    cohort = event_cohort(name)
    features = cohort.features if cohort.visits is None else WindowSchema.of(cohort).windowed
    followed, size, p = follow_up(cohort), sample_size(cohort), n_parameters(features)
    assert size.n_parameters == p
    assert followed is not None
    assert size.events_per_predictor == pytest.approx(followed.events["1"] / p)
    rate = followed.events["1"] / followed.person_time
    mean = followed.person_time / cohort.n_patients
    assert size.riley_minimum == riley_minimum_of_times(p, rate, mean, cohort.horizons)
    assert (size.verdict == "insufficient") == (cohort.n_patients < size.riley_minimum)


def test_of_labelled_visits_the_patients_are_counted() -> None:
    cohort = labelled_visits()
    assert cohort.visits is not None
    size, p = sample_size(cohort), n_parameters(WindowSchema.of(cohort).windowed)
    assert p > 3 * len(cohort.features)
    without, with_outcome = (len(set(cohort.visits.patient[cohort.y == label].tolist())) for label in (0, 1))
    assert size.events_per_predictor == pytest.approx(min(without, with_outcome) / p)
    assert size.riley_minimum == riley_minimum(p, min(with_outcome / cohort.n_patients, 1 - 0.5 / cohort.n_patients))
    assert (size.verdict == "insufficient") == (cohort.n_patients < size.riley_minimum)
