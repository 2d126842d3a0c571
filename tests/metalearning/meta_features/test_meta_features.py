"""All 55 at once: on real cohorts, in every mode, the same on every call."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from autoprog.cohort import Cohort, Feature, TimeToEvent
from autoprog.metalearning.meta_features import (
    META_FEATURES,
    MetaFeatures,
    ObservedTimes,
    describe,
    meta_features,
    notes_of,
)
from tests.cohorts import mixed_cohort, real_cohort

REAL = ("cleveland", "hepatitis", "pima_missing", "ckd", "stroke")
TIMED = ("visits_per_patient", "follow_up_days", "censored_share", "competing_share")


def test_there_are_40_statistical_and_15_clinical_ones() -> None:
    assert [m.group for m in META_FEATURES] == ["statistical"] * 40 + ["clinical"] * 15
    assert len({m.name for m in META_FEATURES}) == 55


@pytest.mark.parametrize("name", REAL)
def test_values_keep_to_their_ranges(name: str) -> None:
    values = meta_features(real_cohort(name)).to_dict()
    for m in META_FEATURES:
        assert math.isfinite(values[m.name]), m.name
        assert 0 <= values[m.name] <= (1 if m.scale == "share" else math.inf), m.name
    assert [values[name] for name in TIMED] == [0] * 4


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
    assert notes_of(cohort) == ()
    nameless = replace(cohort, outcome=replace(cohort.outcome, time="t"))
    (note,) = notes_of(nameless)
    assert "'t'" in note
    months, days = (meta_features(c).to_dict()["follow_up_days"] for c in (cohort, nameless))
    assert months == pytest.approx(days * 365.25 / 12, rel=1e-5)


def test_rows_that_are_visits_are_not_counted_as_patients() -> None:
    base = mixed_cohort()
    values = describe(base.features, base.X, base.y, patient=np.repeat([0, 1], [120, 80])).to_dict()
    assert (values["n_patients"], values["visits_per_patient"]) == (2, 100)


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
