"""The figures of the benchmark, as JSON and as tables in Markdown."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.optimizer.comparison import (
    At,
    Difference,
    cohort_means,
    difference,
    evaluations_to,
    interval,
    mean_curve,
    ranks,
)
from benchmarks.optimizer.curves import Curves, Place, Table, curves
from benchmarks.optimizer.methods import METHODS
from benchmarks.optimizer.runs import PICKS, TABLES, whole_batches
from benchmarks.optimizer.shards import PROPOSER_RANGES, Shard, read_all
from training.prior.cohorts import family_of

CHECKPOINTS = (10, 25, 50, 100, 200)
# Whose regret after so many evaluations is the target, and the method that is to be shown better.
_TARGET, _TARGETS = "tpe", (50, 100)
_OURS = "default"
_PACKAGES = ("autoprog", "numpy", "scipy", "scikit-learn", "torch", "gpytorch", "optuna", "smac", "botorch")


def figures(shards: Path, live: Path, replays: Path) -> dict[str, Any]:
    """All figures.

    Parameters
    ----------
    shards : Path
        Folder of the runs on surrogates.
    live : Path
        Folder of the runs on real evaluations.
    replays : Path
        Folder of the runs among the pools' evaluations.

    Returns
    -------
    dict
        As JSON.
    """
    kept = list(read_all(shards))
    summary = shards / "surrogates.json"
    real, replayed = list(read_all(live)), list(read_all(replays))
    return {
        "benchmark": "optimizer",
        "surrogates": json.loads(summary.read_text()) if summary.exists() else [],
        "tables": {
            f"{t}, batch {b}": _table([s for s in kept if (s.table, s.batch) == (t, b)]) for t, b in _sets(kept)
        },
        "live": {f"{t}, batch {b}": _live([s for s in real if (s.table, s.batch) == (t, b)]) for t, b in _sets(real)},
        "replays": _table(replayed, knows_truth=False) if replayed else {},
        "outdated": sorted({s.method for s in (*kept, *real, *replayed) if _is_outdated(s)}),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "machine": platform.machine(),
    }


def _sets(shards: list[Shard]) -> list[tuple[str, int]]:
    """Table and batch size of the runs that there are."""
    return sorted({(s.table, s.batch) for s in shards}, key=lambda key: (TABLES.index(key[0]), key[1]))


def _live(shards: list[Shard]) -> dict[str, Any]:
    """As on surrogates, with the observed score in the place of f, against the best that any method observed.

    What the median pipeline scores is told by the random search's evaluations, or by all where there is none.
    """
    by_place: dict[tuple[str, str], list[Shard]] = {}
    for shard in shards:
        by_place.setdefault((shard.cohort, shard.surrogate), []).append(shard)
    told: list[Shard] = []
    for of_place in by_place.values():
        drawn = [s for s in of_place if s.method == "random"] or of_place
        scores, seconds = _observed(drawn), [t for s in drawn for run in s.runs for t in run.seconds]
        median, best = float(np.median(scores)), max(_observed(of_place))
        for shard in of_place:
            runs = tuple(replace(run, seed=0, truth=run.observed) for run in shard.runs)
            told.append(replace(shard, median=median, best=best, mean_seconds=float(np.mean(seconds)), runs=runs))
    return {**_table(told, knows_truth=False), "outer": _outer(shards)}


def _observed(shards: list[Shard]) -> list[float]:
    return [score for shard in shards for run in shard.runs for score in run.observed if score is not None]


def _outer(shards: list[Shard]) -> dict[str, Any]:
    """Mean score on patients whom the searches never saw, over cohorts, and ours minus each rival's."""
    scores: dict[str, dict[str, dict[Place, float]]] = {}
    for shard in shards:
        for at_, score in shard.runs[0].outer.items():
            if score is not None:
                of_method = scores.setdefault(at_, {}).setdefault(shard.method, {})
                of_method[Place(shard.cohort, shard.surrogate)] = score
    return {at_: {method: _outer_of(method, of_all) for method in of_all} for at_, of_all in scores.items()}


