"""Every rule over the table, and what each of them is by its definition."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from autoprog.ensemble import WEIGHING_RULES, Candidates, average
from autoprog.ensemble import weights as greedy_module
from autoprog.ensemble.weights import KAPPA, greedy_weights, select, stacked_weights
from autoprog.evaluation import Evaluation, History, Status
from autoprog.optimizer import OptimizerOptions, make_optimizer
from autoprog.performance import METRICS, compute_logit
from tests.ensemble.labels import endpoint_of
from tests.optimizer.toys import SHAPE, draw, toy_space

N, T = 200, 8
SPACE = toy_space(((0,), (0, 1), (1, 1, 2), (0, 0)))


def patients(n: int, t: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes, and t sets of risks that know them through noises of their own: the later the more noise."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    y = (rng.random(n) < expit(2 * truth)).astype(np.int8)
    noise = rng.normal(size=(t, n)) * np.linspace(0.4, 2.0, t)[:, None]
    return y, norm.cdf(truth + noise)


@pytest.fixture(scope="module")
def candidates() -> Candidates:
    y, p = patients(N, T)
    metric = METRICS["auc_roc"]
    scores = [metric.score(y, risks) for risks in p]
    evaluations = tuple(
        Evaluation(i, 0, c, Status.SUCCEEDED, scores[i], (scores[i],) * 5, p[i].astype(np.float32))
        for i, c in enumerate(draw(SPACE, T, np.random.default_rng(1)))
    )
    history = History(metric, evaluations)
    optimizer = make_optimizer(SPACE, SHAPE, OptimizerOptions(subspaces=3))
    return Candidates(history, optimizer.posterior(history, np.random.default_rng(0), {}), endpoint_of(y))


@pytest.mark.parametrize("name", WEIGHING_RULES)
def test_weights_sum_to_one_and_fall(name: str, candidates: Candidates) -> None:
    ensemble = WEIGHING_RULES[name].weigh(candidates, np.random.default_rng(0))  # type: ignore[index]
    weights = [m.weight for m in ensemble.members]
    assert sum(weights) == pytest.approx(1.0, abs=1e-12)
    assert weights == sorted(weights, reverse=True)
    assert min(weights) > 0
    risks = ensemble.out_of_fold_risks(candidates.history)
    assert ((risks >= 0) & (risks <= 1)).all()
    best = max(e.score for e in candidates.history.succeeded if e.score is not None)
    assert METRICS["auc_roc"].score(candidates.observed.y, risks) > best - 0.05


@pytest.mark.parametrize("name", WEIGHING_RULES)
def test_with_every_patient_drawn_once_the_rule_chooses_as_it_did(name: str, candidates: Candidates) -> None:
    rule = WEIGHING_RULES[name]  # type: ignore[index]
    ensemble = rule.weigh(candidates, np.random.default_rng(0))
    weights = {m.number: m.weight for m in ensemble.members}
    everybody = np.ones((N, 2), dtype=np.float32)
    revised = rule.reweigh(candidates, np.random.default_rng(0))(everybody, np.tile(candidates.gains, (2, 1)))
    assert revised.shape == (2, T)
    expected = [weights.get(number, 0.0) for number in candidates.posterior.numbers]
    # Averaging draws 2,000 times and greedy selection draws its bags: standard errors of about .01 and .05.
    np.testing.assert_allclose(revised[0], expected, atol={"model_averaging": 0.05, "greedy": 0.2}.get(name, 1e-9))


@pytest.mark.parametrize("name", ["greedy", "stacking"])
def test_who_was_not_drawn_has_no_say(name: str, candidates: Candidates) -> None:
    c = np.ones((N, 1), dtype=np.float32)
    c[: N // 2] = 0
    y = candidates.observed.y.copy()
    y[: N // 2] = 1 - y[: N // 2]
    other = Candidates(candidates.history, candidates.posterior, endpoint_of(y))
    rule, gains = WEIGHING_RULES[name], candidates.gains[None]  # type: ignore[index]
    found = [rule.reweigh(each, np.random.default_rng(0))(c, gains) for each in (candidates, other)]
    np.testing.assert_array_equal(*found)


def test_a_greedy_bag_takes_what_lowers_the_brier_score_most() -> None:
    """Against a plain loop over the definition, with patients that count twice and not at all."""
    y, p = patients(60, 5, seed=3)
    c = np.random.default_rng(4).integers(0, 3, 60).astype(np.float32)
    taken: list[int] = []
    losses = []
    for _ in range(greedy_module.STEPS):
        trials = [float(c @ (y - p[[*taken, j]].mean(axis=0)) ** 2) for j in range(5)]
        taken.append(int(np.argmin(trials)))
        losses.append(min(trials))
    k = int(np.argmin(np.array(losses).round(9))) + 1
    weighted = p * c
    shares = select(weighted @ p.T, weighted @ y, np.ones((1, 5), dtype=bool))
    np.testing.assert_allclose(shares[0], np.bincount(taken[:k], minlength=5) / k, atol=1e-12)


def test_greedy_selection_comes_near_the_best_average(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brier score against the best of all averages of six pipelines, taken with repetition from four."""
    monkeypatch.setattr(greedy_module, "SHARE", 1.0)
    y, p = patients(300, 4, seed=5)
    weights = greedy_weights(p, y, np.ones(300), np.random.default_rng(0))
    brier = METRICS["brier"].score
    exhaustive = min(brier(y, p[list(chosen)].mean(axis=0)) for chosen in combinations_with_replacement(range(4), 6))
    assert brier(y, weights @ p) <= exhaustive + 1e-4


def test_stacking_is_the_penalised_maximum_likelihood() -> None:
    """Against another optimizer on coefficients that are squares, so that it needs no bounds."""
    y, p = patients(150, 4, seed=6)
    x, c = compute_logit(p), np.ones(150)
    weights = stacked_weights(x, y, c)

    def loss(u: np.ndarray) -> float:
        b, a = u[:4] ** 2, u[4]
        eta = b @ x + a
        return float(np.logaddexp(0, eta).sum() - y @ eta + KAPPA / 2 * ((b - 0.25) ** 2).sum())

    fits = [minimize(loss, np.append(np.full(4, s), 0.0), method="BFGS", options={"gtol": 1e-8}) for s in (0.5, 0.2)]
    b = min(fits, key=lambda fit: fit.fun).x[:4] ** 2
    np.testing.assert_allclose(weights, b / b.sum(), atol=1e-4)


def test_risks_are_averaged_on_the_scale_that_is_asked_for() -> None:
    p, w = np.array([[0.2, 0.9], [0.4, 0.5]]), np.array([0.25, 0.75])
    np.testing.assert_allclose(average(w, p, "risk"), [0.35, 0.6])
    odds = (0.2 / 0.8) ** 0.25 * (0.4 / 0.6) ** 0.75, 9**0.25
    np.testing.assert_allclose(average(w, p, "log_odds"), [o / (1 + o) for o in odds])
    np.testing.assert_allclose(average(w[None], p, "log_odds"), average(w, p, "log_odds")[None])
