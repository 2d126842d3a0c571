"""Whether the corrected score is the delivered ensemble's own, whatever was lost: simulations whose truth is known.

Ten pipelines, whose risks for a patient are the true log odds (of event times the true log hazard) times a number, and
noise of their own. The rule weighs them by 200 patients; the truth is the delivered average's score among many others.
Which pipelines fail when they are refitted is settled before anybody knows how they do.

`python -m tests.search.test_corrected_score` prints the table of `docs/benchmarks.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from autoprog.ensemble import WEIGHING_RULES, Candidates, Ensemble, EnsembleName, average
from autoprog.evaluation import Evaluation, History, Metric, ScoringContext, Status, make_event_metric, make_metric
from autoprog.search.assessment import Choice, chosen_document
from autoprog.space import event_times
from autoprog.survival import censoring_survival
from autoprog.validation import FollowedPatients, Patients, corrected_score, never
from autoprog.validation.event_times import corrected_event_score
from tests.search.test_assessment import SIMPLE, posterior_of

PIPELINES, COHORTS, N, MANY = 10, 40, 200, 4_000
SLOPES, NOISE = np.linspace(0.7, 1.3, PIPELINES), np.linspace(0.8, 1.6, PIPELINES)
TIMES = (0.4, 0.7, 1.0)
LOST = {"nothing": frozenset(), "three": frozenset({2, 5, 8}), "six": frozenset({1, 3, 4, 6, 7, 9})}
KINDS = ("binary", "event times")


def patients_of(kind: str, n: int, rng: np.random.Generator) -> tuple[Any, Metric, np.ndarray]:
    """Patients, the metric, and the pipelines' risks."""
    f = rng.normal(-0.7, 1.0, n)
    told = SLOPES[:, None] * f + NOISE[:, None] * rng.standard_normal((PIPELINES, n))
    if kind == "binary":
        return Patients((rng.random(n) < expit(f)).astype(np.int8)), make_metric("auc_roc"), expit(told)
    time, end = rng.exponential(np.exp(-f)), rng.uniform(0.3, 3.0, n)
    y = event_times((time <= end).astype(np.int64), np.minimum(time, end))
    follow_up = ScoringContext(TIMES, TIMES[1:], 1, censoring_survival(y["time"], y["event"]))
    p = -np.expm1(-np.exp(told)[:, :, None] * np.array(TIMES))
    return FollowedPatients(y, follow_up), make_event_metric("uno_c", follow_up), p


def delivered_of(chosen: Ensemble, lost: frozenset[int]) -> tuple[Ensemble, frozenset[int]]:
    """What is left of it, the simple pipeline where all are lost, and which of its members are."""
    gone = frozenset(m.number for m in chosen.members) & lost
    if len(gone) < len(chosen.members):
        return chosen.without(gone), gone
    return Ensemble((replace(chosen.members[0], weight=1.0, number=0),), chosen.scale), gone


def load_error(kind: str, rule: EnsembleName, lost: frozenset[int], seed: int) -> tuple[float, float]:
    """Corrected and uncorrected score less the true one, in one cohort."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    patients, metric, p = patients_of(kind, N, rng)
    y = patients[0]
    evaluations = (
        Evaluation(k, 0, SIMPLE, Status.SUCCEEDED, metric.score(y, risks), (), risks.astype(np.float32))
        for k, risks in enumerate(p)
    )
    history = History(metric, tuple(evaluations))
    follow_up = patients.follow_up if kind == "event times" else None
    candidates = Candidates(history, posterior_of(history), y, follow_up)
    weighing = WEIGHING_RULES[rule]
    ensemble, gone = delivered_of(weighing.weigh(candidates, rng), lost)
    correct: Callable[..., Any] = corrected_score if kind == "binary" else corrected_event_score
    scored = ensemble.out_of_fold_risks(history)
    document = chosen_document(
        correct, ensemble, patients, scored, candidates, Choice(weighing, gone), seed=seed, stop=never
    )
    others, of_others, theirs = patients_of(kind, MANY, np.random.default_rng([seed, 99]))
    w = np.zeros(PIPELINES)
    w[[m.number for m in ensemble.members]] = [m.weight for m in ensemble.members]
    truth = of_others.score(others[0], average(w, theirs, ensemble.scale))
    return document["score"]["estimate"] - truth, metric.score(y, scored) - truth


def biases(kind: str, rule: EnsembleName, lost: frozenset[int], cohorts: int) -> tuple[float, float, float]:
    """Mean errors of the corrected and of the uncorrected score, and the former's standard error."""
    errors = np.array([load_error(kind, rule, lost, seed) for seed in range(cohorts)])
    corrected, uncorrected = errors.mean(axis=0)
    return float(corrected), float(uncorrected), float(errors[:, 0].std(ddof=1) / cohorts**0.5)


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("rule", ["best", "pseudo_bma"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_corrected_score_is_that_of_what_is_delivered(kind: str, rule: EnsembleName, lost: str) -> None:
    corrected, _, error = biases(kind, rule, LOST[lost], 15)
    assert abs(corrected) <= 3 * error


if __name__ == "__main__":
    for kind in KINDS:
        for rule in WEIGHING_RULES:
            cells = []
            for lost in LOST.values():
                corrected, uncorrected, error = biases(kind, rule, lost, COHORTS)
                cells.append(f"{corrected:+.4f} ({error:.4f}; {uncorrected:+.4f})")
            print(f"| {kind} | {rule} | {' | '.join(cells)} |", flush=True)
