"""What the opening is worth: each member of its lists, their order, their weights, beside what else there was.

    python -m benchmarks.opening run --data FOLDER [--cohorts ...] [--folder RUNS]
    python -m benchmarks.opening show [--folder RUNS]

A run fits every candidate on one split of one cohort (70 % to learn from) and keeps what it says; with them at hand
lists and weights cost nothing. Runs are a few hundred megabytes and stay where they were made; what `show` says of them
is kept in `benchmarks/results/opening.json`. None of the splits is one of `benchmarks/minute`.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

# Splits a cohort: the fewer patients, the more they differ.
COHORTS = {
    "birthwt": 8,
    "hepatitis": 8,
    "bmt137@365": 8,
    "veteran@90": 8,
    "lung@365": 8,
    "heart_cleveland": 6,
    "ckd": 4,
    "pbc_cr@1825": 6,
    "whas500@730": 6,
    "ilpd": 5,
    "gbsg2@1095": 5,
    "breast_w": 3,
    "pima_missing": 5,
    "pima": 3,
    "heart_uci4": 5,
    "colon@1095": 4,
    "actg320@240": 4,
    "metabric@120": 4,
    "mgus2@120": 4,
    "nhefs_death": 4,
    "aids2@365": 2,
    "framingham_chd": 2,
    "framingham_cr@5475": 2,
    "diabetes_readmit_5k": 2,
    "spambase": 2,
    "stroke": 2,
    "monica": 2,
    "dialysis@24": 2,
    "flchain@1825": 2,
    "thyroid": 2,
    "covertype10k": 2,
    "a8a": 2,
    "cardio70k": 1,
}
FIRST_SEED = 100
_HERE = Path(__file__).parent


def _measure(cohort: str, seed: int, data: Path, path: Path) -> str:
    from benchmarks.opening.runs import Split, measure  # noqa: PLC0415  learning libraries

    warnings.filterwarnings("ignore")
    kept = Split.load(path) if path.exists() else None
    split = measure(cohort, seed, data, kept)
    if kept is None or set(split.names) != set(kept.names):
        split.save(path)
    return f"{path.stem}: {len(split.names)} candidates, {split.seconds.sum():.0f} s"


def _run(arguments: argparse.Namespace) -> None:
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(arguments.processes) as pool:
        asked = [
            pool.submit(_measure, cohort, seed, arguments.data, arguments.folder / f"{cohort}-{seed}.npz")
            for place in range(max(COHORTS.values()))
            for cohort, splits in COHORTS.items()
            for seed in [FIRST_SEED + place]
            if place < min(splits, arguments.splits) and cohort in (arguments.cohorts or COHORTS)
        ]
        for one in asked:
            print(one.result(), flush=True)


def _show(arguments: argparse.Namespace) -> None:
    from benchmarks.opening.lists import figures, read  # noqa: PLC0415  learning libraries

    print(json.dumps(figures(read(arguments.folder)), indent=1))


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="benchmarks.opening", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="fit what has not been fitted")
    run.add_argument("--data", type=Path, required=True, help="folder of the cohorts' files")
    run.add_argument("--cohorts", nargs="+", metavar="COHORT")
    run.add_argument("--splits", type=int, default=max(COHORTS.values()), help="at most so many a cohort")
    run.add_argument("--processes", type=int, default=2)
    run.set_defaults(run=_run)
    show = commands.add_parser("show", help="print the figures of what was fitted")
    show.set_defaults(run=_show)
    for command in (run, show):
        command.add_argument("--folder", type=Path, default=_HERE / "runs")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
