from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from autoprog.diagnosis.discretization import BanditOptions, Exp3, Hedge, bandit_from_json, make_bandit, simulate
from autoprog.errors import InvalidInputError

MEANS = np.array([0.5, 0.5, 0.5, 0.5, 0.7])
KNOWN = float(np.sqrt(2 * np.log(5) / (2000 * 5)))


@pytest.mark.parametrize(
    ("options", "n", "rate"),
    [
        (BanditOptions(rate=0.3), 7, 0.3),
        (BanditOptions(queries=2000), 7, KNOWN),
        (BanditOptions(), 0, np.sqrt(np.log(5) / 5)),
        (BanditOptions(), 9, np.sqrt(np.log(5) / 45)),
        (BanditOptions("hedge"), 9, np.sqrt(np.log(5) / 9)),
    ],
)
def test_rates(options: BanditOptions, n: int, rate: float) -> None:
    assert options.rate_at(5, n) == pytest.approx(rate)


def test_mixing() -> None:
    assert BanditOptions().mixing_at(5, 0.1) == 1e-6
    assert BanditOptions("gain").mixing_at(5, 0.1) == 0.0  # as published
    assert BanditOptions("gain", floor=1e-6).mixing_at(5, 0.1) == BanditOptions("loss").mixing_at(5, 0.1) == 1e-6
    assert BanditOptions("mixed").mixing_at(5, 0.1) == pytest.approx(0.5)
    assert BanditOptions("mixed").mixing_at(5, 0.5) == 1.0
    assert BanditOptions("gain", mixing=0.2).mixing_at(5, 0.5) == 0.2


def test_a_bandit_is_what_its_definition_says() -> None:
    """Against the algorithm written out, anytime rate and losses."""
    rng, gains = np.random.default_rng(0), np.random.default_rng(1)
    bandit = Exp3(3, BanditOptions(floor=0.0))
    S = np.zeros(3)
    for n in range(200):
        eta = np.sqrt(np.log(3) / (max(1, n) * 3))
        P = np.exp(eta * S) / np.exp(eta * S).sum()
        np.testing.assert_allclose(bandit.probabilities, P, rtol=1e-9)
        arm, gain = bandit.draw(rng), float(gains.random())
        bandit.update(arm, gain)
        S += 1
        S[arm] -= (1 - gain) / P[arm]
    assert bandit.queries == 200


def test_a_probability_that_was_kept_replaces_the_present_one() -> None:
    early, late = Exp3(2), Exp3(2)
    for bandit in (early, late):
        bandit.update(0, 1.0)
    late.update(1, 0.25, probability=0.1)
    assert late.S[1] == pytest.approx(early.S[1] + 1 - 0.75 / 0.1)


def test_one_arm_is_always_drawn() -> None:
    bandit = Exp3(1)
    for _ in range(5):
        assert bandit.draw(np.random.default_rng(0)) == 0
        bandit.update(0, 0.3)
    np.testing.assert_array_equal(bandit.probabilities, [1.0])


@pytest.mark.parametrize("form", ["loss", "gain", "mixed", "hedge"])
def test_the_state_survives_json(form: str) -> None:
    rng = np.random.default_rng(3)
    bandit = make_bandit(4, BanditOptions(form, floor=1e-5))
    for _ in range(30):
        if isinstance(bandit, Hedge):
            bandit.update_all(rng.random(4))
        else:
            bandit.update(bandit.draw(rng), float(rng.normal(0.5, 0.5)))
    again = bandit_from_json(json.loads(json.dumps(bandit.to_json())))
    assert type(again) is type(bandit)
    np.testing.assert_array_equal(again.probabilities, bandit.probabilities)
    assert (again.queries, again.clipped, again.options) == (bandit.queries, bandit.clipped, bandit.options)


def test_gains_outside_the_range_are_clipped_and_told() -> None:
    bandit = Exp3(2)
    assert bandit.warnings == ()
    bandit.update(0, 1.4)
    np.testing.assert_allclose(bandit.S, [1.0, 1.0])
    assert bandit.warnings == ("1 of 1 gains lay outside [0, 1] and were clipped",)


def test_hedge_adds_all_gains() -> None:
    hedge = Hedge(3)
    hedge.update_all([0.1, 0.2, 0.9])
    hedge.update_all([0.3, 0.2, 0.1])
    np.testing.assert_allclose(hedge.S, [0.4, 0.4, 1.0])


def test_every_fault_of_the_options_is_named() -> None:
    with pytest.raises(InvalidInputError) as error:
        BanditOptions("other", rate=-1.0, queries=0, mixing=2.0, floor=float("nan"))  # type: ignore[arg-type]
    assert [f.pointer for f in error.value.faults] == ["/form", "/rate", "/queries", "/mixing", "/floor"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: Exp3(0),
        lambda: Exp3(2, BanditOptions("hedge")),
        lambda: Hedge(2, BanditOptions("loss")),
        lambda: Exp3(2).update(2, 0.5),
        lambda: Exp3(2).update(0, float("nan")),
        lambda: Exp3(2).update(0, 0.5, probability=0.0),
        lambda: Hedge(2).update_all([0.5]),
    ],
)
def test_misuse_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInputError):
        call()


@pytest.mark.parametrize(("rate", "share"), [(KNOWN, 11 / 60), (0.1, 37 / 60), (0.5, 46 / 60)])
def test_the_printed_form_gets_stuck(rate: float, share: float) -> None:
    """As often as shares of 60 earlier runs let one expect: two binomials within 4.5 pooled standard errors (7e-6)."""
    runs = 300
    stuck = simulate(MEANS, BanditOptions("gain", rate=rate), 2000, runs, np.random.default_rng(4)).stuck(MEANS)
    pooled = (stuck + 60 * share) / (runs + 60)
    assert abs(stuck / runs - share) < 4.5 * np.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / 60))
    assert binom.sf(stuck - 1, runs, 0.02) < 1e-6


def test_the_loss_form_does_not_get_stuck() -> None:
    result = simulate(MEANS, BanditOptions(queries=2000), 2000, 60, np.random.default_rng(5))
    assert result.stuck(MEANS) == 0
    assert result.probabilities.argmax(axis=1).tolist() == [4] * 60


@pytest.mark.parametrize("form", ["loss", "mixed"])
def test_regret_is_below_its_bound(form: str) -> None:
    """E regret at most sqrt(2 T K ln K) with losses; 2 sqrt(e - 1) sqrt(T K ln K) with mixing (Auer et al. 2002,
    corollary 3.2)."""
    T, K = 2000, 5
    root = np.sqrt(T * K * np.log(K))
    if form == "loss":
        options, bound = BanditOptions(queries=T), np.sqrt(2) * root
    else:
        gamma = float(np.sqrt(K * np.log(K) / ((np.e - 1) * T)))
        options, bound = BanditOptions("mixed", rate=gamma / K), 2 * np.sqrt(np.e - 1) * root
    regret = simulate(MEANS, options, T, 60, np.random.default_rng(6)).regret
    assert regret.mean() + 5 * regret.std() / np.sqrt(60) < bound


def test_full_information_learns_faster() -> None:
    bandit = simulate(MEANS, BanditOptions(queries=2000), 2000, 60, np.random.default_rng(7)).regret
    hedge = simulate(MEANS, BanditOptions("hedge", queries=2000), 2000, 60, np.random.default_rng(8)).regret
    assert hedge.mean() + 5 * hedge.std() / np.sqrt(60) < bandit.mean() - 5 * bandit.std() / np.sqrt(60)
