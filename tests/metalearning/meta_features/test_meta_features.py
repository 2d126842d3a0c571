"""All 55 at once: on real cohorts, in every mode, the same on every call."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from autoprog.cohort import Cohort, Feature, TimeToEvent
from autoprog.cohort.schema import FeatureKind
from autoprog.metalearning.meta_features import (
    META_FEATURES,
    MetaFeatures,
    ObservedTimes,
    computation,
    describe,
    describe_cohort,
    meta_features,
)
from tests.cohorts import mixed_cohort, real_cohort

REAL = ("cleveland", "hepatitis", "pima_missing", "ckd", "stroke")
LEVELS = {"numeric": (), "binary": ("0", "1"), "categorical": ("a", "b", "c")}
LARGEST = sys.float_info.max
TIMED = ("visits_per_patient", "follow_up_days", "censored_share", "competing_share")


def test_there_are_40_statistical_and_15_clinical_ones() -> None:
    assert [m.group for m in META_FEATURES] == ["statistical"] * 40 + ["clinical"] * 15
    assert len({m.name for m in META_FEATURES}) == 55


def assert_in_range(found: MetaFeatures) -> None:
    for m, value in zip(META_FEATURES, found.values, strict=True):
        assert math.isfinite(value), m.name
        assert 0 <= value <= (1 if m.scale == "share" else math.inf), m.name


@pytest.mark.parametrize("name", REAL)
def test_values_keep_to_their_ranges(name: str) -> None:
    found = meta_features(real_cohort(name))
    assert_in_range(found)
    assert [found.to_dict()[name] for name in TIMED] == [0] * 4


@pytest.mark.parametrize("n", [30, 200, 3_000])
@pytest.mark.parametrize("observed", [1.0, 0.02])
@pytest.mark.parametrize("kinds", [("binary",), ("binary", "binary"), ("categorical",), ("binary", "numeric")])
def test_flags_that_few_patients_have_are_described(n: int, observed: float, kinds: tuple[FeatureKind, ...]) -> None:
    """Among the patients that a landmark learns from, nobody may have any of them."""
    rng = np.random.default_rng(n)
    features = [Feature(f"x{j}", kind, LEVELS[kind]) for j, kind in enumerate(kinds)]
    X = np.where(rng.random((n, len(kinds))) < observed, 0.0, np.nan)
    X[[3, 7], :] = [[0.0], [1.0]]
    X[:, [j for j, kind in enumerate(kinds) if kind == "numeric"]] = 4.0
    assert_in_range(describe(features, X, (np.arange(n) % 2).astype(np.int8)))


@pytest.mark.parametrize("number", [1e40, 9.99e99, 1e150, 1e160, 1e200, LARGEST, -LARGEST, 1e-300, 1e-310, 5e-324])
@pytest.mark.parametrize("of", ["a cell", "a column", "all that is known"])
def test_no_number_of_a_cohort_is_too_large_or_too_small(number: float, of: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 2, 200).astype(np.int8)
    if of == "a cell":
        X[3, 1] = number
    elif of == "a column":
        X[:, 1] *= number / np.abs(X[:, 1]).max()
    else:
        X[:, 1] = np.where(np.arange(200) == 3, number, np.nan)
        X[7, 1] = 1.0
    assert_in_range(describe([Feature("a", "numeric"), Feature("b", "numeric")], X, y))


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**300, 2.0**900])
def test_the_unit_of_a_column_changes_nothing(unit: float) -> None:
    cohort = real_cohort("pima_missing")
    assert describe(cohort.features, cohort.X * unit, cohort.y) == meta_features(cohort)


def test_no_time_is_too_long() -> None:
    rng = np.random.default_rng(0)
    time = np.where(np.arange(100) < 60, LARGEST, rng.exponential(1.0, 100) + 0.1)
    outcome = ObservedTimes(time, rng.integers(0, 3, 100), 365.25)
    found = describe([Feature("a", "numeric")], rng.standard_normal((100, 1)), outcome)
    assert_in_range(found)
    assert found.to_dict()["follow_up_days"] > 1e308


def test_a_cohort_has_one_set_whatever_the_number_of_threads() -> None:
    one = meta_features(real_cohort("ckd"))
    with threadpool_limits(2):
        assert meta_features(real_cohort("ckd")) == one


def test_known_figures_of_cleveland() -> None:
    values = meta_features(real_cohort("cleveland")).to_dict()
    assert (values["n_patients"], values["n_features"]) == (303, 13)
    assert values["event_rate"] == pytest.approx(139 / 303, rel=1e-5)
    assert values["missing_share"] == pytest.approx(6 / (303 * 13), rel=1e-5)
    assert values["imaging_share"] == pytest.approx(3 / 13, rel=1e-5)
    assert 0.8 < values["landmark_linear"] < 0.95


def test_a_large_cohort_is_sampled_and_its_sizes_are_not() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 3))
    y = (X[:, 0] > 1).astype(np.int8)
    X[0, 1] = np.nan
    values = describe([Feature(f"x{j}", "numeric") for j in range(3)], X, y).to_dict()
    assert values["n_patients"] == 30_000
    assert values["event_rate"] == pytest.approx(y.mean(), rel=1e-5)
    assert values["missing_share"] == pytest.approx(1 / 90_000, rel=1e-5)
    assert values["kurtosis_mean"] == pytest.approx(3, abs=0.3)


def survival_cohort() -> Cohort:
    base = mixed_cohort()
    rng = np.random.default_rng(1)
    outcome = TimeToEvent("months", "status", "1", (12.0,), ("2",))
    event = rng.integers(0, 3, base.n_patients).astype(np.int8)
    return replace(base, outcome=outcome, y=event, time=rng.exponential(10, base.n_patients) + 0.1)


def test_times_to_an_event_have_follow_up_censoring_and_competing_events() -> None:
    cohort = survival_cohort()
    values = meta_features(cohort).to_dict()
    assert values["censored_share"] == pytest.approx((cohort.y == 0).mean(), rel=1e-5)
    assert values["competing_share"] == pytest.approx((cohort.y == 2).mean(), rel=1e-5)
    assert values["event_rate"] == pytest.approx((cohort.y == 1).mean(), rel=1e-5)
    assert cohort.time is not None
    median = ObservedTimes(cohort.time, cohort.y, 365.25 / 12).median_days()
    assert values["follow_up_days"] == pytest.approx(median, rel=1e-5)


def test_a_time_without_a_unit_is_taken_for_days_and_said_to_be() -> None:
    cohort = survival_cohort()
    assert describe_cohort(cohort) == ()
    nameless = replace(cohort, outcome=replace(cohort.outcome, time="t"))
    (note,) = describe_cohort(nameless)
    assert "'t'" in note
    months, days = (meta_features(c).to_dict()["follow_up_days"] for c in (cohort, nameless))
    assert months == pytest.approx(days * 365.25 / 12, rel=1e-5)


def test_the_time_unit_of_the_outcome_precedes_the_name_of_its_column() -> None:
    cohort = survival_cohort()
    days, weeks = (
        replace(cohort, outcome=replace(cohort.outcome, time=name, time_unit=unit))
        for name, unit in (("t", "days"), ("months", "Weeks"))
    )
    assert describe_cohort(days) == describe_cohort(weeks) == ()
    day, week = (meta_features(c).to_dict()["follow_up_days"] for c in (days, weeks))
    assert week == pytest.approx(7 * day, rel=1e-5)
    other = replace(cohort, outcome=replace(cohort.outcome, time_unit="cycles"))
    assert meta_features(other) == meta_features(cohort)


def test_rows_that_are_visits_are_not_counted_as_patients() -> None:
    base = mixed_cohort()
    values = describe(base.features, base.X, base.y, patient=np.repeat([0, 1], [120, 80])).to_dict()
    assert (values["n_patients"], values["visits_per_patient"]) == (2, 100)


def test_events_a_column_are_patients_where_rows_are_visits() -> None:
    base = mixed_cohort()
    by_rows = describe(base.features, base.X, base.y).to_dict()
    by_visits = describe(base.features, base.X, base.y, patient=np.arange(base.n_rows) // 4).to_dict()
    assert by_visits["minority_share"] == by_rows["minority_share"]
    assert by_visits["events_per_column"] == pytest.approx(by_rows["events_per_column"] / 4, rel=1e-5)


@pytest.mark.parametrize("visits", [False, True])
def test_a_copy_in_another_order_is_a_copy(*, visits: bool) -> None:
    cohort = real_cohort("pima_missing")
    n = cohort.n_rows - cohort.n_rows % 4
    rng = np.random.default_rng(0)
    # Patients in another order, each with the four visits.
    order = (4 * rng.permutation(n // 4)[:, None] + np.arange(4)).ravel() if visits else rng.permutation(n)
    patient = np.arange(n) // 4 if visits else None
    here, copy = (
        describe(cohort.features, cohort.X[rows], cohort.y[rows], patient=patient) for rows in (np.arange(n), order)
    )
    assert here != copy
    assert here.of_patients == copy.of_patients


@pytest.mark.parametrize("most", [10_000, 200], ids=["whole", "sampled"])
def test_halves_of_a_cohort_are_no_copies(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """They have as many patients and events, the same columns, and no missing cell."""
    monkeypatch.setattr(computation, "MAX_ROWS", most)
    monkeypatch.setattr(computation, "MIN_ROWS", 100)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200).astype(np.int8)
    halves = (rng.standard_normal((400, 3)) + y[:, None] for _ in range(2))
    one, other = (describe([Feature(f"x{j}", "numeric") for j in range(3)], X, y).of_patients for X in halves)
    assert one != other


def test_landmarks_do_not_meet_a_patient_again() -> None:
    # Outcomes are by chance, and visits of a patient alike: whoever sees a patient twice knows the outcome. Over ten
    # draws of 200 patients the mean AUC of chance has a standard error below 0.015.
    aucs = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        patient = np.repeat(np.arange(200), 5)
        X = np.repeat(rng.standard_normal((200, 3)), 5, axis=0)
        y = np.repeat(rng.integers(0, 2, 200), 5).astype(np.int8)
        values = describe([Feature(f"x{j}", "numeric") for j in range(3)], X, y, patient=patient).to_dict()
        aucs.append(values["landmark_nearest_neighbour"])
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.06)


def test_a_cohort_of_levels_alone_has_no_moments() -> None:
    base = mixed_cohort()
    values = describe(base.features[1:3], base.X[:, 1:3], base.y).to_dict()
    assert [values[n] for n in ("skewness_mean", "kurtosis_max", "outlier_share", "distinct_share")] == [0] * 4


def test_values_by_name_and_by_place_agree() -> None:
    made = meta_features(mixed_cohort())
    assert MetaFeatures.of(made.to_dict()) == made
    np.testing.assert_array_equal(made.to_array(), list(made.values))


def test_a_set_that_is_not_the_55_is_refused_by_name() -> None:
    values = meta_features(mixed_cohort()).to_dict()
    values["n_wards"] = values.pop("n_features")
    with pytest.raises(ValueError, match="n_features, n_wards"):
        MetaFeatures.of(values)
