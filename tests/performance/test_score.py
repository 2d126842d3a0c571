"""Score intervals against DeLong's variance, the bootstrap and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from scipy.stats import t as student

from autoprog.performance import METRICS, estimate_score, make_metric
from autoprog.performance.score import LEVEL, make_interval, n_rarer


def _simulated(seed: int, n: int = 300, decimals: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(np.int8)
    p = 1 / (1 + np.exp(-(rng.normal(0, 1, n) + y)))
    return y, p if decimals is None else p.round(decimals)


def _delong_variance(y: np.ndarray, p: np.ndarray) -> float:
    """Variance of the area under the curve (DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44:837)."""
    above = (p[y == 1][:, None] > p[y == 0]) + 0.5 * (p[y == 1][:, None] == p[y == 0])
    by_positive, by_negative = above.mean(axis=1), above.mean(axis=0)
    return by_positive.var(ddof=1) / len(by_positive) + by_negative.var(ddof=1) / len(by_negative)


@pytest.mark.parametrize("name", METRICS)
def test_the_estimate_is_the_metric_and_lies_inside(name: str) -> None:
    y, p = _simulated(0)
    score = estimate_score(METRICS[name], y, p)
    assert score.estimate == METRICS[name].score(y, p)
    assert score.lower < score.estimate < score.upper
    assert "not chosen by the same patients" in score.method
    assert set(score.to_json()) == {"estimate", "lower", "upper", "level", "method", "resamples"}


@pytest.mark.parametrize("seed", range(3))
def test_the_width_is_that_of_delong(seed: int) -> None:
    y, p = _simulated(seed)
    score = estimate_score(METRICS["auc_roc"], y, p)
    assert LEVEL == 0.95
    assert score.upper - score.lower == pytest.approx(2 * 1.96 * _delong_variance(y, p) ** 0.5, rel=0.05)
    other = estimate_score(METRICS["auc_roc"], y, p, out_of_fold=False)
    assert other.upper - other.lower == pytest.approx(2 * 1.96 * _delong_variance(y, p) ** 0.5, rel=0.05)
    assert other.method.startswith("auc_roc of other patients; the interval is by")


def test_the_interval_is_wider_the_fewer_have_the_outcome_and_stays_within_the_range() -> None:
    found = [make_interval("auc_roc", 0.95, 0.03, m) for m in (2, 10, 1000)]
    ends = [(each.lower, each.upper) for each in found]
    assert 0 < ends[0][0] < ends[1][0] < ends[2][0] < 0.95 < ends[2][1] < ends[1][1] < ends[0][1] < 1
    h = student.ppf(0.975, 9) * 0.03 / (0.95 * 0.05)
    np.testing.assert_allclose(logit(ends[1]), [logit(0.95) - h, logit(0.95) + h])
    brier = make_interval("brier", 0.1, 0.01, 50)
    assert brier.upper / 0.1 == pytest.approx(0.1 / brier.lower) == pytest.approx(np.exp(norm.ppf(0.975) * 0.1))
    grouped = make_interval("brier", 0.1, 0.01, 50, grouped=True)
    assert grouped.upper / 0.1 == pytest.approx(np.exp(student.ppf(0.975, 49) * 0.1))
    slope = make_interval("slope", 0.1, 0.01, 50)
    assert slope.upper - 0.1 == pytest.approx(0.1 - slope.lower) == pytest.approx(student.ppf(0.975, 49) * 0.01)
    assert make_interval("brier", 0.5, 0.4, 2, most=1.0).upper == 1.0


def test_groups_count_once_among_those_with_the_rarer_outcome() -> None:
    y = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    assert n_rarer(y, None) == 3
    assert n_rarer(y, np.array([0, 0, 1, 1, 2, 3, 4, 5])) == 2


def test_the_thresholds_of_a_net_benefit_are_told() -> None:
    y, p = _simulated(7)
    metric = make_metric("net_benefit", (0.1, 0.25))
    score = estimate_score(metric, y, p)
    assert score.method.startswith("net_benefit for thresholds from 0.1 to 0.25 of out-of-fold risks")
    assert score.estimate == metric.score(y, p)
    assert score.lower < score.estimate < score.upper


@pytest.mark.parametrize("rarer", [2, 3, 20])
def test_an_area_of_one_is_as_certain_as_the_fewer_patients_make_it(rarer: int) -> None:
    """A probability of being above all others is refuted if all are so less than once in 40 times."""
    y = np.repeat([0, 1], [40, rarer])
    p = np.linspace(0, 1, 40 + rarer)
    found, mirrored = (estimate_score(METRICS["auc_roc"], y, risks) for risks in (p, 1 - p))
    assert (found.estimate, found.upper) == (1.0, 1.0)
    assert found.lower**rarer == pytest.approx(0.025)
    assert (mirrored.estimate, mirrored.lower, mirrored.upper) == (0.0, 0.0, pytest.approx(1 - found.lower))


def test_intervals_of_three_cases_cover_although_a_third_of_the_areas_is_one() -> None:
    """The true area is .93: of 400 samples of 3 cases and 15 others at least 95 in 100 intervals hold it."""
    rng = np.random.default_rng(0)
    truth, y = norm.cdf(2.1 / 2**0.5), np.repeat([0, 1], [15, 3])
    found = [estimate_score(METRICS["auc_roc"], y, expit(rng.normal(2.1 * y))) for _ in range(400)]
    assert np.mean([each.estimate == 1 for each in found]) > 0.3
    assert np.mean([each.lower <= truth <= each.upper for each in found]) >= 0.95


@pytest.mark.parametrize("name", METRICS)
def test_rows_of_one_group_are_drawn_together(name: str) -> None:
    """Four copies of every patient say no more than the patient; taken for others, they halve the interval."""
    y, p = _simulated(2)
    copied = np.repeat(y, 4), np.repeat(p, 4)
    patient = np.repeat(np.arange(len(y)), 4)
    alone, copies = estimate_score(METRICS[name], y, p), estimate_score(METRICS[name], *copied)
    grouped = estimate_score(METRICS[name], *copied, patient)
    assert grouped.estimate == pytest.approx(alone.estimate)
    width = alone.upper - alone.lower
    assert grouped.upper - grouped.lower == pytest.approx(width, rel=0.03)
    assert copies.upper - copies.lower == pytest.approx(width / 2, rel=0.05)
    assert "by groups of patients" in grouped.method


@pytest.mark.parametrize("out_of_fold", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_the_interval_holds_the_score_of_all_patients_alike(name: str, out_of_fold: bool) -> None:
    """Of 95 in 100 cohorts; 48 of them hold the Brier score's where every resample has as many with the outcome."""
    rng = np.random.default_rng(8)
    prevalence, n, cohorts = 0.1, 500, 120

    def drawn(size: int) -> tuple[np.ndarray, np.ndarray]:
        y = (rng.random(size) < prevalence).astype(np.int8)
        return y, expit(rng.normal(-2.5, 1, size) + 1.2 * y)

    truth = METRICS[name].score(*drawn(300_000))
    held = 0
    for _ in range(cohorts):
        score = estimate_score(METRICS[name], *drawn(n), out_of_fold=out_of_fold)
        held += score.lower <= truth <= score.upper
    assert held / cohorts >= 0.89  # 95 less three standard errors


def test_an_outcome_of_a_single_group_has_a_wide_interval() -> None:
    y = np.repeat([1, 0, 0, 0], 10)
    groups = np.repeat([0, 1, 2, 3], 10)
    p = np.random.default_rng(0).uniform(0.1, 0.9, 40)
    found = estimate_score(METRICS["brier"], y, p, groups, out_of_fold=False)
    assert 0 < found.lower < found.estimate < found.upper <= 1
    assert found.upper - found.lower > 0.3
