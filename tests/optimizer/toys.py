"""Small spaces, random configurations and histories whose truth is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autoprog.evaluation import Evaluation, History, Status
from autoprog.optimizer.encoding import Encoding
from autoprog.performance import METRICS
from autoprog.space import STAGES, Algorithm, Configuration, Float, Space, TableShape

SHAPE = TableShape(n_patients=200, n_columns=10, n_minority=80, has_missing=True)


def toy_space(hyperparameters: Sequence[Sequence[int]]) -> Space:
    """A space with one algorithm per number, which says how many hyperparameters it has; one sequence per stage."""
    return Space(
        tuple(
            tuple(
                Algorithm(
                    stage,
                    f"{stage}{i}",
                    tuple(Float(f"h{j}", 0.0, 1.0, 0.5) for j in range(count)),
                    lambda *_: None,
                    family=stage,
                )
                for i, count in enumerate(counts)
            )
            for stage, counts in zip(STAGES, hyperparameters, strict=True)
        )
    )


def full_table() -> Space:
    """As many algorithms and hyperparameters as Table 1 of the source: 41 and 102."""
    return toy_space(
        (
            (2, 0, 0, 0, 1, 2, 1, 0),
            (4, 5, 3, 4, 2, 2, 5, 3, 3, 0),
            (2, 4, 4, 6, 4, 0, 5, 5, 5, 4, 2, 5, 5, 0, 3, 1, 4, 1, 5, 0),
            (0, 0, 0),
        )
    )


def draw(space: Space, n: int, rng: np.random.Generator) -> list[Configuration]:
    """Configurations drawn uniformly."""
    kinds = space.valid_kinds(SHAPE)
    return [space.draw(kinds[rng.integers(len(kinds))], rng) for _ in range(n)]


def history_of(
    configurations: Sequence[Configuration],
    score: Callable[[int], float | None],
    folds: int = 5,
    fold_sd: float = 0.02,
    seed: int = 0,
) -> History:
    """A history of AUCs: `score(number)`, None for a failure."""
    rng = np.random.default_rng(seed)
    evaluations = []
    for number, configuration in enumerate(configurations):
        value = score(number)
        if value is None:
            evaluations.append(Evaluation(number, number // 4, configuration, Status.INVALID, reason="ValueError"))
            continue
        residuals = rng.normal(0.0, fold_sd, folds)
        scores = value + residuals - residuals.mean()
        risks = rng.random(20).astype(np.float32)
        evaluations.append(
            Evaluation(number, number // 4, configuration, Status.SUCCEEDED, value, tuple(scores.tolist()), risks)
        )
    return History(METRICS["auc_roc"], tuple(evaluations))


def toy_score(encoding: Encoding, seed: int = 0) -> Callable[[Configuration], float]:
    """A deterministic AUC with an effect for every algorithm and hyperparameter."""
    rng = np.random.default_rng(seed)
    of_algorithm = rng.normal(0.0, 0.03, encoding.n_algorithms)
    of_hyperparameter = rng.normal(0.0, 0.06, len(encoding.owner))

    def score(configuration: Configuration) -> float:
        points = encoding.encode([configuration])
        effects = points.used[0] @ of_algorithm + np.sin(3.0 * (points.units[0] - 0.5)) @ of_hyperparameter
        return float(1.0 / (1.0 + np.exp(-(0.8 + 4.0 * effects))))

    return score
