from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student_t
from scipy.stats import ttest_1samp

from autoprog.evaluation import Evaluation, History, Race, Status, residual_variance
from autoprog.performance import METRICS
from autoprog.space import Configuration, Step

SIMPLE = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))


def history(fold_scores: np.ndarray, metric: str = "auc_roc", repeats: int = 1) -> History:
    evaluations = [
        Evaluation(i, 0, SIMPLE, Status.SUCCEEDED, float(row.mean()), tuple(row.tolist()), np.zeros(4))
        for i, row in enumerate(fold_scores)
    ]
    return History(METRICS[metric], tuple(evaluations), repeats)


def test_residual_variance_is_that_of_a_two_way_layout() -> None:
    """Against the least-squares fit with an effect for every row and every column."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(7, 5)) + rng.normal(size=(7, 1)) + 3 * rng.normal(size=(1, 5))
    rows, columns = np.indices(scores.shape)
    design = np.column_stack([rows.ravel() == i for i in range(7)] + [columns.ravel() == j for j in range(1, 5)])
    _, rss, *_ = np.linalg.lstsq(design.astype(float), scores.ravel(), rcond=None)
    variance, df = residual_variance(scores.tolist())
    assert df == 24
    assert variance == pytest.approx(rss[0] / 24)


def test_a_single_pair_is_the_corrected_t_test() -> None:
    """With the variance of one pair's own differences in place of the pooled one (Nadeau & Bengio 2003)."""
    rng = np.random.default_rng(1)
    g, h = rng.normal(0.8, 0.02, 5), rng.normal(0.82, 0.02, 5)
    for shift in np.linspace(-0.08, 0.02, 41):
        difference = g[:4] + shift - h[:4]
        variance = float(difference.var(ddof=1)) / 2
        race = Race(tuple(h.tolist()), variance, df=3, folds=5)
        t = ttest_1samp(difference, 0.0).statistic * np.sqrt((1 / 4) / (1 / 4 + 1 / 4))
        assert race.is_lost((g[:4] + shift).tolist()) == bool(student_t.cdf(t, 3) < 0.05)


def test_never_before_the_second_fold_nor_after_the_last() -> None:
    race = Race((0.9,) * 5, variance=1e-6, df=50, folds=5)
    assert not race.is_lost([0.1])
    assert race.is_lost([0.1, 0.1])
    assert race.is_lost([0.1] * 4)
    assert not race.is_lost([0.1] * 5)


def test_equals_are_never_lost() -> None:
    race = Race((0.9, 0.8, 0.7, 0.6, 0.5), variance=0.0, df=50, folds=5)
    assert not race.is_lost([0.9, 0.8, 0.7])
    assert race.is_lost([0.9, 0.8, 0.69])


def test_losses_are_raced_by_gain() -> None:
    rng = np.random.default_rng(2)
    scores = 0.2 + 0.01 * rng.normal(size=(8, 5))
    scores[3] -= 0.1
    race = Race.of(history(scores, "brier"))
    assert race is not None
    assert race.incumbent == tuple(-scores[3])
    assert race.is_lost([-0.4, -0.4])
    assert not race.is_lost([-0.1, -0.1])


@pytest.mark.parametrize(("n", "folds", "races"), [(4, 5, False), (5, 5, True), (5, 2, False)])
def test_no_race_before_the_variance_is_known(n: int, folds: int, races: bool) -> None:
    scores = np.random.default_rng(3).normal(0.8, 0.01, (n, folds))
    assert (Race.of(history(scores)) is not None) == races


def test_an_equal_configuration_is_rarely_stopped() -> None:
    """Over all folds together: the chance of losing one that is truly as good as the incumbent."""
    rng = np.random.default_rng(4)
    lost = 0
    for _ in range(2000):
        difficulty = rng.normal(0, 0.03, 10)
        h, g = (0.85 + difficulty + rng.normal(0, 0.02, 10) for _ in range(2))
        race = Race(tuple(h.tolist()), variance=0.0004, df=100, folds=5)
        lost += any(race.is_lost(g[:k].tolist()) for k in range(2, 10))
    assert lost / 2000 < 0.05
