"""Statistical meta-features against closed forms and other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import mutual_info_score
from sksurv.nonparametric import kaplan_meier_estimator

from autoprog.cohort import Feature
from autoprog.metalearning.meta_features import ObservedTimes, days_per_unit
from autoprog.metalearning.meta_features.information import (
    compute_entropy,
    correlation_features,
    evenly_spaced,
    information_features,
    missingness_features,
    moment_features,
    size_features,
)
from autoprog.metalearning.meta_features.landmarks import landmark_features
from autoprog.metalearning.meta_features.outcome import outcome_features

NAN = np.nan


def numeric(d: int) -> list[Feature]:
    return [Feature(f"x{j}", "numeric") for j in range(d)]


def test_sizes_count_kinds_columns_and_rare_levels() -> None:
    features = [
        Feature("a", "numeric"),
        Feature("b", "binary", ("0", "1")),
        Feature("c", "categorical", ("x", "y", "z")),
        Feature("d", "ordinal", ("1", "2", "3", "4", "5")),
    ]
    X = np.column_stack([np.arange(300.0), np.arange(300) % 2, np.arange(300) % 2, np.arange(300) % 4])
    X[0, 2] = 2  # one patient of 300 has z, nobody the fifth level of d
    values = size_features(features, X, 300, 6)
    assert values == {
        "n_patients": 300, "n_features": 4, "n_columns": 6, "patients_per_column": 50, "numeric_share": 0.25,
        "binary_share": 0.25, "categorical_share": 0.25, "ordinal_share": 0.25,
        "levels_mean": pytest.approx(10 / 3), "levels_max": 5, "rare_level_share": 0.2,
    }  # fmt: skip


def test_the_outcome_in_closed_form() -> None:
    y = np.array([1.0] * 10 + [0.0] * 30 + [NAN] * 60)
    values = outcome_features(y, 0.1, 5, n_patients=100)
    assert values["event_rate"] == 0.1
    assert (values["minority_share"], values["events_per_column"]) == (0.25, 2.0)
    assert values["outcome_entropy"] == pytest.approx(stats.entropy([0.25, 0.75], base=2))


def test_missingness_is_counted_and_correlated_with_the_outcome() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    y = (rng.random(500) < 0.3).astype(float)
    X[rng.random(500) < 0.1 + 0.4 * y, 0] = NAN
    X[rng.random(500) < 0.2, 1] = NAN
    y[::7] = NAN
    m, known = np.isnan(X), ~np.isnan(y)
    values = missingness_features(X, y)
    assert values["missing_share"] == pytest.approx(m.mean())
    assert values["incomplete_feature_share"] == 0.5
    assert values["complete_patient_share"] == pytest.approx(1 - (m[:, 0] | m[:, 1]).mean())
    assert values["missing_max"] == pytest.approx(m.mean(axis=0).max())
    phi = [abs(np.corrcoef(m[known, j], y[known])[0, 1]) for j in (0, 1)]
    assert values["missing_informative"] == pytest.approx(max(phi))


def test_moments_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.lognormal(size=400), rng.standard_normal(400) * 1e-9, np.full(400, 3.0)])
    X[::9, 0] = NAN
    values = moment_features(X)
    skewness = [abs(stats.skew(X[:, j], nan_policy="omit")) for j in (0, 1)]
    kurtosis = [stats.kurtosis(X[:, j], fisher=False, nan_policy="omit") for j in (0, 1)]
    assert values["skewness_mean"] == pytest.approx(np.mean(skewness))
    assert values["skewness_max"] == pytest.approx(np.max(skewness))
    assert values["kurtosis_mean"] == pytest.approx(np.mean(kurtosis))
    assert values["kurtosis_max"] == pytest.approx(np.max(kurtosis))
    assert values["distinct_share"] == 1


def test_moments_do_not_depend_on_the_unit() -> None:
    x = np.random.default_rng(2).gamma(2, size=(200, 1))
    assert moment_features(x * 1e150) == pytest.approx(moment_features(x))
    assert moment_features(x * 1e-150) == pytest.approx(moment_features(x))


def test_outliers_zeros_and_ties_are_counted() -> None:
    x = np.array([0.0] * 5 + list(range(1, 15)) + [1000.0])
    values = moment_features(x[:, None])
    assert (values["outlier_share"], values["zero_share"], values["distinct_share"]) == (0.05, 0.25, 0.8)


def test_correlations_are_those_of_numpy() -> None:
    X = np.random.default_rng(3).standard_normal((300, 5)) @ np.random.default_rng(4).standard_normal((5, 5))
    R = np.corrcoef(X.T)
    pairs = np.abs(R[np.triu_indices(5, 1)])
    lam = np.linalg.eigvalsh(R)[::-1]
    values = correlation_features(np.column_stack([X, np.ones(300)]))
    assert values["correlation_mean"] == pytest.approx(pairs.mean())
    assert values["correlation_max"] == pytest.approx(pairs.max())
    assert values["correlated_share"] == pytest.approx((pairs > 0.5).mean())
    assert values["effective_dimension"] == pytest.approx(lam.sum() ** 2 / (lam**2).sum() / 5)
    assert values["components_95"] == (1 + int(np.argmax(np.cumsum(lam) / 5 >= 0.95))) / 5


@pytest.mark.parametrize("copies", [1, 2, 7])
def test_copies_of_one_feature_have_one_dimension(copies: int) -> None:
    values = correlation_features(np.tile(np.arange(50.0)[:, None], copies))
    assert values["effective_dimension"] == pytest.approx(1 / copies)
    assert values["components_95"] == pytest.approx(1 / copies)
    assert values["correlation_mean"] == pytest.approx(float(copies > 1))


def test_many_columns_are_thinned_from_the_first_to_the_last() -> None:
    chosen = evenly_spaced(5000, 500)
    assert (len(np.unique(chosen)), chosen[0], chosen[-1]) == (500, 0, 4999)


def test_information_is_that_of_scikit_learn_less_its_bias() -> None:
    rng = np.random.default_rng(5)
    c = rng.integers(0, 4, 1000)
    y = (rng.random(1000) < 0.2 + 0.15 * c).astype(float)
    values = information_features([Feature("c", "categorical", tuple("abcd"))], c[:, None].astype(float), y)
    plain = mutual_info_score(c, y)
    H = stats.entropy([y.mean(), 1 - y.mean()]) + 1 / 2000
    assert values["mutual_information_max"] == pytest.approx((plain - 3 / 2000) / H)
    assert values["informative_share"] == 1
    assert values["feature_entropy"] == pytest.approx(stats.entropy(np.bincount(c)) / np.log(4))


def test_information_on_nothing_is_no_more_than_chance() -> None:
    # Each of 400 features passes a test at 0.01 by chance: more than 12 of them with probability below 1e-3.
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((600, 400)), (rng.random(600) < 0.4).astype(float)
    values = information_features(numeric(400), X, y)
    assert values["informative_share"] <= 12 / 400
    assert values["mutual_information_mean"] < 0.01


def test_a_feature_that_is_the_outcome_has_all_the_information() -> None:
    y = np.arange(200) % 2.0
    values = information_features(numeric(1), y[:, None] * 7, y)
    assert values["mutual_information_max"] == pytest.approx(1, abs=0.01)


def test_entropy_of_counts() -> None:
    assert compute_entropy(np.array([0, 3, 3])) == pytest.approx(np.log(2))


def separable(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    y = (np.arange(n) % 5 == 0).astype(float)
    noise = np.random.default_rng(7).standard_normal((n, 2))
    return np.column_stack([y * 6 + noise[:, 0], noise[:, 1] * 0.1]), y


def test_landmarks_of_an_outcome_that_one_split_tells() -> None:
    X, y = separable(3000)
    values = landmark_features(numeric(2), X, y, np.random.default_rng(0))
    assert min(values.values()) > 0.97


def test_landmarks_of_noise_are_near_one_half() -> None:
    # 20 draws of 1,000 patients in halves: the mean AUC has a standard error of at most 0.005.
    aucs = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((1000, 5)), (np.arange(1000) % 2).astype(float)
        aucs.append(list(landmark_features(numeric(5), X, y, rng).values()))
    assert np.abs(np.mean(aucs, axis=0) - 0.5).max() < 0.025


def test_only_what_sees_a_line_sees_a_line_and_only_neighbours_see_a_ring() -> None:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((1000, 2))
    ring = landmark_features(numeric(2), X, ((X**2).sum(axis=1) > 1.4).astype(float), np.random.default_rng(0))
    line = landmark_features(numeric(2), X, (X.sum(axis=1) > 0).astype(float), np.random.default_rng(0))
    assert ring["landmark_nearest_neighbour"] > ring["landmark_linear"] + 0.25
    assert line["landmark_linear"] > 0.99
    assert line["landmark_linear"] > line["landmark_stump"] + 0.15


def test_landmarks_need_three_patients_of_each_outcome() -> None:
    X, y = separable(100)
    assert set(
        landmark_features(numeric(2), X, np.where(np.arange(100) < 2, 1.0, 0.0), np.random.default_rng(0)).values()
    ) == {0.5}
    assert set(landmark_features([], X[:, :0], y, np.random.default_rng(0)).values()) == {0.5}


def test_landmarks_take_missing_cells_and_levels() -> None:
    X, y = separable(400)
    X[::3, 1], X[::7, 0] = NAN, NAN
    level = np.where(np.arange(400) % 11 == 0, NAN, np.arange(400) % 3)
    features = [*numeric(2), Feature("c", "categorical", ("a", "b", "c"))]
    values = landmark_features(features, np.column_stack([X, level]), y, np.random.default_rng(0))
    assert values["landmark_linear"] > 0.85


def test_a_label_of_times_is_known_where_the_median_was_reached() -> None:
    follow_up = ObservedTimes(np.array([1.0, 2, 3, 4, 5, 2, 9]), np.array([1, 0, 1, 1, 0, 2, 2]))
    np.testing.assert_array_equal(follow_up.label(), [1, NAN, 1, 0, 0, 0, 0])


def test_no_event_of_interest_is_no_label_of_it() -> None:
    np.testing.assert_array_equal(ObservedTimes(np.array([1.0, 2]), np.array([0, 2])).label(), [NAN, 0])


@pytest.mark.parametrize("seed", range(5))
def test_median_follow_up_is_that_of_reverse_kaplan_meier(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time = np.round(rng.exponential(500, 200) + 1)
    event = rng.integers(0, 3, 200)
    # Censoring at a tied time comes after events there: by half a unit, in a library that knows no such rule.
    times, G = kaplan_meier_estimator(event == 0, np.where(event == 0, time, time - 0.5))
    expected = times[G <= 0.5][0]
    assert ObservedTimes(time, event).median_days() == expected
    assert ObservedTimes(time / 7, event, 7).median_days() == pytest.approx(expected)


def test_median_follow_up_without_censoring_is_the_longest_time() -> None:
    assert ObservedTimes(np.array([3.0, 8, 5]), np.array([1, 1, 2])).median_days() == 8


@pytest.mark.parametrize(
    ("column", "days"),
    [("days", 1), ("followup_months", 365.25 / 12), ("Years", 365.25), ("time", None), ("todays", None)],
)
def test_the_name_of_a_column_may_tell_the_unit(column: str, days: float | None) -> None:
    assert days_per_unit(column) == days
