"""What one fold of an evaluation costs on a large cohort with event times: seconds of one core, memory, and the score.

    python -m benchmarks.event_times [--patients 500000] [--forest-patients 10000] [--only cox ...]

Simulated patients with 50 numeric columns of which 10 change the hazard, a Weibull time, and about half lost from sight
before the last of three horizons. Cox's model, and LightGBM and logistic regression by either reduction, each behind
the median and at its defaults; of fewer such patients the survival forest, at its defaults and with the hyperparameters
that cost most. Each gets a fresh process, forked as the engine's children are, and the memory limit of a default
search, 4 GiB beyond what it holds then. Measured is one fold of five: fit to four fifths of the patients, prediction of
the others at the times of the search, score and notes; reading is not counted. An evaluation is five folds and may take
60 s: the bar is 12 s a fold. Beside the score stands that of the true risks on the same patients, the most that any
learner could have. Seconds of the processor and of the clock are both shown; on a shared machine the first are those to
compare.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Feature, TimeToEvent, to_parquet
from autoprog.evaluation import Plan
from autoprog.space import Configuration, Reduction, Space, Step
from benchmarks.large_fold import BAR_S, LIMITS, in_a_child

N_PATIENTS, FOREST_PATIENTS, N_COLUMNS, SEED = 500_000, 10_000, 50, 0
REDUCTIONS: dict[str, tuple[Reduction, ...]] = {
    "cox": ("discrete_time",),  # takes times itself, and has no use for a reduction
    "lightgbm": ("discrete_time", "ipcw"),
    "logistic_regression": ("discrete_time", "ipcw"),
}
FOREST = "survival_forest"
DEAREST = {"trees": 200, "max_features": 1.0, "min_leaf": 5, "max_depth": 30, "max_samples": 1.0}
_SHAPE, _CENSORING = 1.3, 0.35


def simulated_cohort(n_patients: int) -> tuple[Cohort, NDArray[np.float64]]:
    """Patients, and the linear predictor of their hazards."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n_patients, N_COLUMNS))
    effects = np.zeros(N_COLUMNS)
    effects[:10] = rng.normal(0, 0.3, 10)
    eta = X @ effects + 0.3 * X[:, 0] * X[:, 1]
    time = (rng.exponential(size=n_patients) / (0.15 * np.exp(eta))) ** (1 / _SHAPE)
    censored = rng.exponential(1 / _CENSORING, n_patients)
    y = (time <= censored).astype(np.int8)
    outcome = TimeToEvent("time", "event", "1", (1.0, 2.0, 3.0))
    features = tuple(Feature(f"x{j}", "numeric") for j in range(N_COLUMNS))
    return Cohort("simulated", outcome, features, X, y, time=np.minimum(time, censored)), eta


def cases() -> dict[str, tuple[Configuration, Reduction]]:
    """Every predictor of many patients by every reduction that it has."""
    return {
        name if len(reductions) == 1 else f"{name}, {reduction}": (_behind_the_median(_default(name)), reduction)
        for name, reductions in REDUCTIONS.items()
        for reduction in reductions
    }


def forests() -> dict[str, tuple[Configuration, Reduction]]:
    """The forest at its defaults, and at its dearest."""
    steps = {"defaults": _default(FOREST), "dearest": Step.of(FOREST, DEAREST)}
    return {f"{FOREST}, {name}": (_behind_the_median(step), "discrete_time") for name, step in steps.items()}


def _default(name: str) -> Step:
    return Space.full().algorithm("prediction", name).default_step()


def _behind_the_median(step: Step) -> Configuration:
    return Configuration(Step.of("median"), Step.of("none"), step, Step.of("none"))


def score_of_the_truth(cohort: Cohort, eta: NDArray[np.float64], plan: Plan) -> float:
    """The metric of the true order of the patients of the first fold, who are told apart by nothing else."""
    test = plan.fold(cohort, 0).test
    ranks = (np.argsort(np.argsort(eta[test])) + 1) / (len(test) + 1)
    return plan.metric_for(cohort).score(cohort.outcomes[test], np.tile(ranks[:, None], len(plan.times)))


def measure(n_patients: int, asked: dict[str, tuple[Configuration, Reduction]]) -> dict[str, Any]:
    """The figures of every case, each from a process of its own."""
    cohort, eta = simulated_cohort(n_patients)
    assert cohort.time is not None
    plan = Plan("uno_c", folds=5, repeats=1, seed=SEED, times=cohort.time_grid)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cohort.parquet"
        path.write_bytes(to_parquet(cohort))
        for key, (configuration, reduction) in asked.items():
            print(f"measuring {key}", file=sys.stderr, flush=True)
            by = Plan(plan.metric, plan.folds, plan.repeats, plan.seed, times=plan.times, reduction=reduction)
            table[key] = in_a_child(path, configuration, by)
    lost = (cohort.y == 0) & (cohort.time <= plan.times[-1])
    return {
        "cohort": {
            "patients": n_patients,
            "columns": N_COLUMNS,
            "horizons": cohort.horizons,
            "times": len(plan.times),
            "events": round(float(((cohort.y == 1) & (cohort.time <= plan.times[-1])).mean()), 3),
            "lost_from_sight": round(float(lost.mean()), 3),
            "seed": SEED,
        },
        "folds": table,
        "missed": [
            key
            for key, row in table.items()
            if row["status"] != "succeeded" or row["cpu_s"] > BAR_S or row["memory_mb"] > LIMITS.memory_mb
        ],
        "score_of_the_truth": round(score_of_the_truth(cohort, eta, plan), 4),
    }


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=N_PATIENTS)
    parser.add_argument("--forest-patients", type=int, default=FOREST_PATIENTS)
    parser.add_argument("--only", nargs="+", default=[*REDUCTIONS, FOREST], choices=[*REDUCTIONS, FOREST])
    asked = parser.parse_args()
    figures: dict[str, Any] = {"bars": {"cpu_s": BAR_S, "memory_mb": LIMITS.memory_mb}}
    for name, n_patients, found in (("many", asked.patients, cases()), ("forest", asked.forest_patients, forests())):
        chosen = {key: case for key, case in found.items() if case[0].prediction.algorithm in asked.only}
        if chosen:
            figures[name] = measure(n_patients, chosen)
    names = ("autoprog", "scikit-learn", "numpy", "lightgbm")
    figures["versions"] = {"python": platform.python_version(), **{name: version(name) for name in names}}
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
