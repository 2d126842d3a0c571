"""The rules as a classifier, and kappa with its interval against scikit-learn and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from autoprog.interpreter import Clusters, Condition, EventRate, Rule, Stratum, StratumProbability
from autoprog.interpreter.interpreter import compute_fidelity, strata_by_rules

STRATA = (Stratum("high", 0.6, 1.0, 0.3), Stratum("medium", 0.3, 0.6, 0.4), Stratum("low", 0.0, 0.3, 0.3))


def _rule(stratum: str, mean: float) -> Rule:
    probability, rate = StratumProbability(mean, 0.0, 1.0), EventRate(0.5, 0.4, 0.6, 9)
    return Rule((Condition("x", ">=", 0.0),), stratum, probability, rate, 0.1, 0.5, 2.0)


def test_the_most_probable_of_the_matching_rules_decides() -> None:
    rules = [_rule("high", 0.7), _rule("low", 0.9), _rule("medium", 0.5)]
    matches = np.array([[1, 1, 0, 0, 1], [0, 1, 0, 0, 0], [1, 0, 1, 0, 0]], dtype=np.bool_)
    assert strata_by_rules(rules, matches, STRATA, 1).tolist() == [0, 2, 1, 1, 0]
    assert strata_by_rules([], np.zeros((0, 2), np.bool_), STRATA, 2).tolist() == [2, 2]


def _pair(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    r = rng.choice(3, n, p=(0.2, 0.3, 0.5))
    return r, np.where(rng.random(n) < 0.6, r, rng.choice(3, n, p=(0.5, 0.25, 0.25)))


def test_kappa_is_that_of_scikit_learn() -> None:
    r, s = _pair(np.random.default_rng(0), 150)
    found = compute_fidelity(r, s, STRATA, 1, Clusters())
    assert found.kappa == pytest.approx(cohen_kappa_score(r, s))
    assert (found.agreement, found.n, found.default) == (np.mean(r == s), 150, "medium")
    same = compute_fidelity(r, r, STRATA, 0, Clusters())
    assert (same.kappa, same.lower, same.upper) == pytest.approx((1.0, 1.0, 1.0))


def test_the_variance_is_fleiss_cohen_and_everitts() -> None:
    r, s = _pair(np.random.default_rng(1), 90)
    P = np.array([[np.mean((r == i) & (s == j)) for j in range(3)] for i in range(3)])
    by_model, by_rules, found = P.sum(axis=1), P.sum(axis=0), compute_fidelity(r, s, STRATA, 1, Clusters())
    kappa, p_e = found.kappa, by_model @ by_rules
    variance = -((kappa - p_e * (1 - kappa)) ** 2)
    for i in range(3):
        variance += P[i, i] * (1 - (by_model[i] + by_rules[i]) * (1 - kappa)) ** 2
        variance += sum((1 - kappa) ** 2 * P[i, j] * (by_rules[i] + by_model[j]) ** 2 for j in range(3) if j != i)
    half = stats.norm.ppf(0.95) * (variance / 90) ** 0.5 / (1 - p_e)
    assert (found.lower, found.upper) == pytest.approx((kappa - half, kappa + half))


def test_visits_that_repeat_a_patient_tell_no_more_than_he_does() -> None:
    r, s = _pair(np.random.default_rng(2), 80)
    patient = np.repeat(np.arange(80), 5)
    once = compute_fidelity(r, s, STRATA, 1, Clusters())
    found = compute_fidelity(r[patient], s[patient], STRATA, 1, Clusters(patient, patient))
    assert (found.kappa, found.lower, found.upper, found.n) == pytest.approx((once.kappa, once.lower, once.upper, 80))


def test_the_interval_covers_as_often_as_it_says() -> None:
    # Coverage 0.9 in 600 samples of 400: outside 0.85 to 0.95 with probability below 1e-4 if it holds.
    rng = np.random.default_rng(5)
    truth = cohen_kappa_score(*_pair(rng, 1_000_000))
    found = [compute_fidelity(*_pair(rng, 400), STRATA, 0, Clusters()) for _ in range(600)]
    assert 0.85 <= np.mean([f.lower <= truth <= f.upper for f in found]) <= 0.95


def test_rules_that_place_all_alike_agree_by_chance() -> None:
    r = np.array([0, 1, 2] * 20)
    assert compute_fidelity(r, np.ones_like(r), STRATA, 1, Clusters()).kappa == pytest.approx(0.0)