def _outer_of(method: str, of_all: dict[str, dict[Place, float]]) -> dict[str, Any]:
    own, ours = of_all[method], of_all.get(_OURS, {})
    by_cohort: dict[str, list[float]] = {}
    for place, score in own.items():
        by_cohort.setdefault(place.cohort, []).append(score)
    pairs: dict[str, list[float]] = {}
    for place in own.keys() & ours.keys():
        pairs.setdefault(family_of(place.cohort), []).append(ours[place] - own[place])
    low, high = interval([float(np.mean(values)) for _, values in sorted(pairs.items())])
    return {
        "mean": _mean({cohort: float(np.mean(values)) for cohort, values in by_cohort.items()}),
        "ours_minus": _mean({family: float(np.mean(values)) for family, values in pairs.items()}),
        "interval": [_rounded(low), _rounded(high)],
    }


def _is_outdated(shard: Shard) -> bool:
    """Whether the method has changed, or gone, since it ran."""
    return shard.method not in METHODS or shard.method_fingerprint != METHODS[shard.method].fingerprint()


def _is_rival(method: str) -> bool:
    return method in METHODS and METHODS[method].is_rival


def at(evaluations: int, *, pick: bool = True) -> At:
    """Regret by seed after so many evaluations."""
    return lambda of_place: of_place.at(evaluations, pick=pick)


def _table(shards: list[Shard], *, knows_truth: bool = True) -> dict[str, Any]:
    picks, checkpoints = (whole_batches(numbers, shards[0].batch) for numbers in (PICKS, CHECKPOINTS))
    table = curves(shards, picks)
    longest = max(run.budget for shard in shards for run in shard.runs)
    checkpoints = [t for t in checkpoints if t <= longest]
    return {
        "cohorts": sorted({shard.cohort for shard in shards}),
        "methods": {method: _method(method, table, checkpoints) for method in table},
        "ranks": {str(t): _ranks(table, t) for t in checkpoints},
        "evaluations_to": {str(t): _to_target(table, t, picks) for t in _TARGETS},
        "differences": {str(t): _differences(table, t) for t in checkpoints},
        "ablation": {str(t): _ablation(table, t, knows_truth=knows_truth) for t in checkpoints},
        "rival_wins": {str(t): _rival_wins(table, t) for t in checkpoints},
    }


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None or np.isnan(value) else round(float(value), digits)


def _mean(values: Mapping[str, float]) -> float | None:
    return _rounded(float(np.mean(list(values.values())))) if values else None


def _method(method: str, table: Table, checkpoints: list[int]) -> dict[str, Any]:
    of_method = table[method]
    surrogates = sorted({place.surrogate for place in of_method})
    seconds = [s for c in of_method.values() for s in c.proposer_s.values()]
    return {
        "landscapes": len(of_method),
        "runs": sum(len(c.regret) for c in of_method.values()),
        "evaluations": round(float(np.mean([len(s) for s in seconds])), 1),
        "regret": {
            str(t): {
                "picked": _mean(cohort_means(of_method, at(t))),
                "observed": _mean(cohort_means(of_method, at(t, pick=False))),
                **{f"picked, {s}": _mean(cohort_means(of_method, at(t), s)) for s in surrogates},
                "by_time": _mean(cohort_means(of_method, lambda c, t=t: _ended(c.by_time, t))),
                "optimism": _mean(cohort_means(of_method, lambda c, t=t: _ended(c.optimism, t))),
            }
            for t in checkpoints
        },
        "proposer_s": {
            f"{low + 1} to {high}": _rounded(float(np.mean(np.concatenate([s[low:high] for s in seconds]))))
            for low, high in PROPOSER_RANGES
            if any(len(s) > low for s in seconds)
        },
        "by_cohort": {str(t): {k: _rounded(v) for k, v in cohort_means(of_method, at(t)).items()} for t in checkpoints},
    }


