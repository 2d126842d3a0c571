"""How often corrected 95 % intervals hold the truth, where the same patients chose the weights of the ensemble.

    python -m benchmarks.coverage_of_choice [--cohorts 100] > table.json

Ten pipelines, the simple one first, see the log odds of a patient times a number, with noise of their own. The default
rule weighs them by the patients of a cohort, and every figure is corrected for that choice by `RESAMPLES` resamples.
The truth is that of the delivered ensemble, recalibrated as it is delivered, in `OTHERS` patients; of a difference, its
truth less that of the simple pipeline. A cell is the share of cohorts, in percent, whose interval holds the truth, and
the mean error of the figure with and without the correction; the share's standard error at 100 cohorts is 2.2.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from autoprog.cohort import Binary, Cohort
from autoprog.endpoints import Assessed, Endpoint, make_endpoint
from autoprog.ensemble import WEIGHING_RULES, Candidates, Ensemble, average
from autoprog.evaluation import Evaluation, History, Plan, Status
from autoprog.performance import compute_performance, make_metric
from autoprog.search.delivery.assessment import Choice, FittedEnsemble, correct_score
from autoprog.space import Configuration, Step
from autoprog.validation import compute_gains, optimism

PREVALENCES, SIZES = (0.03, 0.10, 0.30), (200, 500, 2_000)
MEASURES = ("auc_roc", "auc_prc", "brier", "log_loss", "net_benefit", "slope", "expected_observed")
THRESHOLDS = (0.05, 0.2)
OTHERS, RESAMPLES = 100_000, 100
_SPREAD, _FEWEST = 1.2, 3
_SLOPES, _NOISE = np.linspace(0.7, 1.3, 10), np.linspace(1.6, 0.8, 10)
_CONFIGURATION = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))

Judged = tuple[NDArray[np.int8], NDArray[np.float64]]


def judged(n: int, mean: float, rng: np.random.Generator) -> Judged:
    """Outcomes, and the risks that every pipeline gives, shape = (10, n)."""
    x = _SPREAD * rng.normal(size=n)
    y = (rng.random(n) < expit(mean + x)).astype(np.int8)
    return y, expit(mean + _SLOPES[:, None] * x + _NOISE[:, None] * rng.normal(size=(len(_SLOPES), n)))


def mean_of(prevalence: float) -> float:
    z = _SPREAD * np.random.default_rng(0).normal(size=200_000)
    return float(brentq(lambda mean: expit(mean + z).mean() - prevalence, -12.0, 12.0))


def endpoint_of(y: NDArray[np.int8]) -> Endpoint:
    cohort = Cohort("simulated", Binary("y", "1", "0"), (), np.empty((len(y), 0)), y)
    return make_endpoint(cohort, (), THRESHOLDS)


def one(seed: int, n: int, mean: float) -> dict[str, tuple[bool, float, float]]:
    """Of every figure of one cohort: whether its interval holds the truth, its error, and the uncorrected error."""
    optimism.RESAMPLES = RESAMPLES
    rng = np.random.default_rng([seed, n])
    y, p = judged(n, mean, rng)
    if min(y.sum(), n - y.sum()) < _FEWEST:
        return {}
    endpoint, metric = endpoint_of(y), make_metric("auc_roc")
    evaluations = tuple(
        Evaluation(k, 0, _CONFIGURATION, Status.SUCCEEDED, metric.score(y, risks), (), risks.astype(np.float32))
        for k, risks in enumerate(p)
    )
    candidates = Candidates(History(metric, evaluations), None, endpoint)
    rule = WEIGHING_RULES["blend"]
    ensemble = rule.weigh(candidates, rng)
    fitted = FittedEnsemble(ensemble, candidates, Choice(rule), endpoint, Plan(metric.name, 5, 1, 0))
    risks = Assessed(fitted.averaged, endpoint.cross_fit(fitted.averaged, 0))
    simple = Assessed(p[0], endpoint.cross_fit(p[0], 0))
    correction = correct_score(fitted, risks.raw, seed=0).figures
    found = _figures(endpoint.summary(risks, correction)["performance"])
    plain = _figures(endpoint.summary(risks)["performance"])
    for into, corrected in ((found, correction), (plain, None)):
        gains = compute_gains(y, risks, simple, THRESHOLDS, None, corrected)
        into |= {f"{name}, difference": (g.estimate, g.lower, g.upper) for name, g in gains.items()}
    truth = dict(_truth(endpoint, ensemble, fitted.averaged, p[0], judged(OTHERS, mean, rng)))
    return {
        name: (lower <= truth[name] <= upper, value - truth[name], plain[name][0] - truth[name])
        for name, (value, lower, upper) in found.items()
    }


def _figures(performance: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    ends = performance["intervals"]
    return {name: (performance[name], *ends[name].values()) for name in MEASURES if name in ends}


def _truth(
    endpoint: Endpoint, ensemble: Ensemble, averaged: NDArray[np.float64], simple: NDArray[np.float64], others: Judged
) -> Iterator[tuple[str, float]]:
    y, p = others
    w = np.zeros(len(p))
    w[[m.number for m in ensemble.members]] = [m.weight for m in ensemble.members]
    delivered = endpoint.fit_recalibration(averaged).apply(average(w, p, ensemble.scale))
    its = endpoint.fit_recalibration(simple).apply(p[0])
    whole = compute_performance(y, delivered, THRESHOLDS)
    yield from ((name, getattr(whole, name)) for name in MEASURES)
    gains = compute_gains(y, (delivered, delivered), (its, its), THRESHOLDS)
    yield from ((f"{name}, difference", gain.estimate) for name, gain in gains.items())


def cell(n: int, prevalence: float, cohorts: int, pool: ProcessPoolExecutor) -> dict[str, Any]:
    found = list(pool.map(partial(one, n=n, mean=mean_of(prevalence)), range(cohorts), chunksize=5))
    names = dict.fromkeys(name for each in found for name in each)
    told = {name: np.array([each[name] for each in found if name in each], dtype=float) for name in names}
    table: dict[str, Any] = {"cohorts": sum(bool(each) for each in found)}
    for name, rows in told.items():
        held, error, plain = rows.mean(axis=0)
        table[name] = {"held": round(100 * held, 1), "error": round(error, 4), "uncorrected": round(plain, 4)}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohorts", type=int, default=100)
    cohorts = parser.parse_args().cohorts
    table = {}
    with ProcessPoolExecutor(2) as pool:
        for n, prevalence in product(SIZES, PREVALENCES):
            name = f"prevalence {prevalence:g}, n {n}"
            table[name] = cell(n, prevalence, cohorts, pool)
            print(name, json.dumps(table[name]), file=sys.stderr, flush=True)
    print(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
