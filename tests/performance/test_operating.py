"""Decisions by risks: curves are scikit-learn's, intervals are Wilson's, weights are those of censoring."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_auc_score, roc_curve

from autoprog.performance import operating_document
from autoprog.survival import ipcw_weights

RANGE = (0.05, 0.2)


def simulated(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(-1, 1.3, n)
    return (rng.random(n) < expit(x)).astype(np.int8), expit(1.2 * x)


def test_roc_is_scikit_learns() -> None:
    y, p = simulated(5_000)
    roc = operating_document(y, p, RANGE)["roc"]
    grid = np.array(roc["false_positive_rate"])
    fpr, sensitivity, _ = roc_curve(y, p, drop_intermediate=False)
    assert np.abs(np.interp(grid, fpr, sensitivity) - roc["sensitivity"])[1:].max() < 0.01
    area = np.trapezoid(roc["sensitivity"], grid)
    assert area == pytest.approx(roc_auc_score(y, p), abs=0.005)


def test_precision_is_scikit_learns_at_its_sensitivities() -> None:
    y, p = simulated(5_000)
    curve = operating_document(y, p, RANGE)["precision_recall"]
    precision, recall, _ = precision_recall_curve(y, p)
    found = np.interp(curve["sensitivity"], recall[::-1], precision[::-1])
    assert np.abs(found - curve["ppv"])[2:].max() < 0.02
    assert curve["ppv"][-1] == pytest.approx(y[p >= p[y == 1].min()].mean(), abs=1e-5)


def precision_by_definition(y: np.ndarray, p: np.ndarray, recall: float) -> float:
    """Davis and Goadrich: patients are added in order of risk, those between two cuts in even parts."""
    before = (0, 0)
    for cut in sorted(set(p), reverse=True):
        tp, fp = int(((p >= cut) & (y == 1)).sum()), int(((p >= cut) & (y == 0)).sum())
        if tp >= recall * y.sum() - 1e-9:
            part = (recall * y.sum() - before[0]) / (tp - before[0])
            false = before[1] + part * (fp - before[1])
            return recall * y.sum() / (recall * y.sum() + false)
        before = (tp, fp)
    raise AssertionError


@pytest.mark.parametrize("decimals", [1, 2, 9])
def test_precision_is_that_of_the_definition_also_between_cases(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    for n_cases, n_controls in ((2, 60), (5, 20), (30, 30), (50, 9)):
        y = np.repeat([1, 0], [n_cases, n_controls]).astype(np.int8)
        p = expit(rng.normal(0.8 * y, 1.0)).round(decimals)
        curve = operating_document(y, p, RANGE)["precision_recall"]
        expected = [precision_by_definition(y, p, recall) for recall in curve["sensitivity"]]
        np.testing.assert_allclose(curve["ppv"], expected, atol=1e-5)


def test_precision_falls_by_all_controls_between_two_cases() -> None:
    y, p = np.repeat([1, 0], [2, 100]).astype(np.int8), np.repeat([0.9, 0.1, 0.5], [1, 1, 100])
    curve = operating_document(y, p, RANGE)["precision_recall"]
    found = dict(zip(curve["sensitivity"], curve["ppv"], strict=True))
    assert (found[0.5], found[0.52], found[1.0]) == pytest.approx((1.0, 1.04 / 101.04, 2 / 102), abs=1e-5)


def test_thresholds_are_those_of_the_confusion_matrix_with_wilsons_intervals() -> None:
    y, p = simulated()
    rows = operating_document(y, p, RANGE)["thresholds"]
    assert {0.05, 0.2} <= {row["threshold"] for row in rows}
    for row in rows:
        tn, fp, fn, tp = confusion_matrix(y, p >= row["threshold"]).ravel()
        expected = {
            "sensitivity": (tp, tp + fn),
            "specificity": (tn, tn + fp),
            "ppv": (tp, tp + fp),
            "npv": (tn, tn + fn),
            "alerts": (tp + fp, len(y)),
        }
        for name, (k, n) in expected.items():
            interval = binomtest(int(k), int(n)).proportion_ci(method="wilson")
            found = row[name]
            assert found["estimate"] == pytest.approx(k / n)
            assert (found["lower"], found["upper"]) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_nobody_above_a_threshold_has_no_predictive_value() -> None:
    y, p = simulated()
    row = next(r for r in operating_document(y, p / 10, (0.05, 0.5))["thresholds"] if r["threshold"] == 0.5)
    assert row["ppv"] is None
    assert row["sensitivity"]["estimate"] == 0


def test_bands_cover_the_true_curve() -> None:
    y, p = simulated(400_000, seed=9)
    fpr, sensitivity, _ = roc_curve(y, p)
    covered = []
    for seed in range(40):
        roc = operating_document(*simulated(400, seed), RANGE)["roc"]
        truth = np.interp(roc["false_positive_rate"], fpr, sensitivity)[5:40]
        covered.append((np.array(roc["lower"])[5:40] <= truth) & (truth <= np.array(roc["upper"])[5:40]))
    assert 0.85 < np.mean(covered) < 0.99


def test_groups_widen_intervals_and_bands() -> None:
    y, p = (np.repeat(values, 5) for values in simulated(200))
    alone, grouped = (operating_document(y, p, RANGE, groups=g) for g in (None, np.repeat(np.arange(200), 5)))
    for one, other in zip(alone["thresholds"], grouped["thresholds"], strict=True):
        assert other["specificity"]["upper"] - other["specificity"]["lower"] > 1.5 * (
            one["specificity"]["upper"] - one["specificity"]["lower"]
        )
    width = [np.subtract(found["roc"]["upper"], found["roc"]["lower"]).mean() for found in (alone, grouped)]
    assert width[1] > 1.5 * width[0]


def test_censored_patients_are_weighted_for() -> None:
    rng = np.random.default_rng(4)
    n, horizon = 20_000, 1.0
    x = rng.normal(size=n)
    event_time, censoring = rng.exponential(np.exp(-x) * 2), rng.exponential(1.5, n)
    observed, event = np.minimum(event_time, censoring), (event_time <= censoring).astype(np.int8)
    p, truth = expit(x), (event_time <= horizon).astype(np.int8)
    w = ipcw_weights(observed, event, [horizon])[:, 0]
    had = ((event == 1) & (observed <= horizon)).astype(np.int8)
    weighted = operating_document(had, p, RANGE, w)
    known = operating_document(truth, p, RANGE)
    naive = operating_document(had, p, RANGE)
    for found, expected, wrong in zip(*(d["thresholds"] for d in (weighted, known, naive)), strict=True):
        for name in ("sensitivity", "specificity", "ppv", "npv"):
            assert found[name]["estimate"] == pytest.approx(expected[name]["estimate"], abs=0.03)
        assert wrong["ppv"]["estimate"] < expected["ppv"]["estimate"] - 0.05


def test_20_000_patients_take_a_fraction_of_a_second() -> None:
    y, p = simulated(20_000)
    operating_document(y, p, RANGE)

    def measured_s() -> float:
        began = time.process_time()
        operating_document(y, p, RANGE)
        return time.process_time() - began

    # 0.15 alone; BLAS's threads count, and other tests run beside it.
    assert min(measured_s() for _ in range(5)) < 0.6


def test_shares_of_three_hospitals_are_known_by_more_than_three_patients() -> None:
    """No hospital differs: Student's quantile of two degrees of freedom, not the interval of three patients."""
    lengths, covered = [], []
    for seed in range(60):
        y, p = simulated(3_000, seed)
        by_hospital = operating_document(y, p, RANGE, groups=np.arange(3_000) % 3)["thresholds"]
        row = next(row for row in by_hospital if row["threshold"] == 0.2)["sensitivity"]
        lengths.append(row["upper"] - row["lower"])
        truth = 0.8244  # of 10 million patients
        covered.append(row["lower"] <= truth <= row["upper"])
    assert 0.01 < np.median(lengths) < 0.15
    assert np.mean(covered) >= 0.88


def test_a_share_that_all_groups_have_counts_the_groups() -> None:
    y = np.ones(300, dtype=np.int8)
    y[:150] = 0
    p = np.where(y == 1, 0.9, 0.1)
    row = operating_document(y, p, RANGE, groups=np.arange(300) % 5)["thresholds"][0]["sensitivity"]
    assert row["estimate"] == 1
    assert row["lower"] < 0.6


def test_groups_that_agree_are_no_less_certain_than_those_that_nearly_do() -> None:
    widths = []
    for more in (0, 1):
        y = np.tile(np.repeat([1, 0], 1_000), 3)
        p = np.where(np.arange(6_000) % 2_000 % 2 == 0, 0.9, 0.01)
        p[1 : 1 + 2 * more : 2] = 0.9
        row = operating_document(y, p, RANGE, groups=np.arange(6_000) // 2_000)["thresholds"][0]["sensitivity"]
        widths.append(row["upper"] - row["lower"])
    assert max(widths) < 0.1
