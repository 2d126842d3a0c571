"""What `benchmarks/evaluation` says of its records, and racing replayed over the rival's fold scores.

n        configurations
J        folds of all repeats
gain     a score turned so that more is better; of a configuration without a score, minus infinity
above    configurations whose gain exceeds the median gain of all n in the rival's run
best     the configuration with the greatest gain in the rival's run among the first 100
top      the n/10 configurations with the greatest gains
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import Evaluation, History, Plan, Race, Status
from autoprog.performance import Metric, make_metric
from autoprog.search.loop import BATCHES_UNDER_WAY
from autoprog.space import Configuration
from benchmarks.evaluation.variants import RIVAL, VARIANTS

Shard = Mapping[str, Any]

FIRST = 100
ORDERS = 200
BATCH_SIZES = (4, 8)
_SEED = 0


def figures_of(shards: Mapping[str, Shard], plan: Plan) -> dict[str, Any]:
    """The figures of one cohort: those of every variant beside the rival's."""
    metric = make_metric(plan.metric, plan.thresholds)
    gains = {name: compute_gains(shard, metric) for name, shard in shards.items()}
    median = float(np.median(gains[RIVAL]))
    best = int(np.argmax(gains[RIVAL][:FIRST]))
    top = top_of(gains[RIVAL])
    figures: dict[str, Any] = {
        "folds": plan.n_folds,
        "configurations": len(gains[RIVAL]),
        "median": round(median, 4),
        "variants": {},
    }
    for name, shard in shards.items():
        figures["variants"][name] = _variant_figures(shard, int((gains[name] > median).sum()), best)
        if name in VARIANTS and VARIANTS[name].racing:
            figures["variants"][name]["raced_out_of"] = _raced_out(shard, gains[RIVAL] > median, top)
    rival = figures["variants"][RIVAL]
    for variant in figures["variants"].values():
        variant["ratio"] = _ratio(variant["above_per_minute"], rival["above_per_minute"])
    figures["prefixes_save_s"] = _difference_s(shards["engine"], shards["prefixes"])
    return figures


def compute_gains(shard: Shard, metric: Metric) -> NDArray[np.float64]:
    """Gain of every configuration, shape = (n,)."""
    records = [shard["records"][str(i)] for i in range(len(shard["records"]))]
    return np.array(
        [metric.gain(float(np.mean(r["fold_scores"]))) if r["status"] == "succeeded" else -math.inf for r in records]
    )


def top_of(gains: NDArray[np.float64]) -> set[int]:
    """The best tenth."""
    return {int(i) for i in np.argsort(-gains, kind="stable")[: math.ceil(len(gains) / 10)] if gains[i] > -math.inf}


def _variant_figures(shard: Shard, above: int, best: int) -> dict[str, Any]:
    records = shard["records"]
    statuses = Counter(record["status"] for record in records.values())
    first = records[str(best)]
    figures: dict[str, Any] = {
        "wall_s": round(shard["wall_s"], 1),
        "full": statuses["succeeded"],
        "above": above,
        "above_per_minute": round(60 * above / shard["wall_s"], 2),
        "timeouts": statuses["timeout"],
        "raced_out": statuses["raced_out"],
        "other_failures": len(records) - statuses["succeeded"] - statuses["timeout"] - statuses["raced_out"],
        "best_of_first_s": round(first["ended_s"], 1) if first["status"] == "succeeded" else None,
        "calls": shard["calls"],
        "slots_busy": round(shard["busy_s"] / (shard["slots"] * shard["wall_s"]), 3),
        "on_a_core": round(shard["work"]["cpu_s"] / shard["returned_s"], 3),
        "folds": sum(len(record["fold_scores"]) for record in records.values()),
    }
    if shard["work"]["asked"]:
        figures["prefixes"] = {name: round(shard["work"][name], 2) for name in ("asked", "found", "saved_s", "spent_s")}
    return figures


def _raced_out(shard: Shard, above: NDArray[np.bool_], top: set[int]) -> dict[str, int]:
    out = {int(i) for i, record in shard["records"].items() if record["status"] == "raced_out"}
    return {"above": sum(bool(above[i]) for i in out), "top": len(out & top), "top_size": len(top)}


def _difference_s(without: Shard, shard: Shard) -> float:
    """Seconds of evaluations that succeeded both ways: those of the first less those of the second."""
    pairs = [(record, shard["records"][i]) for i, record in without["records"].items()]
    return round(sum(a["seconds"] - b["seconds"] for a, b in pairs if a["status"] == b["status"] == "succeeded"), 2)


def _ratio(a: float, b: float) -> float | None:
    return round(a / b, 2) if b else None


def replay(shard: Shard, plan: Plan, batch_size: int) -> dict[str, float]:
    """Race the rival's complete evaluations in random orders, as batches would have been raced.

    Shares are over all orders. Seconds take each fold of a configuration as its mean.
    """
    metric = make_metric(plan.metric, plan.thresholds)
    gains = compute_gains(shard, metric)
    top, above = top_of(gains), gains > np.median(gains)
    complete = [i for i in range(len(gains)) if gains[i] > -math.inf]
    rng = np.random.default_rng([_SEED, batch_size])
    J, totals = plan.n_folds, Counter[str]()
    for _ in range(ORDERS):
        for i, folds in _raced(shard, metric, rng.permutation(complete), plan.repeats, batch_size).items():
            saved = (J - folds) / J
            totals["folds"] += saved
            totals["seconds"] += saved * shard["records"][str(i)]["seconds"]
            totals["out"] += folds < J
            totals["top"] += folds < J and i in top
            totals["above"] += folds < J and bool(above[i])
    seconds = sum(shard["records"][str(i)]["seconds"] for i in complete)
    shares = {
        "raced_out": totals["out"] / len(complete),
        "top_tenth_raced_out": totals["top"] / len(top),
        "above_median_raced_out": totals["above"] / int(above.sum()),
        "folds_saved": totals["folds"] / len(complete),
        "seconds_saved": totals["seconds"] / seconds,
    }
    return {name: round(total / ORDERS, 4) for name, total in shares.items()}


def _raced(shard: Shard, metric: Metric, order: NDArray[np.intp], repeats: int, batch_size: int) -> dict[int, int]:
    """Folds that each configuration would have been given, by its number."""
    history: list[Evaluation] = []
    given: dict[int, int] = {}
    for batch, first in enumerate(range(0, len(order), batch_size)):
        known = [e for e in history if e.batch <= batch - BATCHES_UNDER_WAY]
        race = Race.of(History(metric, tuple(known), repeats))
        for i in map(int, order[first : first + batch_size]):
            scores = tuple(shard["records"][str(i)]["fold_scores"])
            given[i] = _folds_until_lost(race, [metric.gain(s) for s in scores])
            if given[i] == len(scores):
                history.append(_complete(i, batch, scores))
    return given


def _folds_until_lost(race: Race | None, gains: list[float]) -> int:
    if race is None:
        return len(gains)
    return next((k for k in range(1, len(gains)) if race.is_lost(gains[:k])), len(gains))


def _complete(number: int, batch: int, scores: tuple[float, ...]) -> Evaluation:
    mean = float(np.mean(scores))
    return Evaluation(number, batch, _ANY, Status.SUCCEEDED, score=mean, fold_scores=scores)


# A race looks at scores alone.
_ANY = Configuration.from_json(
    {
        stage: {"algorithm": "none", "parameters": {}}
        for stage in ("imputation", "features", "prediction", "calibration")
    }
)
