"""Properties that the network has whatever its weights are, and the weights that are shipped."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from training.network import weights
from training.network.encoding import EventTable, event_grid
from training.network.predictions import hazard_log_odds, log_odds

RNG = np.random.default_rng


def patients(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = RNG(seed)
    X = rng.standard_normal((n, 6))
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))).astype(np.int64)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def test_a_prediction_does_not_depend_on_who_else_is_asked_for() -> None:
    X, y = patients(80)
    many = log_odds(X[:60], y[:60], X[60:], 1, RNG(1))
    few = log_odds(X[:60], y[:60], X[[60, 75]], 1, RNG(1))
    np.testing.assert_allclose(few, many[[0, 15]], atol=1e-4)


def test_the_order_of_patients_does_not_matter() -> None:
    X, y = patients(80)
    turned = RNG(2).permutation(60)
    one = log_odds(X[:60], y[:60], X[60:], 1, RNG(1))
    other = log_odds(X[turned], y[turned], X[60:], 1, RNG(1))
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_it_finds_what_a_few_patients_show() -> None:
    X, y = patients(1_000, seed=3)
    told = log_odds(X[:200], y[:200], X[200:], 2, RNG(0))
    best = 2 * np.nan_to_num(X[200:, 0]) + np.nan_to_num(X[200:, 1])
    assert roc_auc_score(y[200:], told) > roc_auc_score(y[200:], best) - 0.02


def test_a_cause_that_nobody_had_is_not_expected() -> None:
    X, _ = patients(80)
    rng = RNG(4)
    time, cause = rng.exponential(size=60), rng.integers(0, 2, 60)
    told = hazard_log_odds(X[:60], EventTable(time, cause, event_grid(time, cause, 1.0)), X[60:], 1, rng)
    assert told.shape == (20, 8, 3)
    assert (told[..., 1:] < -20).all()


def test_other_weights_than_those_described_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "read_manifest", lambda: {"sha256": "0" * 64, "size": {}})
    weights.load_network.cache_clear()
    with pytest.raises(ValueError, match="manifest"):
        weights.load_network()
    weights.load_network.cache_clear()


def test_the_weights_would_fit_into_a_wheel() -> None:
    assert sum(p.numel() for p in weights.load_network().parameters()) <= 5_000_000
    assert (weights.FOLDER / "weights.npz").stat().st_size < 20_000_000
