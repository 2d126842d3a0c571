"""Random models and trees, and the definitions of the source written down cell by cell."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autoprog.diagnosis import DiagnosisModel, ModelOptions, Tree, build_model

DATA = Path(__file__).parent.parent / "data"


def to_matrix(name: str, **options: Any) -> DiagnosisModel:
    """One of the real matrices."""
    table = pd.read_csv(DATA / f"{name}.csv.gz")
    findings = table.drop(columns="group")
    return build_model(
        findings.to_numpy(),
        queries=list(findings.columns),
        groups=list(table["group"]),
        options=ModelOptions(**options),
    )


def random_model(
    rng: np.random.Generator, M: int, N: int, *, K: int | None = None, uniform: bool = False, **more: Any
) -> DiagnosisModel:
    """Rows at random, so that some are the same; K random groups, or none."""
    return build_model(
        rng.integers(0, 2, size=(M, N)),
        groups=None if K is None else [f"g{k}" for k in rng.integers(K, size=M)],
        prior=None if uniform else rng.dirichlet(np.ones(M)),
        **more,
    )


def random_tree(model: DiagnosisModel, rng: np.random.Generator, early: float = 0.0) -> Tree:
    """A tree of random splitting queries that stops at random, or when nothing splits."""
    B = model.responses.matrix()
    rows: list[tuple[int, int, int, int, int, int]] = []
    order = np.arange(model.n_objects)
    level, depth, count = [(0, model.n_objects)], 0, 1
    while level:
        children: list[tuple[int, int]] = []
        for start, stop in level:
            objects = order[start:stop]
            splits = np.flatnonzero((B[objects].min(axis=0) == 0) & (B[objects].max(axis=0) == 1))
            if not len(splits) or rng.random() < early:
                rows.append((-1, -1, -1, depth, start, stop))
                continue
            query = int(rng.choice(splits))
            yes = B[objects, query] == 1
            order[start:stop] = np.concatenate([objects[~yes], objects[yes]])
            middle = start + int((~yes).sum())
            rows.append((query, count + len(children), count + len(children) + 1, depth, start, stop))
            children += [(start, middle), (middle, stop)]
        count += len(children)
        level, depth = children, depth + 1
    return Tree(model, *np.array(rows, dtype=np.int64).T, order)


def h(p: float) -> float:
    """Entropy of a coin, bits."""
    return 0.0 if p in {0.0, 1.0} else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def by_target(model: DiagnosisModel, objects: NDArray[np.int64]) -> dict[int, float]:
    """Prior of the targets among these objects."""
    mass: dict[int, float] = {}
    for i in objects:
        t = int(model.target_of[i])
        mass[t] = mass.get(t, 0.0) + float(model.prior[i])
    return mass


def diversity(model: DiagnosisModel, objects: NDArray[np.int64], alpha: float) -> float:
    """D of these objects, by its definition."""
    mass = by_target(model, objects)
    whole = sum(mass.values())
    return sum((p / whole) ** alpha for p in mass.values()) ** (1 / alpha)


def scored(model: DiagnosisModel, objects: NDArray[np.int64], query: int, algorithm: str, base: float) -> float | None:
    """Score of a query at a node by its definition; None where it does not split the node."""
    yes = model.responses.at(objects, query)
    left, right = objects[~yes], objects[yes]
    if not len(left) or not len(right):
        return None
    p_l, p_r = (float(model.prior[side].sum()) for side in (left, right))
    p = p_l + p_r
    rho = max(p_l, p_r) / p
    if algorithm == "gbs":
        return rho
    if algorithm == "ggbs":
        k_l, k_r = by_target(model, left), by_target(model, right)
        within = 0.0
        for k, mass in by_target(model, objects).items():
            within += mass / p * h(max(k_l.get(k, 0.0), k_r.get(k, 0.0)) / mass)
        return 1 - h(rho) + within
    alpha = 1 / (1 + math.log2(base))
    return math.log((p_l * diversity(model, left, alpha) + p_r * diversity(model, right, alpha)) / p)
