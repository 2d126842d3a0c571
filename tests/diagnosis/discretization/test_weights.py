from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chisquare

from autoprog.diagnosis.discretization import draw_arms, probabilities, update_scores


def test_probabilities_are_the_mixed_softmax() -> None:
    rng = np.random.default_rng(0)
    S = rng.normal(size=(7, 5)) * 10
    expected = 0.9 * softmax(0.3 * S, axis=-1) + 0.1 / 5
    np.testing.assert_allclose(probabilities(S, 0.3, 0.1), expected, rtol=1e-13)


def test_huge_scores_neither_overflow_nor_lose_an_arm() -> None:
    P = probabilities(np.array([1e9, 0.0, -1e12]), 0.5, 1e-6)
    assert np.isfinite(P).all()
    assert P.sum() == pytest.approx(1.0)
    assert P.min() >= 1e-6 / 3


def test_an_arm_of_probability_zero_is_never_drawn() -> None:
    P = probabilities(np.array([0.0, 1e5, 1e5, 0.0]), 1.0, 0.0)
    assert P[0] == P[3] == 0.0
    uniforms = np.array([0.0, 0.25, 0.5, 0.75, np.nextafter(1.0, 0.0)])
    arms = draw_arms(np.tile(P, (5, 1)), uniforms)
    assert set(arms.tolist()) == {1, 2}


def test_draws_follow_their_law() -> None:
    """Chi-square at 1e-6: the chance that a right implementation fails."""
    rng = np.random.default_rng(1)
    P = np.array([0.1, 0.25, 0.05, 0.6])
    counts = np.bincount(draw_arms(np.tile(P, (40_000, 1)), rng.random(40_000)), minlength=4)
    assert chisquare(counts, 40_000 * P).pvalue > 1e-6


@pytest.mark.parametrize("form", ["gain", "mixed", "loss"])
def test_the_expected_change_of_a_score_is_its_gain(form: str) -> None:
    """Enumerated over the arm that is drawn."""
    rng = np.random.default_rng(2)
    S, D = rng.normal(size=4), rng.random(4)
    P = probabilities(S, 0.4, 0.05)
    change = sum(P[B] * (update_scores(form, S, np.asarray(B), D[B], P[B]) - S) for B in range(4))
    np.testing.assert_allclose(change, D, atol=1e-13)


def test_only_the_drawn_arm_changes_in_the_printed_form() -> None:
    S = update_scores("gain", np.zeros(3), np.asarray(1), np.asarray(0.6), np.asarray(0.2))
    np.testing.assert_allclose(S, [0.0, 3.0, 0.0])


def test_losses_are_taken_from_the_drawn_arm() -> None:
    S = update_scores("loss", np.zeros(3), np.asarray(1), np.asarray(0.6), np.asarray(0.2))
    np.testing.assert_allclose(S, [1.0, -1.0, 1.0])
