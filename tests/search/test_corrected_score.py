"""Whether the corrected score is the delivered ensemble's own, whatever was lost: simulations whose truth is known.

Ten pipelines, whose risks for a patient are the true log odds (of event times the true log hazard) times a number, and
noise of their own. The rule weighs them by 200 patients; the truth is the delivered average's score among many others.
Which pipelines fail when they are refitted is settled before anybody knows how they do.

`python -m tests.search.test_corrected_score` prints the table of `docs/benchmarks.md`.
"""

from __future__ import annotations

from itertools import count, islice

import numpy as np
import pytest
from scipy.special import expit

from autoprog.cohort import Binary, Cohort
from autoprog.cohort.event_array import event_times
from autoprog.endpoints import Endpoint, make_endpoint
from autoprog.ensemble import WEIGHING_RULES, Candidates, EnsembleName, average
from autoprog.evaluation import Evaluation, History, Plan, Status
from autoprog.performance import Metric, ScoringContext, make_event_metric, make_metric
from autoprog.search.delivery.assessment import Choice, FittedEnsemble, correct_score
from tests.search.test_assessment import SIMPLE, posterior_of
from tests.space.event_times.cohorts import as_cohort

PIPELINES, COHORTS, N, MANY = 10, 40, 200, 4_000
SLOPES, NOISE = np.linspace(0.7, 1.3, PIPELINES), np.linspace(0.8, 1.6, PIPELINES)
TIMES = (0.4, 0.7, 1.0)
LOST = {"nothing": frozenset(), "three": frozenset({2, 5, 8}), "six": frozenset({1, 3, 4, 6, 7, 9})}
KINDS = ("binary", "event times")


def patients_of(kind: str, n: int, rng: np.random.Generator) -> tuple[Endpoint, Metric, np.ndarray]:
    """Patients, the metric, and what the pipelines say of them."""
    f = rng.normal(-0.7, 1.0, n)
    told = SLOPES[:, None] * f + NOISE[:, None] * rng.standard_normal((PIPELINES, n))
    no_features = np.empty((n, 0))
    if kind == "binary":
        y = (rng.random(n) < expit(f)).astype(np.int8)
        endpoint = make_endpoint(Cohort("simulated", Binary("y", "1", "0"), (), no_features, y))
        return endpoint, make_metric("auc_roc"), expit(told)
    time, end = rng.exponential(np.exp(-f)), rng.uniform(0.3, 3.0, n)
    cohort = as_cohort(no_features, event_times((time <= end).astype(np.int64), np.minimum(time, end)), TIMES[1:], 1)
    endpoint = make_endpoint(cohort, TIMES)
    p = -np.expm1(-np.exp(told)[:, :, None] * np.array(TIMES))
    return endpoint, make_event_metric("uno_c", ScoringContext.of(cohort, TIMES)), p


def measure_error(kind: str, rule: EnsembleName, lost: frozenset[int], seed: int) -> tuple[float, float] | None:
    """Corrected and uncorrected score less the true one, in one cohort; None where all is lost and searches fail."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    endpoint, metric, p = patients_of(kind, N, rng)
    y = endpoint.y
    evaluations = (
        Evaluation(k, 0, SIMPLE, Status.SUCCEEDED, metric.score(y, risks), (), risks.astype(np.float32))
        for k, risks in enumerate(p)
    )
    history = History(metric, tuple(evaluations))
    candidates = Candidates(history, posterior_of(history), endpoint)
    weighing = WEIGHING_RULES[rule]
    chosen = weighing.weigh(candidates, rng)
    gone = frozenset(m.number for m in chosen.members) & lost
    if len(gone) == len(chosen.members):
        return None
    ensemble = chosen.without(gone)
    scored = ensemble.out_of_fold_risks(history)
    plan = Plan(metric.name, 5, 1, 0)
    fitted = FittedEnsemble(ensemble, candidates, Choice(weighing, gone), endpoint, plan)
    corrected = correct_score(fitted, scored, seed=seed).score.estimate
    others, of_others, theirs = patients_of(kind, MANY, np.random.default_rng([seed, 99]))
    w = np.zeros(PIPELINES)
    w[[m.number for m in ensemble.members]] = [m.weight for m in ensemble.members]
    truth = of_others.score(others.y, average(w, theirs, ensemble.scale))
    return corrected - truth, metric.score(y, scored) - truth


def biases(kind: str, rule: EnsembleName, lost: frozenset[int], cohorts: int) -> tuple[float, float, float]:
    """Mean errors of the corrected and of the uncorrected score, and the former's standard error."""
    found = (measure_error(kind, rule, lost, seed) for seed in count())
    errors = np.array(list(islice((error for error in found if error is not None), cohorts)))
    corrected, uncorrected = errors.mean(axis=0)
    return float(corrected), float(uncorrected), float(errors[:, 0].std(ddof=1) / cohorts**0.5)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("rule", "lost"),
    [
        pytest.param(rule, name, marks=pytest.mark.ci if (rule, name) == ("pseudo_bma", "three") else ())
        for rule in ("best", "pseudo_bma")
        for name in LOST
    ],
)
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
