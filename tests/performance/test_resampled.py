"""Scores of resamples against the metric's own definition on the patients drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.performance import METRICS, make_metric
from autoprog.performance.resampled import resampled_scores


def drawn(y: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of an ordinary bootstrap that holds both outcomes, shape = (n, resamples)."""
    counts: list[np.ndarray] = []
    while len(counts) < resamples:
        rows = rng.integers(len(y), size=len(y))
        if len(set(y[rows])) == 2:
            counts.append(np.bincount(rows, minlength=len(y)))
    return np.array(counts, dtype=np.float32).T


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("name", METRICS)
def test_each_score_is_the_metrics_on_the_patients_drawn(name: str, decimals: int | None) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.3).astype(np.int8)
    p = np.clip(rng.normal(0.3, 0.3, (4, 60)) + 0.1 * y, 0, 1)  # some risks are 0 and 1
    p = p if decimals is None else p.round(decimals)
    metric = make_metric(name, (0.1, 0.4))
    c = drawn(y, 15, rng)
    scores = resampled_scores(metric, y, p)(c)
    assert scores.shape == (15, 4)
    for counts, of_resample in zip(c.T, scores, strict=True):
        rows = np.repeat(np.arange(60), counts.astype(int))
        expected = [metric.score(y[rows], risks[rows]) for risks in p]
        np.testing.assert_allclose(of_resample, expected, rtol=1e-6)  # running sums are float32, exact for counts


def test_risks_as_they_are_stored_are_scored_in_double_precision() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    p = rng.random((3, 40)).astype(np.float32)
    for metric in METRICS.values():
        expected = [metric.score(y, risks.astype(np.float64)) for risks in p]
        np.testing.assert_allclose(resampled_scores(metric, y, p)(np.ones((40, 1), np.float32))[0], expected, rtol=1e-6)


def test_a_metric_of_another_name_is_scored_by_its_definition() -> None:
    rng = np.random.default_rng(2)
    y, p = (rng.random(50) < 0.4).astype(np.int8), rng.random((2, 50))
    c = drawn(y, 5, rng)
    own = replace(METRICS["auc_roc"], name="of a plug-in")
    np.testing.assert_allclose(resampled_scores(own, y, p)(c), resampled_scores(METRICS["auc_roc"], y, p)(c), rtol=1e-6)
