"""Seconds that the proposer takes for a batch of four, on one thread, by number of evaluations.

Prints JSON. `registered` is the space of the running version; `source` is as large as Table 1 of the source: 41
algorithms, 4,800 pipelines, 102 hyperparameters. Scores are a smooth function of the configuration plus noise, so that
nothing but the proposer is timed. Up to 200 evaluations are the search's own; further ones are drawn at random.

    python -m benchmarks.proposer
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from autoprog.evaluation import Evaluation, History, Status
from autoprog.optimizer import Optimizer, OptimizerOptions, make_optimizer
from autoprog.performance import METRICS
from autoprog.space import STAGES, Algorithm, Configuration, Float, Space, StageName, TableShape

EVALUATIONS = (25, 50, 100, 200, 300, 1_000)
SEARCHED = 200
BATCH = 4
FOLDS = 5
REPEATS = 5
SHAPE = TableShape(n_patients=240, n_columns=20, n_minority=110, has_missing=True)

# Hyperparameters of the algorithms of Table 1, stage by stage.
TABLE_1 = (
    (2, 0, 0, 0, 1, 2, 1, 0),
    (4, 5, 3, 4, 2, 2, 5, 3, 3, 0),
    (2, 4, 4, 6, 4, 0, 5, 5, 5, 4, 2, 5, 5, 0, 3, 1, 4, 1, 5, 0),
    (0, 0, 0),
)


def source_space() -> Space:
    """Algorithms without estimators, as many as in Table 1."""

    def algorithm(stage: StageName, i: int, count: int) -> Algorithm:
        axes = tuple(Float(f"h{j}", 0.0, 1.0, 0.5) for j in range(count))
        return Algorithm(stage, f"a{i}", axes, lambda *_: None, family=stage)

    return Space(
        tuple(
            tuple(algorithm(stage, i, count) for i, count in enumerate(counts))
            for stage, counts in zip(STAGES, TABLE_1, strict=True)
        )
    )


def objective(space: Space, rng: np.random.Generator) -> Callable[[int, int, Configuration], Evaluation]:
    """A noisy AUC with an effect for every algorithm and hyperparameter."""
    effect = {a.key: rng.normal(0.0, 0.15, 1 + len(a.hyperparameters)) for a in space.algorithms}

    def evaluate(number: int, batch: int, configuration: Configuration) -> Evaluation:
        total = 0.8
        for algorithm, stage in zip(space.find_kind(configuration), STAGES, strict=True):
            values = dict(configuration.step(stage).parameters)
            units = [h.to_unit(values[h.name]) - 0.5 for h in algorithm.hyperparameters]
            total += float(effect[algorithm.key] @ np.array([1.0, *units]))
        folds = 1.0 / (1.0 + np.exp(-total)) + rng.normal(0.0, 0.03, FOLDS)
        return Evaluation(number, batch, configuration, Status.SUCCEEDED, float(folds.mean()), tuple(folds.tolist()))

    return evaluate


def timed(optimizer: Optimizer, history: History, batch: int, state: Mapping[str, Any]) -> dict[str, float]:
    """Wall-clock seconds over repeated calls with other seeds, and those that the thread itself ran."""
    wall, thread = [], []
    for repeat in range(REPEATS):
        start = time.perf_counter(), time.thread_time()
        optimizer.propose(history, batch, BATCH, np.random.default_rng([repeat, batch]), state)
        wall.append(time.perf_counter() - start[0])
        thread.append(time.thread_time() - start[1])
    return {
        "median_s": round(statistics.median(wall), 4),
        "max_s": round(max(wall), 4),
        "median_thread_s": round(statistics.median(thread), 4),
    }


def measure(space: Space) -> dict[str, dict[str, float]]:
    """Run one search, timing the proposal at each of `EVALUATIONS`, and the ensemble's posterior at the last.

    The surrogate is fitted to at most 256 observations, so that the curve is flat from there on.
    """
    evaluate = objective(space, np.random.default_rng(0))
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions())
    kinds, rng = space.valid_kinds(SHAPE), np.random.default_rng(1)
    evaluations: list[Evaluation] = []
    state: Mapping[str, Any] = {}
    figures: dict[str, dict[str, float]] = {}
    batch = 0
    while True:
        for target in EVALUATIONS:
            if len(evaluations) >= target and str(target) not in figures:
                history = History(METRICS["auc_roc"], tuple(evaluations[:target]))
                figures[str(target)] = timed(optimizer, history, batch, state)
        history = History(METRICS["auc_roc"], tuple(evaluations))
        if len(figures) == len(EVALUATIONS):
            start = time.perf_counter()
            optimizer.posterior(history, np.random.default_rng(0), state)
            figures[f"posterior at {len(evaluations)}"] = {"seconds": round(time.perf_counter() - start, 4)}
            return figures
        if len(evaluations) < SEARCHED:
            proposal = optimizer.propose(history, batch, BATCH, np.random.default_rng([0, batch]), state)
            state, configurations = proposal.state, proposal.configurations
        else:
            configurations = tuple(space.draw(kinds[rng.integers(len(kinds))], rng) for _ in range(BATCH))
        evaluations += [evaluate(number, batch, c) for number, c in enumerate(configurations, len(evaluations))]
        batch += 1


def main() -> None:
    """Print the figures."""
    document = {
        "benchmark": "proposer",
        "batch": BATCH,
        "repeats": REPEATS,
        "registered": measure(Space.full()),
        "source": measure(source_space()),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("autoprog", "numpy", "scipy", "torch", "gpytorch")},
        },
        "machine": platform.machine(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
