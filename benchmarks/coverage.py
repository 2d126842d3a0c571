"""How often 95 % intervals hold the truth: of every measure of fixed risks, of differences, and by groups.

    python -m benchmarks.coverage [--cohorts 1000] > table.json

Risks are those of a model that is a little too extreme, of patients whose linear predictor is normal; the simple
pipeline knows less. Of groups, a hospital or a patient with visits, both the predictor and what nobody knows of the
outcome are alike within one. The truth is that of two million patients. A cell is the share of cohorts, in percent,
whose interval holds it; its standard error at 1,000 cohorts is 0.7.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from autoprog.performance import compute_performance
from autoprog.validation import compute_gains

PREVALENCES, SIZES = (0.03, 0.10, 0.30), (200, 500, 2_000)
MEASURES = ("auc_roc", "auc_prc", "brier", "log_loss", "net_benefit", "slope", "expected_observed")
GAINS = ("auc_roc", "brier", "net_benefit")
THRESHOLDS = (0.05, 0.2)
TRUTH, OF_GROUP = 2_000_000, 10
_SPREAD = 1.2

Patients = tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64] | None]


def simulated(n: int, mean: float, rng: np.random.Generator, *, grouped: bool) -> Patients:
    """Outcomes, the model's and the simple pipeline's risks, and groups."""
    x = _SPREAD * rng.normal(size=n)
    groups = None
    hidden = 0.0
    if grouped:
        groups = np.arange(n) // OF_GROUP
        m = int(groups[-1]) + 1
        x = np.sqrt(0.8) * x + np.sqrt(0.2) * _SPREAD * rng.normal(size=m)[groups]
        hidden = 0.5 * rng.normal(size=m)[groups]
    y = (rng.random(n) < expit(mean + x + hidden)).astype(np.int8)
    model = expit(mean + 1.1 * x)
    simple = expit(mean + 0.6 * (x + 0.8 * rng.normal(size=n)))
    return y, model, simple, groups


def mean_of(prevalence: float, rng: np.random.Generator) -> float:
    z = _SPREAD * rng.normal(size=200_000)
    return float(brentq(lambda mean: expit(mean + z).mean() - prevalence, -12.0, 12.0))


def told(patients: Patients) -> dict[str, tuple[float, float, float]]:
    """Estimate and interval of every measure and gain."""
    y, model, simple, groups = patients
    performance = compute_performance(y, model, THRESHOLDS, groups)
    gains = compute_gains(y, (model, model), (simple, simple), THRESHOLDS, groups)
    found = {name: performance.intervals[name] for name in MEASURES if name in performance.intervals}
    found |= {f"{name}, difference": gains[name] for name in GAINS}
    return {name: (each.estimate, each.lower, each.upper) for name, each in found.items()}


def coverage(n: int, draw: Callable[[int], Patients], cohorts: int) -> dict[str, float]:
    truth = {name: estimate for name, (estimate, _, _) in told((*draw(TRUTH)[:3], None)).items()}
    held: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(cohorts):
        patients = draw(n)
        if min(patients[0].sum(), n - patients[0].sum()) < 2:  # nothing is measured then
            continue
        for name, (_, lower, upper) in told(patients).items():
            held[name].append(lower <= truth[name] <= upper)
    return {name: round(100 * float(np.mean(each)), 1) for name, each in held.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohorts", type=int, default=1_000)
    cohorts = parser.parse_args().cohorts
    table = {}
    for grouped in (False, True):
        for prevalence in PREVALENCES:
            rng = np.random.default_rng([int(100 * prevalence), grouped])
            mean = mean_of(prevalence, rng)
            for n in SIZES:
                cell = f"{'groups of 10' if grouped else 'patients'}, prevalence {prevalence:g}, n {n}"
                table[cell] = coverage(n, partial(simulated, mean=mean, rng=rng, grouped=grouped), cohorts)
    print(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