def _ended(by_seed: Mapping[int, np.ndarray], t: int) -> dict[int, float]:
    values = {seed: float(curve[min(t, len(curve)) - 1]) for seed, curve in by_seed.items()}
    return {seed: value for seed, value in values.items() if not np.isnan(value)}


def _ranks(table: Table, t: int) -> dict[str, Any] | None:
    """Of ours and its rivals: every variant beside them would widen the critical difference."""
    found = ranks({m: of_method for m, of_method in table.items() if m == _OURS or _is_rival(m)}, at(t))
    if found is None:
        return None
    ordered = sorted(found.mean.items(), key=lambda item: item[1])
    return {
        "mean": {method: round(rank, 2) for method, rank in ordered},
        "critical_difference": round(found.critical_difference, 2),
        "cohorts": found.cohorts,
    }


def _to_target(table: Table, t: int, picks: Sequence[int]) -> dict[str, Any]:
    """Of the mean over all landscapes: by the best observed exactly, by the pick at the recorded numbers."""
    if _TARGET not in table:
        return {}
    level = mean_curve(table[_TARGET])
    if len(level) < t:
        return {}
    target = float(level[t - 1])
    reached: dict[str, Any] = {"target": _rounded(target)}
    for method, of_method in table.items():
        if of_method.keys() != table[_TARGET].keys():
            continue
        picked = [(p, _mean(cohort_means(of_method, at(p)))) for p in picks]
        first = next((p for p, regret in picked if regret is not None and regret <= target), None)
        reached[method] = {"observed": evaluations_to(mean_curve(of_method), target), "picked": first}
    return reached


def _document(found: Difference) -> dict[str, Any]:
    return {
        "mean": _rounded(found.mean),
        "interval": [_rounded(found.low), _rounded(found.high)],
        "ratio": [_rounded(found.ratio), _rounded(found.ratio_low), _rounded(found.ratio_high)],
        "wins": found.wins,
        "cohorts": len(found.by_cohort),
    }


def _differences(table: Table, t: int) -> dict[str, Any]:
    """Ours minus each rival."""
    if _OURS not in table:
        return {}
    pairs = {m: difference(table[_OURS], table[m], at(t), family_of) for m in table if m != _OURS}
    return {method: _document(found) for method, found in pairs.items() if found is not None}


def _ablation(table: Table, t: int, *, knows_truth: bool) -> dict[str, Any]:
    """Each variant minus what it differs from by one switch; ours, too, had it picked the best score."""
    variants = {m: (of_method, METHODS[m].ablates) for m, of_method in table.items() if m in METHODS}
    if knows_truth and _OURS in table:
        variants["best_score"] = {place: _by_score(of_place) for place, of_place in table[_OURS].items()}, _OURS
    found: dict[str, Any] = {}
    for method, (of_method, base) in variants.items():
        if base in table and (pair := difference(of_method, table[base], at(t), family_of)) is not None:
            found[method] = {"against": base, **_document(pair)}
    return found


def _by_score(of_place: Curves) -> Curves:
    observed = {
        seed: {t: float(regret[t - 1]) for t in of_place.picked[seed]} for seed, regret in of_place.regret.items()
    }
    return replace(of_place, picked=observed)


def _rival_wins(table: Table, t: int) -> dict[str, Any]:
    """Cohorts on which a rival is better than ours: by how much, and the standard error over seeds."""
    wins: dict[str, Any] = {}
    for method in table:
        if _OURS not in table or not _is_rival(method):
            continue
        found: Difference | None = difference(table[_OURS], table[method], at(t), family_of)
        lost = {} if found is None else {c: pair for c, pair in found.by_cohort.items() if pair[0] > 0}
        if lost:
            wins[method] = {c: [_rounded(mean), _rounded(error)] for c, (mean, error) in lost.items()}
    return wins
