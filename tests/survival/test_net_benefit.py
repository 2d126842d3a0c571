"""Net benefit with censoring against its formula, and against the one without."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.performance.metrics import net_benefit as without_censoring
from autoprog.performance.metrics import net_benefit_of_all as of_all_without_censoring
from autoprog.survival import NoEventError, OutcomeError, aalen_johansen, net_benefit, net_benefit_of_all
from tests.survival.naive import incidence, simulated

THRESHOLDS = np.array([0.05, 0.2, 0.5, 0.8])


@pytest.mark.parametrize("distinct", [None, 8])
def test_the_formula_of_vickers(distinct: int | None) -> None:
    time, event, risk = simulated(1, distinct=distinct)
    horizon = float(np.median(time))
    expected = []
    for c in THRESHOLDS:
        treated = risk >= c
        share, F = treated.mean(), incidence(time[treated], event[treated], 1, horizon)
        expected.append(share * F - share * (1 - F) * c / (1 - c))
    np.testing.assert_allclose(net_benefit(time, event, risk, horizon, THRESHOLDS), expected, atol=1e-14)


def test_without_censoring_it_is_that_of_the_outcome() -> None:
    time, event, risk = simulated(2)
    event = np.maximum(event, 1)
    happened = ((time <= 0.7) & (event == 1)).astype(np.int8)
    expected = without_censoring(happened, risk, THRESHOLDS)
    np.testing.assert_allclose(net_benefit(time, event, risk, 0.7, THRESHOLDS), expected, atol=1e-14)
    of_all = of_all_without_censoring(float(happened.mean()), THRESHOLDS)
    np.testing.assert_allclose(net_benefit_of_all(time, event, 0.7, THRESHOLDS), of_all, atol=1e-14)


def test_treating_all_and_nobody() -> None:
    time, event, _ = simulated(3)
    everybody = net_benefit(time, event, np.ones(len(time)), 0.7, THRESHOLDS)
    np.testing.assert_allclose(everybody, net_benefit_of_all(time, event, 0.7, THRESHOLDS), atol=1e-14)
    assert (net_benefit(time, event, np.zeros(len(time)), 0.7, THRESHOLDS) == 0).all()
    F = float(aalen_johansen(time, event).incidence(1)(0.7))
    assert net_benefit_of_all(time, event, 0.7, F)[0] == pytest.approx(0.0, abs=1e-14)


def test_those_treated_were_not_followed_to_the_horizon() -> None:
    time, event, risk = [1.0, 2.0, 3.0, 9.0], [1, 0, 1, 0], [0.9, 0.9, 0.1, 0.1]
    found = net_benefit(time, event, risk, 5.0, [0.5, 0.05])
    assert np.isnan(found).tolist() == [True, False]
    # Of those who all had an event nothing more is to be known.
    assert net_benefit(time, [1, 2, 1, 0], risk, 5.0, 0.5)[0] == pytest.approx(0.0)


def test_what_is_refused() -> None:
    time, event, risk = simulated(4)
    with pytest.raises(OutcomeError, match="thresholds must lie between 0 and 1"):
        net_benefit(time, event, risk, 0.7, [0.0, 0.5])
    with pytest.raises(NoEventError):
        net_benefit_of_all(time, np.zeros(len(time)), 0.7, 0.5)
