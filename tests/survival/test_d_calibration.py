"""D-calibration against its definition and its law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from autoprog.survival import OutcomeError, d_calibration


def test_each_censored_patient_by_a_loop() -> None:
    rng = np.random.default_rng(0)
    u, event = np.append(rng.random(50), [0.0, 1.0, 0.3, 0.0]), np.append(rng.integers(0, 3, 50), [0, 0, 0, 1])
    counts = np.zeros(10)
    for survival, code in zip(u, event, strict=True):
        for b in range(10):
            low, high = b / 10, (b + 1) / 10
            inside = low <= survival < high or (b == 9 and survival == 1)
            if code or survival == 0:
                counts[b] += inside
            else:
                counts[b] += max(min(survival, high) - low, 0) / survival
    found = d_calibration(u, event)
    np.testing.assert_allclose(found.proportions, counts / len(u), atol=1e-12)
    assert found.statistic == pytest.approx(((counts - len(u) / 10) ** 2 / (len(u) / 10)).sum())
    assert found.proportions.sum() == pytest.approx(1.0)


def test_without_censoring_it_is_the_chi_squared_test() -> None:
    u = np.random.default_rng(1).beta(1.2, 1.0, 300)
    theirs = chisquare(np.histogram(u, bins=8, range=(0, 1))[0])
    found = d_calibration(u, np.ones(300), bins=8)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue)


def test_of_a_right_model_the_p_value_is_uniform_without_censoring_and_too_large_with_it() -> None:
    # By Kolmogorov and Smirnov over 400 samples, each at a level of 1e-4.
    p_values = np.empty((2, 400))
    for seed in range(400):
        rng = np.random.default_rng(seed)
        time, censored = rng.exponential(size=500), rng.exponential(1.0, size=500)
        p_values[0, seed] = d_calibration(np.exp(-time), np.ones(500)).p_value
        seen = np.minimum(time, censored)
        p_values[1, seed] = d_calibration(np.exp(-seen), time <= censored).p_value
    assert kstest(p_values[0], "uniform").pvalue > 1e-4
    assert kstest(p_values[1], "uniform", alternative="greater").pvalue > 1e-4
    assert (p_values[1] < 0.05).mean() < 0.05


def test_a_wrong_model_is_found() -> None:
    rng = np.random.default_rng(2)
    time, censored = rng.exponential(size=2000), rng.exponential(2.0, size=2000)
    seen, event = np.minimum(time, censored), time <= censored
    assert d_calibration(np.exp(-seen), event).p_value > 0.01
    assert d_calibration(np.exp(-1.3 * seen), event).p_value < 1e-4


def test_what_is_refused() -> None:
    with pytest.raises(OutcomeError, match="one survival and one event code"):
        d_calibration([0.5, np.nan], [1, 0])
    with pytest.raises(OutcomeError, match=r"in \[0, 1\]"):
        d_calibration([0.5, 1.5], [1, 0])
    with pytest.raises(OutcomeError, match="two bins or more"):
        d_calibration([0.5], [1], bins=1)
