"""How many configurations that are worth having are evaluated a minute, against `cross_val_score` one after another.

    python -m benchmarks.evaluation [--cohorts hepatitis ckd] [--configurations 20 --shards FOLDER]

On each of four cohorts 200 random configurations of the whole space, the same for all, are evaluated on the folds of a
default search by

- `cross_val_score`: scikit-learn, one after another in one process, which is killed at the time limit; its clock runs
  only while the function itself does;
- `engine`: two slots with two batches under way, as a search has, without what follows;
- `prefixes`: with stages before the prediction shared between configurations;
- `prefixes_racing`: and with configurations stopped that have no chance against the best that was known when their
  batch was proposed, as a search does.

Counted are complete evaluations whose score is above the median of all 200 in the rival's run (where one without a
score counts as the worst). Batches have the size that they have in a search. The bar, for both together, is three times
the rival's count a minute; racing, replayed over the rival's fold scores in 200 random orders, must stop less than 5 %
of the best tenth.

Every run of a variant on a cohort is written to a shard; a run that was broken off goes on from those that are there.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import platform
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from autoprog.cohort import Cohort, to_parquet
from autoprog.evaluation import Plan
from autoprog.search.planning import plan_search
from autoprog.search.ports import CohortRef
from autoprog.search.settings import SearchSettings
from autoprog.space import Configuration, Space
from autoprog.work import CallLimits
from benchmarks.evaluation.figures import BATCH_SIZES, figures_of, replay
from benchmarks.evaluation.variants import RIVAL, SLOTS, VARIANTS, Task, run_rival, run_variant
from tests.cohorts import real_cohort

COHORTS = ("pima_missing", "hepatitis", "ckd", "cleveland")
CONFIGURATIONS = 200
LIMIT_S = 10.0
BATCH_SIZE = SearchSettings().batch_size
BAR, MAX_TOP_RACED_OUT = 3.0, 0.05
SEED = 0
SHARDS = Path(__file__).parents[1] / "results" / "evaluation"


def task_of(name: str, n: int, folder: Path) -> Task:
    """The cohort, as a worker would read it, with what is to be evaluated on it."""
    cohort = real_cohort(name)
    settings, _ = plan_search(SearchSettings(), cohort)
    assert settings.folds is not None
    assert settings.repeats is not None
    plan = Plan(settings.metric, settings.folds, settings.repeats, settings.seed, thresholds=settings.thresholds)
    content = to_parquet(cohort)
    path = folder / f"{name}.parquet"
    path.write_bytes(content)
    ref = CohortRef(path.as_uri(), hashlib.sha256(content).hexdigest())
    limits = CallLimits(LIMIT_S, settings.limits.memory_mb)
    return Task(ref, cohort, plan, draw(cohort, plan, n), limits, BATCH_SIZE)


def draw(cohort: Cohort, plan: Plan, n: int) -> list[Configuration]:
    """Distinct configurations: kinds of pipeline drawn evenly from the valid ones, hyperparameters on their axes."""
    space, rng = Space.full(), np.random.default_rng(SEED)
    kinds = space.valid_kinds(plan.shape(cohort))
    drawn: dict[Configuration, None] = {}
    while len(drawn) < n:
        drawn[space.draw(kinds[int(rng.integers(len(kinds)))], rng)] = None
    return list(drawn)


def compute_digest(task: Task) -> str:
    """What a shard is of: a record of other configurations, folds or limits must not be mixed in."""
    text = repr((task.ref.sha256, task.plan, [c.key for c in task.configurations], task.limits, task.batch_size))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def shards_of(name: str, task: Task, folder: Path) -> dict[str, dict[str, Any]]:
    """One shard a variant, each run unless it is there."""
    runs: dict[str, Callable[[], dict[str, Any]]] = {RIVAL: lambda: run_rival(task)}
    for variant, switches in VARIANTS.items():
        runs[variant] = lambda switches=switches: run_variant(task, switches)
    return {
        variant: _kept(folder / f"{name}-{variant}.json.gz", compute_digest(task), run) for variant, run in runs.items()
    }


def _kept(path: Path, digest: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the file holds; it is made where it is not there."""
    if not path.exists():
        print(f"measuring {path.name}", file=sys.stderr, flush=True)
        content = {"digest": digest, **run()}
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))
        part.replace(path)
    shard: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    if shard["digest"] != digest:
        sys.exit(f"{path} is of other configurations, folds or limits: remove it, or name another folder by --shards")
    return shard


def measure(names: list[str], n: int, folder: Path) -> dict[str, Any]:
    """All figures, with the versions that they were taken with."""
    cohorts = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            task = task_of(name, n, Path(scratch))
            shards = shards_of(name, task, folder)
            cohorts[name] = {"patients": task.cohort.n_patients, **figures_of(shards, task.plan)}
            cohorts[name]["racing_replayed"] = {
                f"batches_of_{size}": replay(shards[RIVAL], task.plan, size) for size in BATCH_SIZES
            }
    return {
        "slots": SLOTS,
        "batch_size": BATCH_SIZE,
        "limit_s": LIMIT_S,
        "seed": SEED,
        "cohorts": cohorts,
        "bars": _bars(list(cohorts.values())),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("autoprog", "scikit-learn", "numpy", "distributed", "pebble")},
        },
    }


def _bars(cohorts: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [cohort["variants"]["prefixes_racing"]["ratio"] for cohort in cohorts]
    stopped = [r["top_tenth_raced_out"] for cohort in cohorts for r in cohort["racing_replayed"].values()]
    return {
        "ratio": BAR,
        "ratio_passed": all(ratio is not None and ratio >= BAR for ratio in ratios),
        "top_tenth_raced_out": MAX_TOP_RACED_OUT,
        "top_tenth_passed": max(stopped) < MAX_TOP_RACED_OUT,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohorts", nargs="+", choices=COHORTS, default=list(COHORTS))
    parser.add_argument("--configurations", type=int, default=CONFIGURATIONS)
    parser.add_argument("--shards", type=Path, default=SHARDS)
    asked = parser.parse_args()
    print(json.dumps(measure(asked.cohorts, asked.configurations, asked.shards), indent=2))
