"""A simulated cohort whose risks are known: what becomes of them when censored patients are dropped, and when not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from autoprog.survival import aalen_johansen, brier_score, ipcw_weights

HORIZON = 1.0
N = 20_000
INTERVALS = np.linspace(0.0, HORIZON, 21)


@pytest.fixture(scope="module", params=range(3))
def cohort(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, codes, a binary covariate and the true risk of cause 1 by the horizon, by constant hazards."""
    rng = np.random.default_rng(request.param)
    x = rng.integers(0, 2, N)
    hazards = np.column_stack([0.3 + 0.5 * x, np.full(N, 0.2), np.full(N, 0.9)])
    times = rng.exponential(size=(N, 3)) / hazards
    event = np.array([1, 2, 0])[times.argmin(axis=1)]
    both = hazards[:, 0] + hazards[:, 1]
    return times.min(axis=1), event, x, hazards[:, 0] / both * (1 - np.exp(-both * HORIZON))


def _person_periods(
    time: np.ndarray, event: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Interval, covariate and what happened, of every patient in every interval that he was seen in to its end."""
    last = np.minimum(np.searchsorted(INTERVALS, time) - 1, len(INTERVALS) - 2)
    # Who is censored within an interval is left out of it: nobody knows how it ended for him.
    count = last + np.where((event == 0) & (time <= HORIZON), 0, 1)
    patient = np.repeat(np.arange(len(time)), count)
    interval = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    ends = (interval == last[patient]) & (time[patient] <= HORIZON)
    return patient, interval, x[patient], np.where(ends, event[patient], 0)


def _discrete_time_risk(time: np.ndarray, event: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Risk of cause 1 of each value of x, from the hazards of both causes in each interval."""
    _, interval, value, what = _person_periods(time, event, x)
    risk = np.empty(2)
    for group in (0, 1):
        cells = [what[(interval == j) & (value == group)] for j in range(len(INTERVALS) - 1)]
        h1, h2 = (np.array([np.mean(cell == cause) for cell in cells]) for cause in (1, 2))
        before = np.concatenate([[1.0], np.cumprod(1 - h1 - h2)[:-1]])
        risk[group] = before @ h1
    return risk


def test_dropping_the_censored_biases_and_weighting_does_not(
    cohort: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    time, event, x, true = cohort
    happened = (time <= HORIZON) & (event == 1)
    known = (time > HORIZON) | (event > 0)
    w = ipcw_weights(time, event, HORIZON)[:, 0]
    for group in (0, 1):
        members = x == group
        truth = true[members][0]
        dropped = happened[known & members].mean()
        # Standard errors are below .006: 5 of them are less than what dropping is off by.
        assert dropped > truth + 0.05
        assert np.average(happened[members], weights=w[members]) == pytest.approx(truth, abs=0.03)
        estimate = aalen_johansen(time[members], event[members]).at(HORIZON)
        assert abs(estimate.estimate[0] - truth) < 4.5 * estimate.standard_error[0]


def test_a_discrete_time_model_does_not_bias(
    cohort: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    time, event, x, true = cohort
    # Those who are censored within an interval of a twentieth of the horizon cost less than .005.
    expected = [true[x == 0][0], true[x == 1][0]]
    np.testing.assert_allclose(_discrete_time_risk(time, event, x), expected, atol=0.03)


def test_a_weighted_classifier_finds_the_risks_and_one_without_the_censored_does_not(
    cohort: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    time, event, x, true = cohort
    happened = (time <= HORIZON) & (event == 1)
    known = (time > HORIZON) | (event > 0)
    w = ipcw_weights(time, event, HORIZON)[:, 0]
    column = x[:, None].astype(float)
    weighted = LogisticRegression(C=np.inf).fit(column[w > 0], happened[w > 0], w[w > 0]).predict_proba(column)[:, 1]
    dropped = LogisticRegression(C=np.inf).fit(column[known], happened[known]).predict_proba(column)[:, 1]
    np.testing.assert_allclose(weighted, true, atol=0.03)
    assert (dropped > true + 0.05).all()
    # The score prefers the true risks to those that the dropped patients leave.
    scores = [brier_score(time, event, risk, HORIZON)[0] for risk in (true, weighted, dropped)]
    assert scores[0] < scores[2]
    assert scores[1] < scores[2]
