from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import brier_score_loss, roc_auc_score

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.cohort.visits import VisitTable
from autoprog.performance.subgroups import (
    MIN_COUNTED,
    MIN_OF_EACH,
    measure_subgroups,
    split_by_feature,
    usual_subgroups,
)
from tests.cohorts import cleveland_cohort

FEATURES = (Feature("Age", "numeric"), Feature("sex", "binary", ("f", "m")), Feature("lab", "numeric"))


def patients(n: int, seed: int = 0) -> tuple[Cohort, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(30, 90, n), rng.integers(0, 2, n), rng.normal(size=n)])
    p = expit(rng.normal(-0.5, 1.2, n))
    y = (rng.random(n) < p).astype(np.int8)
    return Cohort("c", Binary("y", "1", "0"), FEATURES, X, y), p


def test_measures_are_those_of_the_subgroups_patients() -> None:
    cohort, p = patients(600)
    found = {s.label: s for s in measure_subgroups(cohort, p, ["sex"])}
    assert list(found) == ["f", "m"]
    for code, label in enumerate("fm"):
        rows = cohort.X[:, 1] == code
        y, of_group = cohort.y[rows], found[label]
        assert (of_group.n, of_group.events) == (rows.sum(), y.sum())
        assert of_group.auc_roc is not None
        assert of_group.brier is not None
        assert of_group.expected_observed is not None
        assert of_group.auc_roc.estimate == pytest.approx(roc_auc_score(y, p[rows]), abs=1e-12)
        assert of_group.brier.estimate == pytest.approx(brier_score_loss(y, p[rows]), abs=1e-12)
        assert of_group.expected_observed.estimate == pytest.approx(p[rows].sum() / y.sum(), abs=1e-12)
        for measure in (of_group.auc_roc, of_group.brier, of_group.expected_observed):
            assert measure.lower < measure.estimate < measure.upper


def test_intervals_of_the_area_cover_as_they_say() -> None:
    """Truth is the area in 400,000 patients alike; of 200 intervals of level .95, 180 to 199 should hold it."""
    cohort, p = patients(400_000, seed=1)
    truth = roc_auc_score(cohort.y, p)
    rng, covered = np.random.default_rng(2), 0
    for _ in range(200):
        rows = rng.choice(len(p), 150, replace=False)
        X = cohort.X[rows]
        X[:, 1] = 0
        part = replace(cohort, X=X, y=cohort.y[rows])
        (found,) = measure_subgroups(part, p[rows], ["sex"])
        assert found.auc_roc is not None
        covered += found.auc_roc.lower <= truth <= found.auc_roc.upper
    # Three standard deviations of a binomial count at .94, which is what a percentile interval of 150 patients has.
    assert 178 <= covered <= 199


def test_age_is_cut_at_fixed_years_and_other_numbers_into_thirds() -> None:
    cohort, p = patients(600)
    found = measure_subgroups(cohort, p, ["Age", "lab"])
    assert [s.label for s in found[:4]] == ["below 40", "40 to below 65", "65 to below 80", "80 and above"]
    assert sum(s.n or 0 for s in found[:4]) == 600
    assert [s.n for s in found[4:]] == [200, 200, 200]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (20_200_101.0 + np.arange(600) // 200, ["20200102", "20200103"]),
        (1_000_000.0 + np.arange(600), ["1000200", "1000400"]),
        (np.round(0.1 + np.arange(600) / 1000, 4), ["0.3", "0.5"]),
        (np.arange(599) // 2 / 10, ["10", "19.9"]),
    ],
)
def test_bands_are_labelled_by_numbers_that_tell_them_apart(values: np.ndarray, labels: list[str]) -> None:
    first, last = labels
    found = [label for label, _ in split_by_feature(FEATURES[2], values)]
    assert found == [f"below {first}", f"{first} to below {last}", f"{last} and above"]
    by_label = dict(split_by_feature(FEATURES[2], values))
    np.testing.assert_array_equal(by_label[found[0]], values < float(first))
    cuts = np.quantile(values, [1 / 3, 2 / 3])
    assert [rows.sum() for rows in by_label.values()] == [
        (values < cuts[0]).sum(),
        ((values >= cuts[0]) & (values < cuts[1])).sum(),
        (values >= cuts[1]).sum(),
    ]


def test_few_patients_are_not_measured_and_very_few_not_counted() -> None:
    cohort, p = patients(60)
    X, y = cohort.X.copy(), cohort.y.copy()
    X[:, 1] = (np.arange(60) >= MIN_COUNTED - 1).astype(float)
    y[:] = np.arange(60) % 2
    y[9:] = 0
    y[9 : 9 + MIN_OF_EACH - 1] = 1
    X[-12:, 1] = np.nan
    few, middling, missing = measure_subgroups(replace(cohort, X=X, y=y), p, ["sex"])
    assert (few.n, few.events, few.auc_roc) == (None, None, None)
    assert (middling.n, middling.events, middling.auc_roc) == (39, MIN_OF_EACH - 1, None)
    assert (missing.label, missing.n) == ("missing", 12)


def test_sex_and_age_are_known_by_their_names() -> None:
    assert usual_subgroups(FEATURES) == ("Age", "sex")
    assert set(usual_subgroups(cleveland_cohort().features)) == {"age", "sex"}


def test_a_feature_without_variation_is_one_subgroup() -> None:
    cohort, p = patients(100)
    X = cohort.X.copy()
    X[:, 2] = 1.0
    (found,) = measure_subgroups(replace(cohort, X=X), p, ["lab"])
    assert found.n == 100


def test_a_patient_s_visits_are_not_many_patients() -> None:
    """One man has 12 visits: his outcomes are not told, as those of fewer than ten patients are not."""
    cohort, p = patients(612, seed=2)
    cohort.X[:, 1] = 0
    cohort.X[:12, 1] = 1
    of_one = np.concatenate([np.zeros(12, dtype=np.int64), np.arange(1, 601)])
    visits = replace(cohort, groups=of_one, visits=VisitTable(of_one, np.arange(612.0)))
    found = {s.label: s for s in measure_subgroups(visits, p, ["sex"])}
    assert (found["m"].n, found["m"].events) == (None, None)
    assert found["f"].n == 600
    # Thirteen men of whom one alone has the outcome, at each of a dozen visits, are counted and not measured.
    cohort.X[:24, 1] = 1
    few = np.concatenate([np.zeros(12, dtype=np.int64), np.arange(1, 601)])
    y = cohort.y.copy()
    y[:12], y[12:24] = 1, 0
    visits = replace(cohort, y=y, groups=few, visits=VisitTable(few, np.arange(612.0)))
    men = {s.label: s for s in measure_subgroups(visits, p, ["sex"])}["m"]
    assert (men.n, men.events, men.brier) == (24, 12, None)
