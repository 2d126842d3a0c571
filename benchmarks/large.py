"""What one fold of an evaluation costs on a large cohort, algorithm by algorithm: seconds of one core, and memory.

    python -m benchmarks.large [--cohort FILE --outcome COLUMN --positive VALUE] [--only prediction/lda ...]
    python -m benchmarks.large --write FILE.parquet

The cohort is 500,000 simulated patients with 50 columns (87 with dummies), 5 % of the cells missing, or that of a file.
Every predictor is measured behind the median and no processing, every feature processor and every imputer in front of
a logistic regression, every calibration behind one; all at their defaults. Each gets a fresh process, forked as the
engine's children are, and the memory limit of a default search, 4 GiB beyond what it holds then. Measured is
one fold of five: fit to 400,000 patients, prediction of 100,000, score and notes. An evaluation is five folds and may
take 60 s: the bar is 12 s a fold. Seconds of the processor and of the clock are both shown; on a shared machine the
first are those to compare. Memory is the peak of resident memory above what the process held before it read the cohort.

Every measurement is written to a shard; a run that was broken off goes on from those that are there. `--write` writes
the simulated cohort as a client would send it, and measures nothing.
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

from autoprog.cohort import Cohort, parse_spec, read_cohort, to_parquet
from autoprog.space import STAGES, Configuration, Space, describe_guards
from benchmarks.large_fold import BAR_S, LIMITS, PLAN, in_a_child
from benchmarks.simulated_cohort import OUTCOME, simulated_table

N_PATIENTS, SEED = 500_000, 0
SIMPLE = {"imputation": "median", "features": "none", "prediction": "logistic_regression", "calibration": "none"}
SHARDS = Path(__file__).parents[1] / "build" / "large"


def cases(space: Space) -> dict[str, Configuration]:
    """One configuration for every algorithm that serves a binary outcome: itself among the simplest others."""
    made = {}
    for algorithm in space.algorithms:
        if "classification" in algorithm.modes:
            names = {**SIMPLE, algorithm.stage: algorithm.name}
            steps = (space.algorithm(stage, names[stage]).default_step() for stage in STAGES)
            made[algorithm.key] = Configuration(*steps)
    return made


def measure_all(path: Path, shards: Path, only: list[str]) -> dict[str, Any]:
    """The figures of every algorithm, each from its shard or from a process of its own."""
    table = {}
    for key, configuration in cases(Space.full()).items():
        if only and key not in only:
            continue
        shard = shards / f"{key.replace('/', '-')}.json"
        if not shard.exists():
            print(f"measuring {key}", file=sys.stderr, flush=True)
            shard.parent.mkdir(parents=True, exist_ok=True)
            part = shard.with_suffix(".part")
            part.write_text(json.dumps(in_a_child(path, configuration)) + "\n")
            part.replace(shard)
        table[key] = json.loads(shard.read_text())
    return table


def missed(table: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What does not keep to the bars, and how."""
    texts = {}
    for key, row in table.items():
        if row["status"] not in {"succeeded", "masked"}:
            texts[key] = row["status"]
        elif row.get("cpu_s", 0.0) > BAR_S:
            texts[key] = f"{row['cpu_s']} s"
        elif row.get("memory_mb", 0) > LIMITS.memory_mb:
            texts[key] = f"{row['memory_mb']} MiB"
    return texts


def bounds() -> dict[str, str]:
    """The size guards of the table of algorithms, in words."""

    return {a.key: ", ".join(guards) for a in Space.full().algorithms if (guards := describe_guards(a))}


def cohort_of(arguments: argparse.Namespace) -> Cohort:
    """The cohort of the file, or the simulated one, read as a client's file would be."""
    if arguments.cohort is not None:
        outcome = {"column": arguments.outcome, "positive": arguments.positive}
        return read_cohort(arguments.cohort, parse_spec({"name": arguments.cohort.name, "outcome": outcome})).cohort
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "simulated.parquet"
        simulated_table(N_PATIENTS, SEED).to_parquet(file)
        spec = parse_spec({"name": "simulated", "outcome": {"column": OUTCOME, "positive": 1}})
        return read_cohort(file, spec).cohort


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohort", type=Path)
    parser.add_argument("--outcome", default=OUTCOME)
    parser.add_argument("--positive", default="1")
    parser.add_argument("--only", nargs="+", default=[], metavar="STAGE/ALGORITHM")
    parser.add_argument("--shards", type=Path, default=SHARDS)
    parser.add_argument("--write", type=Path, metavar="FILE")
    asked = parser.parse_args()
    if asked.write:
        simulated_table(N_PATIENTS, SEED).to_parquet(asked.write)
        return
    cohort = cohort_of(asked)
    shards = asked.shards / ("simulated" if asked.cohort is None else asked.cohort.name.split(".")[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cohort.parquet"
        path.write_bytes(to_parquet(cohort))
        table = measure_all(path, shards, asked.only)
    figures = {
        "cohort": {
            "name": shards.name,
            "patients": cohort.n_patients,
            "features": len(cohort.features),
            "columns": PLAN.shape(cohort).n_columns,
            "event_rate": round(cohort.event_rate, 3),
        },
        "bars": {"cpu_s": BAR_S, "memory_mb": LIMITS.memory_mb},
        "missed": missed(table),
        "folds": table,
        "guards": bounds(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("autoprog", "scikit-learn", "numpy", "lightgbm", "torch")},
        },
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
