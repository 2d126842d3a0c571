"""The network as learners: what they can be asked."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from autoprog.cohort.event_array import EVENT_TIMES
from autoprog.survival import aalen_johansen
from training.network.learners import PriorNetworkClassifier, PriorNetworkHazards

RNG = np.random.default_rng


def binary(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = RNG(seed)
    X = rng.standard_normal((n, p))
    risk = 1 / (1 + np.exp(-1.5 * X[:, 0] - X[:, 1] ** 2 + 1))
    return X, (rng.random(n) < risk).astype(np.int64), risk


def competing(n: int, causes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = RNG(seed)
    X = rng.standard_normal((n, 4))
    times = rng.exponential(size=(n, causes)) * np.exp(-np.outer(X[:, 0], np.linspace(1, -1, causes)))
    censored = rng.exponential(1.0, n)
    y = np.zeros(n, EVENT_TIMES)
    y["time"] = np.minimum(times.min(axis=1), censored)
    y["event"] = np.where(times.min(axis=1) <= censored, times.argmin(axis=1) + 1, 0)
    return X, y


@pytest.mark.parametrize("seed", [0, 1])
def test_a_curve_is_found_where_a_line_would_not_do(seed: int) -> None:
    X, y, _ = binary(900, 5, seed)
    told = PriorNetworkClassifier().fit(X[:300], y[:300]).predict_proba(X[300:])[:, 1]
    line = LogisticRegression().fit(X[:300], y[:300]).predict_proba(X[300:])[:, 1]
    assert log_loss(y[300:], told) < log_loss(y[300:], line) - 0.01


def test_a_fit_is_repeatable_and_only_depends_on_its_seed() -> None:
    X, y, _ = binary(120, 5)
    one, same, other = (PriorNetworkClassifier(seed).fit(X, y).predict_proba(X)[:, 1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert 0 < np.abs(one - other).max() < 0.15


@pytest.mark.slow
def test_more_patients_and_columns_than_the_network_knows_are_sampled_and_chosen() -> None:
    X, y, _ = binary(1_700, 80)
    fitted = PriorNetworkClassifier().fit(X, y)
    assert len(fitted.columns_) == 60
    assert {0} <= set(fitted.columns_)
    assert fitted.predict_proba(X).shape == (1_700, 2)


def test_columns_without_any_or_with_one_value_do_no_harm() -> None:
    X, y, _ = binary(120, 4)
    X[:, 2], X[:, 3] = np.nan, 1.0
    X[0, 0] = np.nan
    told = PriorNetworkClassifier().fit(X, y).predict_proba(np.where(RNG(0).random(X.shape) < 0.5, np.nan, X))
    assert np.isfinite(told).all()


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match="class"):
        PriorNetworkClassifier().fit(np.zeros((20, 2)), np.zeros(20))


@pytest.mark.parametrize("causes", [1, 2, 5])
def test_incidences_rise_and_leave_room_for_one_another(causes: int) -> None:
    X, y = competing(400, causes)
    fitted = PriorNetworkHazards(causes, until=1.5).fit(X, y)
    times = np.array([0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 3.0])
    F = fitted.cumulative_incidence(X, times)
    assert F.shape == (400, causes, len(times))
    assert (np.diff(F, axis=2) >= -1e-12).all()
    assert (F[..., 0] == 0).all()
    assert F.sum(axis=1).max() <= 1 + 1e-9
    for k in range(causes):
        observed = aalen_johansen(y["time"], y["event"]).at(times[1:5], k + 1).estimate
        np.testing.assert_allclose(F[:, k, 1:5].mean(axis=0), observed, atol=0.05)


def test_a_higher_hazard_is_a_higher_incidence() -> None:
    X, y = competing(500, 2)
    F = PriorNetworkHazards(2, until=1.0).fit(X, y).cumulative_incidence(X, [0.5])
    assert np.corrcoef(F[:, 0, 0], X[:, 0])[0, 1] > 0.8
    assert np.corrcoef(F[:, 1, 0], X[:, 0])[0, 1] < -0.5
