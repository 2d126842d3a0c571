"""What a search says of the model that it delivers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from api.searches.schemas import EnsembleDocument
from autoprog.cohort import Binary, Cohort
from autoprog.endpoints import Endpoint, make_endpoint
from autoprog.ensemble import WEIGHING_RULES, Candidates, Ensemble, EnsembleName, WeighedPipeline
from autoprog.evaluation import Evaluation, History, Plan, Status
from autoprog.optimizer import Decomposition, Posterior
from autoprog.optimizer.observations import observe
from autoprog.performance import (
    METRICS,
    brier_skill,
    compute_calibration,
    compute_performance,
    estimate_score,
    make_metric,
    net_benefit,
)
from autoprog.search.delivery.assessment import Choice, FittedEnsemble, correction_warnings, ensemble_document
from autoprog.space import Configuration, Step
from autoprog.validation import cross_fitted, delivered_slope, shrunk_recalibration

SIMPLE = Configuration(Step("median"), Step("none"), Step("logistic_regression"), Step("none"))
RANGE = (0.1, 0.4)
N = 400
BY_AVERAGING = Choice(WEIGHING_RULES["model_averaging"])


def outcomes_and_risks() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-0.5, 1.3, N))
    return (rng.random(N) < p).astype(np.int8), p


def history_of(y: np.ndarray, *risks: np.ndarray | None, metric: str = "auc_roc") -> History:
    """One evaluation a set of risks, which failed where there is none; scored on all patients at once."""
    chosen = make_metric(metric, RANGE)
    evaluations = [
        Evaluation(i, 0, SIMPLE, Status.CRASHED)
        if p is None
        else Evaluation(i, 0, SIMPLE, Status.SUCCEEDED, chosen.score(y, p), (), p.astype(np.float32))
        for i, p in enumerate(risks)
    ]
    return History(chosen, tuple(evaluations))


def ensemble_of(*numbers: int) -> Ensemble:
    return Ensemble(tuple(WeighedPipeline(1 / len(numbers), n, SIMPLE, 0.8) for n in numbers))


def posterior_of(history: History) -> Posterior:
    """As if every pipeline told of itself alone."""
    observations = observe(history)
    assert observations is not None
    numbers = tuple(e.number for e in history.succeeded)
    each = np.eye(len(observations.y))[observations.succeeded]
    together = Decomposition((("a",),))
    return Posterior(
        numbers,
        (each @ observations.y)[None],
        0.3 * np.eye(len(numbers))[None],
        (together,),
        together,
        ("a",),
        observations,
        each[None],
    )


def endpoint_of(y: np.ndarray) -> Endpoint:
    cohort = Cohort("simulated", Binary("y", "1", "0"), (), np.empty((len(y), 0)), y)
    return make_endpoint(cohort, thresholds=RANGE)


def fitted(ensemble: Ensemble, y: np.ndarray, history: History, choice: Choice = BY_AVERAGING) -> FittedEnsemble:
    candidates = Candidates(history, posterior_of(history), endpoint_of(y))
    return FittedEnsemble(ensemble, candidates, choice, endpoint_of(y), Plan(history.metric.name, 5, 1, 0))


def document_of(ensemble: Ensemble, y: np.ndarray, history: History, seed: int = 3) -> dict[str, Any]:
    return ensemble_document(fitted(ensemble, y, history), seed=seed)


def measured(y: np.ndarray, p: np.ndarray, seed: int = 3) -> dict[str, Any]:
    """What is said of the probabilities that cross-fitting makes of risks, and of the ranking of the risks."""
    performance = compute_performance(y, cross_fitted(y, p, np.random.default_rng(seed)), RANGE, ranked=p)
    slope = delivered_slope(y, p, shrunk_recalibration(y, p))
    assert slope is not None
    return replace(performance, slope=slope.estimate, intervals={**performance.intervals, "slope": slope}).to_json()


def test_ensemble_and_baseline_are_measured_alike() -> None:
    y, p = outcomes_and_risks()
    history = history_of(y, p**2, p, np.sqrt(p))
    document = document_of(ensemble_of(1, 2), y, history)
    averaged = (p.astype(np.float32).astype(float) + np.sqrt(p).astype(np.float32)) / 2
    risks, simple = (cross_fitted(y, r, np.random.default_rng(3)) for r in (averaged, (p**2).astype(np.float32)))
    told, plain = document["performance"], measured(y, averaged)
    corrected = {"auc_roc", "auc_prc", "brier", "brier_skill", "log_loss", "net_benefit"}
    assert told["uncorrected"] == {name: plain[name] for name in told["uncorrected"]}
    assert set(told["uncorrected"]) == corrected
    for name in set(plain) - corrected - {"intervals", "uncorrected"}:
        assert told[name] == plain[name]
    for name, ends in told["intervals"].items():
        if name not in corrected:
            assert ends == plain["intervals"][name]
        else:
            assert ends["lower"] < told[name] < ends["upper"]
    assert document["baseline"]["performance"] == measured(y, (p**2).astype(np.float32))
    assert document["calibration"]["slope"]["estimate"] == document["performance"]["slope"]
    assert document["calibration"]["raw"] == compute_calibration(y, averaged).to_json()
    gain = document["gain_over_baseline"]
    for name in ("auc_roc", "brier", "net_benefit"):
        ours, its = (part["performance"][name] for part in (document, document["baseline"]))
        assert gain[name]["estimate"] == pytest.approx(ours - its, abs=1e-12)  # both are corrected by the same
        assert gain[name]["lower"] <= gain[name]["estimate"] <= gain[name]["upper"]
    curve = document["net_benefit"]
    t = np.array(curve["thresholds"])
    assert curve["model"] == net_benefit(y, risks, t).tolist()
    assert curve["baseline"] == net_benefit(y, simple, t).tolist()
    assert curve["range"] == list(RANGE)
    assert [m["weight"] for m in document["members"]] == [0.5, 0.5]
    shown = EnsembleDocument.model_validate(document).model_dump(mode="json")
    assert all(shown[key] == document[key] for key in ("members", "score", "performance", "net_benefit"))
    assert shown["baseline"] == {**document["baseline"], "overall": None}


def test_the_ensembles_score_is_corrected_and_the_baselines_needs_not_be() -> None:
    rng = np.random.default_rng(2)
    y, p = outcomes_and_risks()
    useless = [rng.random(N) for _ in range(12)]
    aucs = [METRICS["auc_roc"].score(y, q) for q in useless]
    document = document_of(ensemble_of(1 + int(np.argmax(aucs))), y, history_of(y, p, *useless))
    uncorrected = document["performance"]["uncorrected"]["auc_roc"]
    assert document["score"]["estimate"] == document["performance"]["auc_roc"] != uncorrected
    assert "corrected for having chosen" in document["score"]["method"]
    assert f"uncorrected it is {uncorrected:.3f}" in document["score"]["method"]
    plain = estimate_score(METRICS["auc_roc"], y, p.astype(np.float32)).to_json()
    assert document["baseline"]["score"] == plain

    worthless = history_of(y, *useless)
    best = document_of(ensemble_of(int(np.argmax(aucs))), y, worthless)
    assert best["score"]["estimate"] < best["performance"]["uncorrected"]["auc_roc"] - 0.01


def test_recalibration_by_many_is_not_held_against_a_ranking() -> None:
    """The delivered model has one recalibration, which keeps its ranking."""
    y, p = outcomes_and_risks()
    document = document_of(ensemble_of(0), y, history_of(y, p))
    assert document["score"]["estimate"] == pytest.approx(METRICS["auc_roc"].score(y, p), abs=1e-6)
    cross_fitted_auc = METRICS["auc_roc"].score(y, cross_fitted(y, p, np.random.default_rng(3)))
    assert cross_fitted_auc < document["score"]["estimate"]


def test_a_search_by_net_benefit_is_scored_over_its_own_thresholds() -> None:
    y, p = outcomes_and_risks()
    document = document_of(ensemble_of(0), y, history_of(y, p, metric="net_benefit"), seed=0)
    assert document["score"]["estimate"] == pytest.approx(document["performance"]["net_benefit"], abs=1e-12)
    assert "from 0.1 to 0.4" in document["score"]["method"]


def test_without_the_simple_pipelines_risks_there_is_no_baseline() -> None:
    y, p = outcomes_and_risks()
    document = document_of(ensemble_of(1), y, history_of(y, None, p))
    assert document["baseline"] is None
    assert document["net_benefit"]["baseline"] is None


@pytest.mark.parametrize("metric", ["auc_roc", "auc_prc"])
def test_a_winner_that_ranks_better_than_its_probabilities_is_warned_of(metric: str) -> None:
    y, p = outcomes_and_risks()
    noisy = expit(logit(p) + np.random.default_rng(1).normal(0, 0.5, N))  # ranks worse, means what it says
    distorted = p**0.1  # ranks best, and far too high
    history = history_of(y, noisy, distorted, metric=metric)
    (warning,) = endpoint_of(y).ranking_warnings(history)
    assert warning == (
        f"the search was by {metric}; the best configuration's Brier skill {brier_skill(y, distorted):.3f} "
        f"is below the simple model's {brier_skill(y, noisy):.3f}: its ranking is better than its probabilities"
    )


def test_no_warning_without_need() -> None:
    y, p = outcomes_and_risks()
    noisy = expit(logit(p) + np.random.default_rng(1).normal(0, 0.5, N))
    assert endpoint_of(y).ranking_warnings(history_of(y, noisy, p)) == []  # better in both
    assert endpoint_of(y).ranking_warnings(history_of(y, p, noisy)) == []  # the simple pipeline is the best
    assert endpoint_of(y).ranking_warnings(history_of(y, None, p**0.1)) == []  # nothing to compare with
    assert endpoint_of(y).ranking_warnings(history_of(y, None)) == []  # nothing at all
    by_probability = replace(history_of(y, noisy, p**0.1), metric=METRICS["brier"])
    assert endpoint_of(y).ranking_warnings(by_probability) == []


@pytest.mark.parametrize(
    "rule",
    [
        "best",
        "blend",
        "greedy",
        "linear_pool",
        *(pytest.param(rule, marks=pytest.mark.slow) for rule in ("model_averaging", "pseudo_bma", "stacking")),
    ],
)
def test_the_score_is_that_of_what_is_left_when_members_were_lost(rule: EnsembleName) -> None:
    """The two best of three could not be refitted: their scores must not show in that of the third."""
    rng = np.random.default_rng(5)
    y, p = outcomes_and_risks()
    worst = expit(0.4 * logit(p) + rng.normal(0, 1.0, N))
    history = history_of(y, p, np.sqrt(p), worst)
    choice = Choice(WEIGHING_RULES[rule], frozenset({0, 1}))
    document = ensemble_document(fitted(ensemble_of(2), y, history, choice), seed=3)
    own = METRICS["auc_roc"].score(y, worst.astype(np.float32))
    assert METRICS["auc_roc"].score(y, p) > own + 0.05
    assert document["score"]["estimate"] == pytest.approx(own, abs=1e-9)  # without a choice nothing is corrected
    choice = Choice(WEIGHING_RULES[rule], frozenset({1}))
    with_chosen = ensemble_document(fitted(ensemble_of(0, 2), y, history, choice), seed=3)
    average = METRICS["auc_roc"].score(y, (p.astype(np.float32) + worst.astype(np.float32)) / 2)
    assert with_chosen["score"]["estimate"] < max(average, METRICS["auc_roc"].score(y, p)) + 0.01


@pytest.mark.parametrize(
    ("made", "words"), [(None, None), (200, None), (20, "20 resamples"), (100, "uncertain by 7 %")]
)
def test_a_correction_by_few_resamples_is_told(made: int | None, words: str | None) -> None:
    told = correction_warnings({"score": {"resamples": made}})
    assert len(told) == (words is not None)
    assert words is None or words in told[0]
