"""Score intervals against DeLong's variance and against exact resampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student

from autoprog.evaluation import METRICS, metric_of
from autoprog.validation import estimate_score
from autoprog.validation import score as score_module
from autoprog.validation.score import LEVEL, _statistic, _unrolled, interval_of, n_rarer


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
    score = estimate_score(METRICS[name], y, p, np.random.default_rng(0))
    assert score.estimate == METRICS[name].score(y, p)
    assert score.lower < score.estimate < score.upper
    assert "not chosen by the same patients" in score.method
    assert set(score.to_json()) == {"estimate", "lower", "upper", "level", "method"}


@pytest.mark.parametrize("seed", range(3))
def test_the_width_is_that_of_delong(seed: int) -> None:
    # The bootstrap's standard error of 1000 resamples is itself uncertain by 1 / sqrt(2000) = 2 %, a quantile by more.
    y, p = _simulated(seed)
    score = estimate_score(METRICS["auc_roc"], y, p, np.random.default_rng(seed))
    assert LEVEL == 0.95
    assert score.upper - score.lower == pytest.approx(2 * 1.96 * _delong_variance(y, p) ** 0.5, rel=0.15)
    other = estimate_score(METRICS["auc_roc"], y, p, np.random.default_rng(seed), out_of_fold=False)
    assert other.upper - other.lower == pytest.approx(2 * 1.96 * _delong_variance(y, p) ** 0.5, rel=0.15)
    assert other.method.startswith("auc_roc of other patients; percentile interval of 1000 bootstrap resamples")


def test_the_interval_is_wider_the_fewer_have_the_outcome_and_stays_within_the_range() -> None:
    ends = [interval_of(METRICS["auc_roc"], 0.95, 0.03, m) for m in (2, 10, 1000)]
    assert 0 < ends[0][0] < ends[1][0] < ends[2][0] < 0.95 < ends[2][1] < ends[1][1] < ends[0][1] < 1
    h = student.ppf(0.975, 9) * 0.03 / (0.95 * 0.05)
    np.testing.assert_allclose(logit(ends[1]), [logit(0.95) - h, logit(0.95) + h])
    assert interval_of(METRICS["auc_roc"], 1.0, 0.0, 10) == (1.0, 1.0)
    lower, upper = interval_of(METRICS["brier"], 0.1, 0.01, 50)
    assert upper - 0.1 == pytest.approx(0.1 - lower) == pytest.approx(student.ppf(0.975, 49) * 0.01)


def test_groups_count_once_among_those_with_the_rarer_outcome() -> None:
    y = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    assert n_rarer(y, None) == 3
    assert n_rarer(y, np.array([0, 0, 1, 1, 2, 3, 4, 5])) == 2


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_of_counts_is_the_metric_ties_and_certainties_included(name: str, decimals: int | None) -> None:
    y, p = _simulated(4, decimals=decimals)
    v, place = np.unique(p, return_inverse=True)
    rng = np.random.default_rng(1)
    for _ in range(20):
        drawn = np.concatenate([rng.choice(np.flatnonzero(y == label), np.sum(y == label)) for label in (0, 1)])
        c0, c1 = (np.bincount(place[drawn][y[drawn] == label], minlength=len(v)) for label in (0, 1))
        exact = METRICS[name].score(y[drawn], p[drawn])
        assert _statistic(METRICS[name])(v, c1, c0) == pytest.approx(exact, abs=1e-12)
        assert _unrolled(METRICS[name])(v, c1, c0) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_groups_of_risks_change_the_interval_by_less_than_the_resampling(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An end of a percentile interval of 1000 resamples has a standard error of 2 % of the width.
    y, p = _simulated(6, n=3000)
    p = p**4 * 0.999 + 0.0005  # many small risks, as of a rare outcome
    rng = np.random.default_rng
    monkeypatch.setattr(score_module, "GROUPS", 3000)
    exact = estimate_score(METRICS[name], y, p, rng(0))
    monkeypatch.setattr(score_module, "GROUPS", 300)
    grouped = estimate_score(METRICS[name], y, p, rng(1))
    assert grouped.estimate == exact.estimate
    width = exact.upper - exact.lower
    assert grouped.lower == pytest.approx(exact.lower, abs=0.12 * width)
    assert grouped.upper == pytest.approx(exact.upper, abs=0.12 * width)
    assert "about 300 groups" in grouped.method
    assert "groups" not in exact.method


def test_the_thresholds_of_a_net_benefit_are_told() -> None:
    y, p = _simulated(7)
    metric = metric_of("net_benefit", (0.1, 0.25))
    score = estimate_score(metric, y, p, np.random.default_rng(0))
    assert score.method.startswith("net_benefit for thresholds from 0.1 to 0.25 of out-of-fold risks")
    assert score.estimate == metric.score(y, p)
    assert score.lower < score.estimate < score.upper


def test_the_same_seed_gives_the_same_interval() -> None:
    y, p = _simulated(1)
    one, other = (estimate_score(METRICS["brier"], y, p, np.random.default_rng(5)) for _ in range(2))
    assert one == other


def test_risks_that_separate_have_a_certain_area() -> None:
    y = np.repeat([0, 1], 20)
    score = estimate_score(METRICS["auc_roc"], y, np.linspace(0, 1, 40), np.random.default_rng(0))
    assert (score.estimate, score.lower, score.upper) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", ["auc_roc", "brier"])
def test_rows_of_one_group_are_drawn_together(name: str) -> None:
    """Four copies of every patient say no more than the patient; taken for others, they halve the interval."""
    y, p = _simulated(2)
    copied = np.repeat(y, 4), np.repeat(p, 4)
    rng, patient = np.random.default_rng, np.repeat(np.arange(len(y)), 4)
    alone, copies = estimate_score(METRICS[name], y, p, rng(0)), estimate_score(METRICS[name], *copied, rng(0))
    grouped = estimate_score(METRICS[name], *copied, rng(0), patient)
    assert grouped.estimate == pytest.approx(alone.estimate)
    width = alone.upper - alone.lower
    assert grouped.upper - grouped.lower == pytest.approx(width, rel=0.15)
    assert copies.upper - copies.lower == pytest.approx(width / 2, rel=0.15)
    assert "of the groups of patients" in grouped.method


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
        score = estimate_score(METRICS[name], *drawn(n), rng, out_of_fold=out_of_fold)
        held += score.lower <= truth <= score.upper
    assert held / cohorts >= 0.89  # 95 less three standard errors
