from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit, logit

from autoprog.performance import calibration_curve
from autoprog.validation import compute_instability, frequency_curves, incidence_curves

N = 400


def patients() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q = expit(rng.normal(-0.5, 1.2, N))
    return (rng.random(N) < q).astype(int), q


def test_errors_are_means_over_the_refits_that_have_not_seen_a_patient() -> None:
    y, q = patients()
    first, second = q + 0.01, q - 0.03
    first[: N // 2] = np.nan
    found = compute_instability(q, [first, second], frequency_curves(y), np.random.default_rng(0))
    by_hand = np.where(np.arange(N) < N // 2, 0.03, 0.02)
    assert found.n_refits == 2
    assert found.mape == pytest.approx(by_hand.mean())
    assert found.mape_90 == pytest.approx(0.03)
    assert len(found.points) == 400
    assert {round(refit - risk, 9) for risk, refit in found.points} == {0.01, -0.03}


def test_refits_like_the_model_lie_on_the_diagonal_and_share_its_curve() -> None:
    y, q = patients()
    found = compute_instability(q, [q, q], frequency_curves(y), np.random.default_rng(0))
    assert found.mape == 0
    curve = calibration_curve(y, q, np.array(found.risks))
    assert curve is not None
    assert found.curves == (curve.observed, curve.observed)
    assert list(found.risks) == sorted(found.risks)


def test_a_refit_without_a_curve_has_none() -> None:
    y, q = patients()
    of_one_outcome = np.where(y == 1, q, np.nan)
    separated = np.where(y == 1, 0.9, 0.1) + 1e-3 * q
    found = compute_instability(
        q, [of_one_outcome, separated, expit(0.5 * logit(q))], frequency_curves(y), np.random.default_rng(0)
    )
    assert len(found.curves) == 1
    assert json.loads(json.dumps(found.to_json()))["n_refits"] == 3


def test_event_times_have_the_curves_of_their_horizon() -> None:
    rng = np.random.default_rng(0)
    rate = rng.gamma(2.0, 0.2, N)
    time, censored = rng.exponential(1 / rate), rng.uniform(0.5, 6, N)
    event = (time <= censored).astype(int)
    q = 1 - np.exp(-rate)
    late = np.where(time < 0.5, q, np.nan)  # nobody whom it left out was followed to the horizon
    found = compute_instability(q, [q, late], incidence_curves(np.minimum(time, censored), event, 1.0), rng)
    (curve,) = found.curves
    assert np.abs(np.array(curve) - found.risks).mean() < 0.06  # the risks are true


def test_curves_of_event_times_go_on_beyond_a_refits_own_risks() -> None:
    """A refit whose risks are alike is drawn where the model's are, as of outcomes without a time."""
    rng = np.random.default_rng(1)
    rate = rng.gamma(2.0, 0.2, N)
    time, q = rng.exponential(1 / rate), 1 - np.exp(-rate)
    moderate, at = expit(0.6 * logit(q)), np.linspace(0.03, 0.9, 30)
    of_times, of_labels = (
        make(np.arange(N), moderate, at)
        for make in (
            incidence_curves(time, np.ones(N, dtype=int), 1.0),
            frequency_curves((time <= 1.0).astype(int)),
        )
    )
    assert of_times is not None
    assert of_labels is not None
    beyond = at > moderate.max()
    assert beyond.sum() > 3
    assert (np.diff(np.array(of_times)[beyond]) > 0).all()
    np.testing.assert_allclose(of_times, of_labels, atol=0.05)
