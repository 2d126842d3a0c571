"""The observed event rate against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from autoprog.interpreter import BinaryOutcome


@pytest.mark.parametrize(("n", "events"), [(1, 0), (1, 1), (7, 0), (40, 13), (250, 250)])
def test_the_rate_of_some_patients_with_wilsons_interval(n: int, events: int) -> None:
    y = np.concatenate([np.ones(events), np.zeros(n - events), np.ones(5)]).astype(np.int8)
    patients = np.arange(len(y)) < n
    rate = BinaryOutcome(y).event_rate(patients)
    wilson = stats.binomtest(events, n).proportion_ci(0.9, method="wilson")
    assert (rate.estimate, rate.lower, rate.upper, rate.n) == pytest.approx((events / n, wilson.low, wilson.high, n))
