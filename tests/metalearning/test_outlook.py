"""The outlook: closed forms, and coverage over simulated families of cohorts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from autoprog.metalearning import CohortStatistics, outlook
from autoprog.metalearning.outlook import held_out_gains
from tests.metalearning.repositories import COUNTS, SPREAD, centre, collect_statistics, copies_count, meta_features_at

__all__ = ["copies_count"]
pytestmark = pytest.mark.usefixtures("copies_count")

U = centre(np.random.default_rng(0))
HERE = meta_features_at(U)
N_ALGORITHMS = 18


def test_identical_cohorts_give_student_s_prediction_interval() -> None:
    gains = [0.01, 0.03, 0.02, 0.05, 0.00, 0.04]
    found = outlook(
        HERE,
        [collect_statistics(f"c{j}", HERE, [g]) for j, g in enumerate(gains)],
        mode="classification",
        metric="auc_roc",
    ).expectation
    assert found is not None
    m, unit = np.mean(gains), np.std(gains, ddof=1) * np.sqrt(1 + 1 / 6)
    assert found.algorithm == "a00"
    assert found.gain == pytest.approx(m)
    assert [found.lower, found.upper] == pytest.approx(list(stats.t.interval(0.8, 5, m, unit)))
    assert found.probability == pytest.approx(stats.t.cdf(m / unit, 5))


def test_fewer_than_five_similar_cohorts_are_too_few() -> None:
    away = meta_features_at(U + np.where(COUNTS, 30.0, 0.0))
    near = [collect_statistics(f"c{j}", HERE, [0.01 * j]) for j in range(4)]
    far = [collect_statistics(f"f{j}", away, [0.5]) for j in range(9)]
    found = outlook(HERE, near, mode="classification", metric="auc_roc")
    assert (found.expectation, found.n_similar, found.n_comparable) == (None, 4, 4)
    found = outlook(away, near + far[:4], mode="classification", metric="auc_roc")
    assert found.expectation is None
    assert outlook(HERE, [], mode="classification", metric="auc_roc").nearest == ()


def test_other_metrics_are_no_evidence() -> None:
    others = [collect_statistics(f"c{j}", HERE, [0.01 * j], metric="brier") for j in range(9)]
    assert outlook(HERE, others, mode="classification", metric="auc_roc").n_comparable == 0


def test_the_nearest_are_named_with_what_they_gained() -> None:
    steps = np.linspace(0.02, 0.4, 12)
    cohorts = [
        collect_statistics(f"c{j}", meta_features_at(U + np.where(COUNTS, s, 0)), [s]) for j, s in enumerate(steps)
    ]
    found = outlook(HERE, cohorts[::-1], mode="classification", metric="auc_roc")
    assert [near.cohort_id for near in found.nearest] == [f"c{j}" for j in range(10)]
    assert [near.gain for near in found.nearest] == pytest.approx(steps[:10].tolist())
    weights = [near.weight for near in found.nearest]
    assert weights == sorted(weights, reverse=True)


def test_each_cohort_is_judged_by_the_pick_of_the_others() -> None:
    x = np.array([[0.9, 0.1, np.nan], [0.0, 0.2, 0.8], [0.1, 0.3, np.nan]])
    w = np.full(3, 1 / 3)
    # Without the first: means 0.05, 0.25, 0.8 (tried by half of the weight), of which the first has tried two.
    # Without the second: 0.5, 0.2. Without the third: 0.45, 0.15, 0.8, of which it has tried two.
    np.testing.assert_allclose(held_out_gains(x, w), [0.1, 0.0, 0.1])


def test_a_cohort_that_tried_nothing_of_it_has_no_gain() -> None:
    x = np.array([[np.nan, np.nan], [0.1, np.nan], [0.2, 0.0]])
    assert np.isnan(held_out_gains(x, np.full(3, 1 / 3))).tolist() == [True, False, False]


def family(rng: np.random.Generator, n_cohorts: int) -> tuple[CohortStatistics, list[CohortStatistics]]:
    """A cohort and the earlier ones of its family: algorithms differ, cohorts differ, and each does as it likes."""
    u, common = centre(rng), rng.normal(0.0, 0.02)
    of_algorithm = common + rng.normal(0.0, 0.02, N_ALGORITHMS)
    of_cohorts = 0.005 + abs(rng.normal(0.0, 0.02))

    def cohort(name: str) -> CohortStatistics:
        gains: NDArray[np.float64] = of_algorithm + rng.normal(0.0, of_cohorts) + rng.normal(0.0, 0.01, N_ALGORITHMS)
        return collect_statistics(
            name, meta_features_at(u + 0.3 * SPREAD * rng.standard_normal(len(u))), gains.tolist()
        )

    return cohort("new"), [cohort(f"c{j}") for j in range(n_cohorts)]


@pytest.mark.parametrize("n_cohorts", [6, 10, 20])
def test_an_interval_of_80_percent_covers_80_percent_and_the_gain_is_not_biased(n_cohorts: int) -> None:
    # 200 families: at a coverage of 0.8 the share lies outside [0.75, 0.85] in 8 % of all draws, outside [0.72, 0.88]
    # in 0.5 %; these 200 are the same in every run.
    covered, errors, hits = [], [], []
    for seed in range(200):
        new, earlier = family(np.random.default_rng([seed, n_cohorts]), n_cohorts)
        found = outlook(new.meta_features, earlier, mode="classification", metric="auc_roc").expectation
        if found is None:
            continue
        gain = {g.algorithm: g.best for g in new.algorithms}[found.algorithm]
        covered.append(found.lower <= gain <= found.upper)
        errors.append(gain - found.gain)
        hits.append((gain > 0) - found.probability)
    assert len(covered) > 150
    assert 0.75 <= np.mean(covered) <= 0.85
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(len(errors))
    assert abs(np.mean(hits)) < 0.08


def test_the_largest_mean_of_what_it_was_chosen_on_would_be_biased() -> None:
    # Twenty algorithms without any difference: the largest mean of six cohorts promises what nobody can keep.
    naive, held_out = [], []
    for seed in range(300):
        x = np.random.default_rng(seed).normal(0.0, 0.02, (6, 20))
        naive.append(x.mean(axis=0).max())
        held_out.append(held_out_gains(x, np.full(6, 1 / 6)).mean())
    assert np.mean(naive) > 0.01
    assert abs(np.mean(held_out)) < 0.002
